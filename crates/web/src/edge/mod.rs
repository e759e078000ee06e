//! Listeners, limits and middleware before the routes.

pub(crate) mod address;
pub(crate) mod cross_site;
pub(crate) mod forwarded;
pub(crate) mod headers;
pub(crate) mod idempotency;
pub mod instruments;
pub(crate) mod limits;
pub(crate) mod local_user;
pub(crate) mod per_key;
pub(crate) mod proxies;
pub(crate) mod proxy_protocol;
pub(crate) mod refusal_delay;
pub(crate) mod request_id;
pub mod server;
mod slices;
pub(crate) mod stream;
pub mod threads;
pub(crate) mod unread;
