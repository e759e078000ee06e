//! Caches in this process, as decorators of the stores.

pub(crate) mod accounts;
mod epochs;
pub(crate) mod failures;
mod finish;
mod flights;
mod following;
pub(crate) mod gates;
pub(crate) mod keys;
pub(crate) mod links;
mod opened;
