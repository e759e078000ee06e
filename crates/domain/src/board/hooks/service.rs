//! Adding and removing hooks.

use std::sync::Arc;

use super::{
    super::{Actor, BoardLog, Reach, Slug},
    Deliver, Hook, HookId, HookSecret, HookStore, HookUrl, NewHook,
};
use crate::{Clock, Error, Random, Result};

/// The service, for admins.
pub struct Hooks {
    store: Arc<dyn HookStore>,
    log: Arc<dyn BoardLog>,
    deliver: Arc<dyn Deliver>,
    clock: Arc<dyn Clock>,
    random: Arc<dyn Random>,
}

impl Hooks {
    /// Hooks kept in `store`, on channels that `log` knows, to where `deliver` sends.
    pub fn new(
        store: Arc<dyn HookStore>,
        log: Arc<dyn BoardLog>,
        deliver: Arc<dyn Deliver>,
        clock: Arc<dyn Clock>,
        random: Arc<dyn Random>,
    ) -> Self {
        Self { store, log, deliver, clock, random }
    }

    /// The service for `by`; [`Error::Forbidden`] for all but admins.
    pub fn of_admin(&self, by: &Actor) -> Result<&Self> {
        by.check_admin().map(|()| self)
    }

    /// Adds a hook that is told what happens from now on; its secret can be had this once. [`Error::NotFound`] if there
    /// is no such channel.
    pub async fn add(&self, channel: Slug, url: HookUrl) -> Result<(Hook, HookSecret)> {
        self.deliver.check(&url)?;
        let present = self.log.events(channel.clone(), Reach::Tail, 1).await?.cursor;
        let secret = HookSecret::draw(&*self.random);
        let created_at = self.clock.now();
        let new = NewHook { channel, url, secret: secret.clone(), cursor: present, created_at };
        Ok((self.store.add(new).await?, secret))
    }

    /// Every hook, oldest first.
    pub async fn list(&self) -> Result<Vec<Hook>> {
        Ok(self.store.list().await?.into_iter().map(|(hook, _)| hook).collect())
    }

    /// Removes a hook; what is on its way to its receiver may still arrive.
    pub async fn remove(&self, id: HookId) -> Result<()> {
        if self.store.remove(id).await? {
            return Ok(());
        }
        Err(Error::not_found("there is no such hook"))
    }
}
