//! HTTP clients: sign-in providers (`OpenID` Connect, OAuth 2) and webhook receivers.
//!
//! The servers are named in the configuration or by an admin, and still cannot use up time or memory here: every
//! request has a deadline, every response a size limit, and each provider a limit of concurrent requests.

mod addresses;
mod discovery;
mod hooks;
mod open_id;
mod plain;
mod providers;
mod said;
mod token;
mod web;

pub use crate::{
    hooks::HookSender,
    plain::{Fields, PlainEndpoints},
    providers::{AskedProviders, ProviderOptions},
    web::{is_on_this_machine, may_be_asked, may_be_asked_of},
};
