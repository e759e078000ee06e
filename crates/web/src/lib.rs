//! The HTTP edge: listeners and their limits, what every request passes through, the one place where
//! errors become HTTP, and a folder for each app's routes and pages.

mod accounts;
mod answers;
mod api_docs;
mod board;
mod body;
mod conditional;
mod context;
mod cookies;
pub mod edge;
mod error;
mod front;
mod json;
mod kept;
mod links;
mod multipart;
mod pages;
mod pictures;
mod request;
mod rides;
mod routes;
mod session;
mod settings;
mod sign_in;
mod site;

pub use board::hook_body;
pub use front::Front;
pub use settings::SiteSettings;
pub use site::{Apps, Site};
