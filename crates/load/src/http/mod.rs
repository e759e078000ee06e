//! HTTP/1.1 as a client speaks it: prepared requests, and answers in whatever pieces they come.

pub(crate) mod http1;
pub(crate) mod target;
pub(crate) mod template;
