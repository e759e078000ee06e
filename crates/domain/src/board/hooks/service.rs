//! Adding and removing hooks.

use std::sync::Arc;

use super::{
    super::{Actor, EventLog, EventRange, Slug},
    Deliver, Hook, HookId, HookSecret, HookStore, HookUrl, NewHook,
};
use crate::{
    Clock, Error, Random, Result,
    security::{self, SecurityEventKind},
};

/// The ports that hooks need.
#[derive(Clone)]
pub struct HookPorts {
    /// Stores hooks.
    pub hooks: Arc<dyn HookStore>,
    /// Reads the event log.
    pub log: Arc<dyn EventLog>,
    /// Sends deliveries.
    pub deliver: Arc<dyn Deliver>,
    /// The wall clock.
    pub clock: Arc<dyn Clock>,
    /// Draws secrets, and the jitter of retries.
    pub random: Arc<dyn Random>,
}

/// The hook administration.
pub struct Hooks(HookPorts);

impl Hooks {
    /// Creates the service over these ports.
    pub fn new(ports: HookPorts) -> Self {
        Self(ports)
    }

    /// The service for `by`; returns [`Error::Forbidden`] unless `by` is an admin.
    pub fn of_admin(&self, by: &Actor) -> Result<&Self> {
        by.check_admin().map(|()| self)
    }

    /// Adds a hook for events from now on; this is the only time that its secret is returned. Returns
    /// [`Error::NotFound`] if the channel does not exist.
    pub async fn add(&self, channel: Slug, url: HookUrl) -> Result<(Hook, HookSecret)> {
        let HookPorts { hooks, log, deliver, clock, random } = &self.0;
        deliver.check(&url)?;
        let cursor = log.events(channel.clone(), EventRange::Tail, 1).await?.cursor;
        let secret = HookSecret::draw(&**random);
        let created_at = clock.now();
        let new = NewHook { channel, url, secret: secret.clone(), cursor, created_at };
        let hook = hooks.add(new).await?;
        let detail = format!("webhook {} of #{}", hook.id.0, hook.channel);
        security::record(SecurityEventKind::WebhookAdded, None, detail);
        Ok((hook, secret))
    }

    /// Returns every hook, oldest first.
    pub async fn list(&self) -> Result<Vec<Hook>> {
        Ok(self.0.hooks.list().await?.into_iter().map(|(hook, _)| hook).collect())
    }

    /// Removes a hook; a delivery in flight may still arrive.
    pub async fn remove(&self, id: HookId) -> Result<()> {
        if self.0.hooks.remove(id).await? {
            let detail = format!("webhook {}", id.0);
            security::record(SecurityEventKind::WebhookRemoved, None, detail);
            return Ok(());
        }
        Err(Error::not_found("there is no such webhook"))
    }
}
