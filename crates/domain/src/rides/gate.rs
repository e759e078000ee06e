//! Gates, which send rides, and their keys.

use std::sync::Arc;

use async_trait::async_trait;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::{GateId, ResortId, RideEventContent};
use crate::{
    Clock, Error, Random, Result, keys, secret,
    security::{self, SecurityEventKind},
};

/// The prefix of every gate key.
pub const GATE_PREFIX: &str = "lodge_gate_";

/// A gate, or an operator of several, without its token.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Gate {
    /// The number, from 1 on.
    pub id: GateId,
    /// The name, 1 to 64 characters, unique.
    pub name: String,
    /// The only resort whose rides it may send; `None` allows all resorts.
    pub resort: Option<ResortId>,
    /// The time of creation.
    pub created_at: Timestamp,
    /// The time of revocation; from then on the key is refused.
    pub revoked_at: Option<Timestamp>,
}

/// The sender of events.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Sender {
    /// A client without a key.
    Anonymous,
    /// A gate whose key is valid.
    Gate(Gate),
}

impl Sender {
    /// Returns the id to which the sender's event ids are scoped.
    pub fn id(&self) -> GateId {
        match self {
            Self::Anonymous => GateId::ANONYMOUS,
            Self::Gate(gate) => gate.id,
        }
    }

    /// Returns [`Error::Forbidden`] if the sender may not send this event. A gate voids only its own rides; rides
    /// sent without a key have no owner, so their senders cannot void them.
    pub fn check(&self, what: &RideEventContent) -> Result<()> {
        match (self, what) {
            (_, RideEventContent::Ride(ride)) => self.check_resort(ride.on.resort),
            (Self::Anonymous, RideEventContent::Void(_)) => {
                Err(Error::forbidden("only a gate with a key can void rides"))
            }
            (Self::Gate(_), RideEventContent::Void(_)) => Ok(()),
        }
    }

    /// Returns [`Error::Forbidden`] if the sender's key is for another resort.
    pub fn check_resort(&self, resort: ResortId) -> Result<()> {
        match self {
            Self::Gate(Gate { resort: Some(own), .. }) if resort != *own => {
                Err(Error::forbidden("this gate's key is for another resort"))
            }
            _ => Ok(()),
        }
    }
}

/// A store of gates, with only the digests of their tokens.
#[async_trait]
pub trait GateStore: Send + Sync {
    /// Adds a gate; [`Error::Conflict`] if the name is taken. Numbers are never reused.
    async fn add(
        &self,
        name: &str,
        resort: Option<ResortId>,
        digest: [u8; 32],
        at: Timestamp,
    ) -> Result<Gate>;
    /// Returns the gate with this token digest, including a revoked one.
    async fn find(&self, digest: [u8; 32]) -> Result<Option<Gate>>;
    /// Returns all gates, oldest first.
    async fn list(&self) -> Result<Vec<Gate>>;
    /// Revokes the gate called `name`; `None` if it does not exist. Idempotent.
    async fn revoke(&self, name: &str, at: Timestamp) -> Result<Option<Gate>>;
    /// Replaces the token of a gate and re-enables a revoked one; `None` if the gate does not exist. The old token
    /// becomes unknown.
    async fn renew(&self, name: &str, digest: [u8; 32]) -> Result<Option<Gate>>;
}

/// The service that creates, authenticates and revokes gates.
#[derive(Clone)]
pub struct Gates {
    store: Arc<dyn GateStore>,
    clock: Arc<dyn Clock>,
    random: Arc<dyn Random>,
    keys_required: bool,
}

impl Gates {
    /// Creates the service over `store`. With `keys_required`, events without a key are refused.
    pub fn new(
        store: Arc<dyn GateStore>,
        clock: Arc<dyn Clock>,
        random: Arc<dyn Random>,
        keys_required: bool,
    ) -> Self {
        Self { store, clock, random, keys_required }
    }

    /// Whether events without a key are refused.
    pub fn are_keys_required(&self) -> bool {
        self.keys_required
    }

