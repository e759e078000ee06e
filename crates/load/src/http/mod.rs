//! HTTP/1.1 as a client speaks it: prepared requests, connections, answers in whatever pieces they come.

pub(crate) mod connection;
pub(crate) mod http1;
pub(crate) mod target;
pub(crate) mod template;
