//! HTTP clients: sign-in providers (`OpenID` Connect, OAuth 2) and webhook receivers.
//!
//! The servers are named in the configuration or by an admin, and still cannot use up time or memory here: every
//! request has a deadline, every response a size limit, and each provider a limit of concurrent requests.

mod addresses;
mod discovery;
mod hooks;
mod log_text;
mod oauth;
mod open_id;
mod providers;
mod token;
mod web;

pub use crate::{
    hooks::HookSender,
    oauth::{OAuthEndpoints, UserinfoFields},
    providers::{HttpProviders, ProviderOptions},
    web::{is_allowed_endpoint, is_allowed_provider_url, is_on_this_machine},
};
