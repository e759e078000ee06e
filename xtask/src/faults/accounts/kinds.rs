//! The kinds of requests for accounts.

use crate::faults::workload::{RequestKind, Wait};

pub(super) const SIGN_UP: RequestKind = RequestKind { name: "sign up", wait: Wait::Write };
pub(super) const SIGN_IN: RequestKind = RequestKind { name: "sign in", wait: Wait::Write };
pub(super) const CHANGE: RequestKind = RequestKind { name: "change account", wait: Wait::Write };
/// A sign-out, or a ban.
pub(super) const END: RequestKind = RequestKind { name: "end session", wait: Wait::Write };
/// Setting or reading a picture.
pub(super) const PICTURE: RequestKind = RequestKind { name: "picture", wait: Wait::Write };
/// A read of the account of a session that the route has accepted before.
pub(super) const READ: RequestKind = RequestKind { name: "read account", wait: Wait::Known };

/// One of two sign-ups for one name at once, of which one is acknowledged and the other refused.
pub(super) const SAME_NAME: RequestKind = RequestKind { name: "same name", wait: Wait::Write };

/// All of them.
pub(super) const KINDS: [RequestKind; 7] =
    [SIGN_UP, SIGN_IN, CHANGE, END, PICTURE, READ, SAME_NAME];
