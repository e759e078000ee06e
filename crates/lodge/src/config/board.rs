//! The settings about the message board.

use serde::{Deserialize, Serialize};

#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct BoardConfig {
    pub(crate) hooks_private: bool,
}
