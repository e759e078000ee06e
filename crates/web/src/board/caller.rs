//! An authenticated caller of the board.

use lodge_domain::{accounts::SessionDigest, board::Actor, keys::KeyId};

/// The credential of a caller. Streams end when it expires or is revoked.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Credential {
    Session(SessionDigest),
    Bot(KeyId),
}

/// An authenticated caller who is not banned.
#[derive(Debug, Clone)]
pub(crate) struct BoardCaller {
    pub(crate) actor: Actor,
    pub(crate) credential: Credential,
}
