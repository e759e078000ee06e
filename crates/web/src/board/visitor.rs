//! Somebody who may be on the board.

use lodge_domain::{accounts::SessionDigest, board::Actor, keys::KeyId};

/// By what somebody is here, and as long as it opens something.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Credential {
    Session(SessionDigest),
    Bot(KeyId),
}

/// Somebody who may be here.
#[derive(Debug, Clone)]
pub(crate) struct Visitor {
    pub(crate) actor: Actor,
    pub(crate) credential: Credential,
}
