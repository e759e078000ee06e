//! Caches in this process, as decorators of the stores.

mod epochs;
mod finish;
mod flights;
pub(crate) mod keys;
pub(crate) mod links;
