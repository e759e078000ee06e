//! What the clients' requests are counted as.

pub(crate) const EDIT: &str = "edit";
/// Links that the route has led to before the fault.
pub(crate) const KNOWN: &str = "follow known";
pub(crate) const MAKE: &str = "put";
pub(crate) const NEW: &str = "follow new";
pub(crate) const REPEAT: &str = "repeat";
