//! Clients of the outside world: the providers that people sign in by, and the receivers of webhooks.
//!
//! Whoever is asked here is named in the configuration, or by an admin, and is still not trusted with our time and memory:
//! every question has a deadline, every answer a longest length, and each provider so many questions at
//! once.

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
