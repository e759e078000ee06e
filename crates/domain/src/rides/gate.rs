//! Gates: who sends rides, and from where.

use std::sync::Arc;

use async_trait::async_trait;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::{GateId, ResortId, What};
use crate::{Clock, Error, Random, Result, keys, secret};

/// What a gate's token starts with.
pub const GATE_PREFIX: &str = "lodge_gate_";

/// A gate, or whoever runs many of them, without the token.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Gate {
    /// Its number, from 1 on.
    pub id: GateId,
    /// What it is called, 1 to 64 characters, unique.
    pub name: String,
    /// The only resort whose rides it may send; without one it may send those of all.
    pub resort: Option<ResortId>,
    /// When it was made.
    pub created_at: Timestamp,
    /// When it was revoked; it sends nothing from then on.
    pub revoked_at: Option<Timestamp>,
}

/// Whoever sends events.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Sender {
    /// Somebody without a key.
    Nobody,
    /// A live gate.
    Gate(Gate),
}

impl Sender {
    /// Among whose events theirs are.
    pub fn id(&self) -> GateId {
        match self {
            Self::Nobody => GateId::NOBODY,
            Self::Gate(gate) => gate.id,
        }
    }

    /// [`Error::Forbidden`] if they may not tell this. A void is of a ride of their own; nobody's rides are
    /// anybody's, so none of them is taken back.
    pub fn check(&self, what: &What) -> Result<()> {
        match (self, what) {
            (_, What::Ride(ride)) => self.check_resort(ride.on.resort),
            (Self::Nobody, What::Void(_)) => {
                Err(Error::forbidden("rides are voided by gates with a key alone"))
            }
            (Self::Gate(_), What::Void(_)) => Ok(()),
        }
    }

    /// [`Error::Forbidden`] if they have no say at this resort.
    pub fn check_resort(&self, resort: ResortId) -> Result<()> {
        match self {
            Self::Gate(Gate { resort: Some(own), .. }) if resort != *own => {
                Err(Error::forbidden("this gate's key is for another resort"))
            }
            _ => Ok(()),
        }
    }
}

/// Keeps gates; their tokens only as digests.
#[async_trait]
pub trait GateStore: Send + Sync {
    /// Adds a gate; [`Error::Conflict`] if the name is taken. No number is given twice.
    async fn add(
        &self,
        name: &str,
        resort: Option<ResortId>,
        digest: [u8; 32],
        at: Timestamp,
    ) -> Result<Gate>;
    /// The gate behind a token's digest, revoked ones too.
    async fn find(&self, digest: [u8; 32]) -> Result<Option<Gate>>;
    /// Every gate, oldest first.
    async fn list(&self) -> Result<Vec<Gate>>;
    /// Revokes by name; `None` if there is no such gate. Repeating it changes nothing.
    async fn revoke(&self, name: &str, at: Timestamp) -> Result<Option<Gate>>;
    /// Gives a gate, also one that was revoked, another token, and makes it live; `None` if there is no such
    /// gate. The older token is not known any more.
    async fn renew(&self, name: &str, digest: [u8; 32]) -> Result<Option<Gate>>;
}

/// Makes, knows and revokes gates.
#[derive(Clone)]
pub struct Gates {
    store: Arc<dyn GateStore>,
    clock: Arc<dyn Clock>,
    random: Arc<dyn Random>,
    keys_required: bool,
}

impl Gates {
    /// Gates kept in `store`. If keys are required, nobody sends without one.
    pub fn new(
        store: Arc<dyn GateStore>,
        clock: Arc<dyn Clock>,
        random: Arc<dyn Random>,
        keys_required: bool,
    ) -> Self {
        Self { store, clock, random, keys_required }
    }

    /// Whether nobody sends without a key.
    pub fn are_keys_required(&self) -> bool {
        self.keys_required
    }

    /// Makes a gate and returns its token, the only time that it can be had.
    pub async fn create(&self, name: &str, resort: Option<ResortId>) -> Result<(Gate, String)> {
        let name = keys::parse_name(name)?;
        let (token, digest) = self.new_token();
        let gate = self.store.add(name, resort, digest, self.clock.now()).await?;
        Ok((gate, token))
    }

    /// Gives a gate, also one that was revoked, another token, and returns it, the only time that it can be
    /// had. The older one opens nothing any more; the gate's rides stay its own.
    pub async fn renew(&self, name: &str) -> Result<(Gate, String)> {
        let (token, digest) = self.new_token();
        let gate = self.store.renew(name, digest).await?.ok_or_else(no_such_gate)?;
        Ok((gate, token))
    }

    fn new_token(&self) -> (String, [u8; 32]) {
        let token = secret::random_token(GATE_PREFIX, &*self.random);
        let digest = secret::token_digest(&token);
        (token, digest)
    }

    /// Who sends with this token, or without one.
    pub async fn authenticate(&self, token: Option<&str>) -> Result<Sender> {
        let Some(token) = token else {
            if self.keys_required {
                return Err(Error::unauthenticated("rides are taken from gates with a key alone"));
            }
            return Ok(Sender::Nobody);
        };
        // What opens something else need not be looked for.
        let found = if token.starts_with(GATE_PREFIX) {
            self.store.find(secret::token_digest(token)).await?
        } else {
            None
        };
        let live = found.filter(|gate| gate.revoked_at.is_none());
        live.map(Sender::Gate)
            .ok_or(Error::unauthenticated("this gate's key is not known, or was revoked"))
    }

    /// Every gate, oldest first.
    pub async fn list(&self) -> Result<Vec<Gate>> {
        self.store.list().await
    }

    /// The gate of that name, also if it was revoked; [`Error::NotFound`] if there is none.
    pub async fn named(&self, name: &str) -> Result<Gate> {
        let gates = self.list().await?;
        gates.into_iter().find(|gate| gate.name == name).ok_or_else(no_such_gate)
    }

    /// Ends a gate's key; its rides stay.
    pub async fn revoke(&self, name: &str) -> Result<Gate> {
        self.store.revoke(name, self.clock.now()).await?.ok_or_else(no_such_gate)
    }
}

fn no_such_gate() -> Error {
    Error::not_found("there is no gate of that name")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rides::{EventId, mountain};

    #[test]
    fn a_gate_of_a_resort_sends_rides_of_that_resort_alone_and_nobody_sends_voids() {
        let gate = |resort: Option<u16>| {
            Sender::Gate(Gate {
                id: GateId(7),
                name: "gate".to_owned(),
                resort: resort.map(ResortId),
                created_at: Timestamp::UNIX_EPOCH,
                revoked_at: None,
            })
        };
        let mountain = mountain::course();
        let ride = |resort| {
            let on = mountain.resort_day(resort, 2025, 1).unwrap();
            What::Ride(mountain.ride(on, mountain.skier(1).unwrap(), 1, 1).unwrap())
        };
        let void = What::Void(EventId::Text("one".into()));
        assert!(gate(Some(3)).check(&ride(3)).is_ok());
        assert!(matches!(gate(Some(3)).check(&ride(4)), Err(Error::Forbidden(_))));
        assert!(gate(Some(3)).check(&void).is_ok() && gate(None).check(&void).is_ok());
        assert!(gate(None).check(&ride(4)).is_ok() && Sender::Nobody.check(&ride(4)).is_ok());
        assert!(matches!(Sender::Nobody.check(&void), Err(Error::Forbidden(_))));
        assert_eq!((gate(None).id(), Sender::Nobody.id()), (GateId(7), GateId::NOBODY));
    }
}
