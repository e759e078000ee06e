//! Listeners, limits and middleware before the routes.

pub(crate) mod address;
pub(crate) mod cross_site;
pub(crate) mod each;
pub(crate) mod headers;
pub(crate) mod idempotency;
pub mod instruments;
pub mod lanes;
pub(crate) mod limits;
pub(crate) mod request_id;
pub mod server;
pub(crate) mod stream;
