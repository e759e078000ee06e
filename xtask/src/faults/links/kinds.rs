//! The kinds of requests for links.

use crate::faults::workload::{RequestKind, Wait};

pub(super) const EDIT: RequestKind = RequestKind { name: "edit", wait: Wait::Write };
/// A follow of a link that the route has redirected before the fault.
pub(super) const KNOWN: RequestKind = RequestKind { name: "follow known", wait: Wait::Known };
pub(super) const MAKE: RequestKind = RequestKind { name: "put", wait: Wait::SteadyWrite };
pub(super) const NEW: RequestKind = RequestKind { name: "follow new", wait: Wait::New };
pub(super) const REPEAT: RequestKind = RequestKind { name: "repeat", wait: Wait::Write };
