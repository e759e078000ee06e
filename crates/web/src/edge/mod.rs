//! What every request passes through before it meets a route.

pub mod address;
pub mod cross_site;
pub(crate) mod each;
pub mod headers;
pub mod idempotency;
pub mod instruments;
pub mod lanes;
pub mod limits;
pub mod request_id;
pub mod server;
pub mod stream;
