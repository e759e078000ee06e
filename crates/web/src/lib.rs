//! The HTTP edge: listeners and their limits, the middleware, the mapping of errors to HTTP, and a folder for the
//! routes and pages of each app.

mod accounts;
mod admin;
mod api_docs;
mod board;
mod body;
mod body_budget;
mod body_buffer;
mod brand;
mod conditional;
mod context;
mod cookies;
pub mod edge;
mod error;
mod front;
mod json;
mod links;
mod multipart;
mod pages;
mod personal_data;
mod pictures;
mod request;
mod responses;
mod rides;
mod routes;
mod session;
mod settings;
mod sign_in;
mod site;

pub use board::hook_body;
pub use brand::{BrandSettings, Color, Logo, SITE_NAME_CHARS_MAX};
pub use edge::proxies::TrustedProxies;
pub use front::HttpService;
pub use settings::SiteSettings;
pub use site::{Apps, Site};
