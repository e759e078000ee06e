//! Adding and removing hooks.

use std::sync::Arc;

use super::{
    super::{Actor, EventLog, Reach, Slug},
    Deliver, Hook, HookId, HookSecret, HookStore, HookUrl, NewHook,
};
use crate::{Clock, Error, Random, Result};

/// What hooks are kept in, and told by.
#[derive(Clone)]
pub struct HookPorts {
    /// Keeps hooks.
    pub hooks: Arc<dyn HookStore>,
    /// Keeps what happens.
    pub log: Arc<dyn EventLog>,
    /// Sends.
    pub deliver: Arc<dyn Deliver>,
    /// Says what time it is.
    pub clock: Arc<dyn Clock>,
    /// Makes secrets, and keeps tries apart that failed together.
    pub random: Arc<dyn Random>,
}

/// The service, for admins.
pub struct Hooks(HookPorts);

impl Hooks {
    /// The service over these.
    pub fn new(ports: HookPorts) -> Self {
        Self(ports)
    }

    /// The service for `by`; [`Error::Forbidden`] for all but admins.
    pub fn of_admin(&self, by: &Actor) -> Result<&Self> {
        by.check_admin().map(|()| self)
    }

    /// Adds a hook that is told what happens from now on; its secret can be had this once. [`Error::NotFound`] if there
    /// is no such channel.
    pub async fn add(&self, channel: Slug, url: HookUrl) -> Result<(Hook, HookSecret)> {
        let HookPorts { hooks, log, deliver, clock, random } = &self.0;
        deliver.check(&url)?;
        let cursor = log.events(channel.clone(), Reach::Tail, 1).await?.cursor;
        let secret = HookSecret::draw(&**random);
        let created_at = clock.now();
        let new = NewHook { channel, url, secret: secret.clone(), cursor, created_at };
        Ok((hooks.add(new).await?, secret))
    }

    /// Every hook, oldest first.
    pub async fn list(&self) -> Result<Vec<Hook>> {
        Ok(self.0.hooks.list().await?.into_iter().map(|(hook, _)| hook).collect())
    }

    /// Removes a hook; what is on its way to its receiver may still arrive.
    pub async fn remove(&self, id: HookId) -> Result<()> {
        if self.0.hooks.remove(id).await? {
            return Ok(());
        }
        Err(Error::not_found("there is no such hook"))
    }
}
