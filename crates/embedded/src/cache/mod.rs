//! Caches in this process, as decorators of the stores.

mod epochs;
mod finish;
mod flights;
mod following;
pub(crate) mod keys;
pub(crate) mod links;
