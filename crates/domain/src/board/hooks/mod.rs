//! Outgoing webhooks: what happens in a channel is told to a URL, event by event, at least once and in order.

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