    /// Creates a gate and returns it with its token, which cannot be retrieved later.
    pub async fn create(&self, name: &str, resort: Option<ResortId>) -> Result<(Gate, String)> {
        let name = keys::parse_name(name)?;
        let (token, digest) = self.new_token();
        let gate = self.store.add(name, resort, digest, self.clock.now()).await?;
        record(SecurityEventKind::KeyCreated, name);
        Ok((gate, token))
    }

    /// Replaces the token of a gate, re-enables a revoked one, and returns the new token, which cannot be retrieved
    /// later. The old token is invalid; the gate keeps its rides.
    pub async fn renew(&self, name: &str) -> Result<(Gate, String)> {
        let (token, digest) = self.new_token();
        let gate = self.store.renew(name, digest).await?.ok_or_else(no_such_gate)?;
        record(SecurityEventKind::KeyRenewed, name);
        Ok((gate, token))
    }

    fn new_token(&self) -> (String, [u8; 32]) {
        let token = secret::random_token(GATE_PREFIX, &*self.random);
        let digest = secret::token_digest(&token);
        (token, digest)
    }

    /// Returns the sender with this token, or the anonymous one.
    pub async fn authenticate(&self, token: Option<&str>) -> Result<Sender> {
        let Some(token) = token else {
            if self.keys_required {
                return Err(Error::unauthenticated("sending rides requires a gate key"));
            }
            return Ok(Sender::Anonymous);
        };
        // Tokens of other kinds need no query.
        let found = if token.starts_with(GATE_PREFIX) {
            self.store.find(secret::token_digest(token)).await?
        } else {
            None
        };
        let live = found.filter(|gate| gate.revoked_at.is_none());
        live.map(Sender::Gate).ok_or_else(|| {
            security::record(SecurityEventKind::KeyRefused, None, "gate");
            Error::unauthenticated("this gate key is unknown or revoked")
        })
    }

    /// Returns all gates, oldest first.
    pub async fn list(&self) -> Result<Vec<Gate>> {
        self.store.list().await
    }

    /// Returns the gate called `name`, including a revoked one; [`Error::NotFound`] if it does not exist.
    pub async fn named(&self, name: &str) -> Result<Gate> {
        let gates = self.list().await?;
        gates.into_iter().find(|gate| gate.name == name).ok_or_else(no_such_gate)
    }

    /// Revokes the gate called `name`; its rides stay.
    pub async fn revoke(&self, name: &str) -> Result<Gate> {
        let gate = self.store.revoke(name, self.clock.now()).await?.ok_or_else(no_such_gate)?;
        record(SecurityEventKind::KeyRevoked, name);
        Ok(gate)
    }
}

fn record(kind: SecurityEventKind, name: &str) {
    security::record(kind, None, format!("gate {name}"));
}

fn no_such_gate() -> Error {
    Error::not_found("there is no gate with this name")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rides::{RideEventId, resort_catalog};

    #[test]
    fn a_gate_sends_rides_of_its_resort_only_and_a_void_requires_a_key() {
        let gate = |resort: Option<u16>| {
            Sender::Gate(Gate {
                id: GateId(7),
                name: "gate".to_owned(),
                resort: resort.map(ResortId),
                created_at: Timestamp::UNIX_EPOCH,
                revoked_at: None,
            })
        };
        let catalog = resort_catalog::course();
        let ride = |resort| {
            let on = catalog.resort_day(resort, 2025, 1).unwrap();
            RideEventContent::Ride(catalog.ride(on, catalog.skier(1).unwrap(), 1, 1).unwrap())
        };
        let void = RideEventContent::Void(RideEventId::Text("one".into()));
        assert!(gate(Some(3)).check(&ride(3)).is_ok());
        assert!(matches!(gate(Some(3)).check(&ride(4)), Err(Error::Forbidden(_))));
        assert!(gate(Some(3)).check(&void).is_ok() && gate(None).check(&void).is_ok());
        assert!(gate(None).check(&ride(4)).is_ok() && Sender::Anonymous.check(&ride(4)).is_ok());
        assert!(matches!(Sender::Anonymous.check(&void), Err(Error::Forbidden(_))));
        assert_eq!((gate(None).id(), Sender::Anonymous.id()), (GateId(7), GateId::ANONYMOUS));
    }
}
