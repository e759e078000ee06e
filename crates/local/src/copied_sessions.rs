//! Copies of sessions that the accounts processes share.

use std::sync::Arc;

use async_trait::async_trait;
use jiff::Timestamp;
use lodge_domain::{
    Clock, Result,
    accounts::{Backend, Call, FeedPosition, Reply, SessionCopies, SessionDigest, SignedIn},
    secret::InstallationSecret,
    security::{self, SecurityActor},
};
use serde::{Deserialize, Serialize};
use subtle::ConstantTimeEq as _;

use super::account_changes::{AccountChanges, TRACKED};

/// The purpose of the MAC of a copy.
const PURPOSE: &str = "session copy";

/// The length of the MAC, which a copy begins with.
const MAC_BYTES: usize = 32;

/// A [`Backend`] that answers session lookups from copies. The change feed decides whether a copy is current: it is,
/// if its account has no change after the position that the copy was made at. So it does not matter which copies the
/// others hold, lose or bring back. A copy has a MAC, so that who can write to their server cannot sign in.
pub struct CopiedSessions {
    backend: Arc<dyn Backend>,
    copies: Arc<dyn SessionCopies>,
    secret: InstallationSecret,
    clock: Arc<dyn Clock>,
    /// Their turns are positions in the feed.
    changes: AccountChanges,
}

/// A copy, as serialized.
#[derive(Serialize, Deserialize)]
struct Copy {
    /// All changes up to this position are in it.
    place: FeedPosition,
    made_at: Timestamp,
    signed_in: SignedIn,
}

impl CopiedSessions {
    /// Puts copies in front of `backend`. Until [`Self::follow`] runs, none is used or made.
    pub fn new(
        backend: Arc<dyn Backend>,
        copies: Arc<dyn SessionCopies>,
        secret: InstallationSecret,
        clock: Arc<dyn Clock>,
    ) -> Self {
        Self { backend, copies, secret, clock, changes: AccountChanges::default() }
    }

    /// Polls the change feed; never returns.
    pub async fn follow(&self) {
        self.changes.follow(&*self.backend, |page| turn_before(page.place)).await;
    }

    async fn who(&self, session: SessionDigest, since: Option<FeedPosition>) -> Result<Reply> {
        let call = Call::Who { session, since };
        // Before the lookup: its result has all changes up to this position.
        let Some((place, ())) = self.changes.trusted(|| ()) else {
            return self.backend.call(call).await;
        };
        let may_be_copy =
            since.is_some_and(|since| since.feed == place.feed && since.at <= place.at);
        if may_be_copy && let Some(me) = self.find(session, place).await {
            metrics::counter!("lodge_accounts_copies_found_total").increment(1);
            security::acting_as(SecurityActor::Account(me.account.id));
            return Ok(Reply::Who(me));
        }
        if may_be_copy {
            metrics::counter!("lodge_accounts_copies_missed_total").increment(1);
        }
        let made_at = self.clock.now();
        let reply = self.backend.call(call).await?;
        if let Reply::Who(me) = &reply
            && let Some(copy) =
                self.sealed(session, &Copy { place, made_at, signed_in: me.clone() })
        {
            self.copies.keep(session, copy).await;
        }
        Ok(reply)
    }

    /// Returns the copy of a session, if it is current.
    async fn find(&self, session: SessionDigest, place: FeedPosition) -> Option<SignedIn> {
        let copy = self.copies.find(session).await?;
        let Copy { place: copied, made_at, signed_in } = self.opened(session, &copy)?;
        let now = self.clock.now();
        let is_current = copied.feed == place.feed
            && self.changes.is_current(signed_in.account.id, turn_before(copied) + 1)
            // Longer ago the database may have been replaced by an older one, with the same numbers for other changes.
            && now.duration_since(made_at).unsigned_abs() < TRACKED
            && now < signed_in.session.expires_at;
        is_current.then_some(signed_in)
    }

    fn sealed(&self, session: SessionDigest, copy: &Copy) -> Option<Vec<u8>> {
        let json = serde_json::to_vec(copy).ok()?;
        let mut sealed = self.secret.sign(PURPOSE, &[&session.0, &json]).to_vec();
        sealed.extend(json);
        Some(sealed)
    }

    /// Reads a copy; `None` if it is not one of this session, or another version of Lodge made it in a form that this
    /// one cannot read.
    fn opened(&self, session: SessionDigest, copy: &[u8]) -> Option<Copy> {
        let (mac, json) = copy.split_at_checked(MAC_BYTES)?;
        let is_own = self.secret.sign(PURPOSE, &[&session.0, json]).ct_eq(mac);
        bool::from(is_own).then(|| serde_json::from_slice(json).ok()).flatten()
    }
}

/// The turn of the changes up to a position. What is read at that position has the next turn.
fn turn_before(place: FeedPosition) -> u64 {
    u64::try_from(place.at).unwrap_or(0)
}

#[async_trait]
impl Backend for CopiedSessions {
    async fn call(&self, call: Call) -> Result<Reply> {
        match call {
            Call::Who { session, since } => self.who(session, since).await,
            call => self.backend.call(call).await,
        }
    }
}
