//! Outgoing webhooks: each event of a channel is posted to a URL, in order and at least once.

mod courier;
mod hook;
mod secret;
mod service;
mod store;
#[cfg(test)]
mod tests;

pub use self::{
    courier::{Courier, Look, Render},
    hook::{HOOK_URL_BYTES_MAX, HOOKS_MAX, Hook, HookId, HookStanding, HookUrl},
    secret::HookSecret,
    service::{HookPorts, Hooks},
    store::{Deliver, Delivered, Delivery, HookStore, NewHook},
};
