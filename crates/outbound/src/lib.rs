//! Clients of the outside world: the providers that people sign in by.
//!
//! Whoever is asked here is named in the configuration, and is still not trusted with our time and memory:
//! every question has a deadline, every answer a longest length, and each provider so many questions at
//! once.

mod discovery;
mod open_id;
mod plain;
mod providers;
mod said;
mod token;
mod web;

pub use crate::{
    plain::{Fields, PlainEndpoints},
    providers::{AskedProviders, ProviderOptions},
    web::{is_on_this_machine, may_be_asked, may_be_asked_of},
};
