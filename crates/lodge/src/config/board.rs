//! The settings of the message board.

use serde::{Deserialize, Serialize};

use super::stores::AppStore;

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct BoardConfig {
    pub(crate) store: AppStore,
    pub(crate) hooks_private: bool,
}
