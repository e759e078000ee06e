//! The HTTP edge: listeners and their limits, what every request passes through, the one place where
//! errors become HTTP, and a folder for each app's routes and pages.

mod accounts;
mod answers;
mod api_docs;
mod board;
mod conditional;
mod cookies;
pub mod edge;
pub mod error;
mod kept;
pub mod links;
mod multipart;
mod pages;
mod request;
mod rides;
mod routes;
mod session;
mod site;

pub use board::hook_body;
pub use site::{Apps, Front, Site, SiteSettings};
