//! Outgoing webhooks: each event of a channel is posted to a URL, in order and at least once.

mod dispatcher;
mod hook;
mod secret;
mod service;
mod store;
#[cfg(test)]
mod tests;

pub use self::{
    dispatcher::{HookDispatcher, HookWakeup, Render},
    hook::{DeliveryStatus, HOOK_URL_BYTES_MAX, HOOKS_MAX, Hook, HookId, HookUrl},
    secret::HookSecret,
    service::{HookPorts, Hooks},
    store::{Deliver, Delivery, DeliveryOutcome, HookStore, NewHook},
};
