//! Claiming shorts.

use futures_util::{StreamExt as _, TryStreamExt as _, stream};
use jiff::SignedDuration;
use lodge_domain::{
    Result,
    links::{Candidate, Claim, Link, LinkId, Refusal},
};
use uuid::Uuid;

use super::{AT_ONCE, CassandraLinks, LinkRow, retry_on_conflict};
use crate::cassandra::failure::Failure;

impl CassandraLinks {
    /// Claims a short for each candidate; candidates for the same short claim it in order.
    pub(super) async fn claim_all(
        &self,
        candidates: Vec<Result<Candidate, Refusal>>,
        reserved: SignedDuration,
    ) -> Result<Vec<Claim>> {
        let claims = candidates.into_iter().map(async |candidate| match candidate {
            Ok(candidate) => self.claim_one(candidate, reserved).await,
            Err(refusal) => Ok(Claim::Refused(refusal)),
        });
        stream::iter(claims).buffered(AT_ONCE).try_collect().await
    }

    async fn claim_one(&self, candidate: Candidate, reserved: SignedDuration) -> Result<Claim> {
        let mut holder = None;
        let is_replaceable = is_replaceable(&candidate.link);
        for short in candidate.shorts() {
            let mut link = Link { short: short.clone(), ..candidate.link.clone() };
            if is_replaceable {
                link.id = LinkId::of(short);
            }
            match self.claim_short(link, reserved).await? {
                Claim::Exists(link) => holder = holder.or(Some(link)),
                claim => return Ok(claim),
            }
        }
        holder.map(Claim::Exists).ok_or_else(|| lodge_domain::Error::internal("nothing to claim"))
    }

    async fn claim_short(&self, link: Link, reserved: SignedDuration) -> Result<Claim> {
        let key = link.short.as_str().as_bytes();
        let _turn = if let Some(turn) = self.row_locks.try_lock(key) {
            turn
        } else {
            let turn = self.row_locks.lock(key).await?;
            // The claim before this one probably took the short, and a read is faster than a transaction.
            if let Some(holder) = self.holder_other_than(&link, reserved).await? {
                return Ok(Claim::Exists(holder));
            }
            turn
        };
        // A list's row is checked against its link, so a row without a link is skipped.
        self.index(&link).await?;
        let claim = if is_replaceable(&link) {
            self.claim_plainly(&link, reserved).await?
        } else {
            retry_on_conflict(|| self.try_claim(&link, reserved)).await?
        };
        if let Claim::Exists(holder) = &claim
            && (holder.id, holder.owner) != (link.id, link.owner)
        {
            self.unindex(&link).await;
        }
        Ok(claim)
    }

    /// Reads the link that holds the short of `link`, if there is one and it is another one.
    async fn holder_other_than(
        &self,
        link: &Link,
        reserved: SignedDuration,
    ) -> Result<Option<Link>, Failure> {
        let kept = self.kept(&link.short).await?;
        Ok(kept.filter(|holder| {
            holder.id != link.id && !holder.is_reservation_over(link.created_at, reserved)
        }))
    }

    /// Claims a short whose link any caller may replace: such links are written by plain writes, ordered by
    /// their timestamps, never by transactions.
    async fn claim_plainly(&self, link: &Link, reserved: SignedDuration) -> Result<Claim> {
        let created = || Claim::Created(link.clone());
        if let Some(holder) = self.kept(&link.short).await? {
            let is_repeated = holder.created_at == link.created_at
                && (holder.target == link.target || holder.version > link.version);
            if is_repeated {
                self.feed.append(link.short.as_str()).await?;
                return Ok(created());
            }
            if !holder.is_reservation_over(link.created_at, reserved) {
                return Ok(Claim::Exists(holder));
            }
        }
        self.write_plainly(link).await?;
        Ok(created())
    }

    async fn try_claim(
        &self,
        link: &Link,
        reserved: SignedDuration,
    ) -> Result<Option<Claim>, Failure> {
        let created = || Some(Claim::Created(link.clone()));
        let row = LinkRow::of(link).written(Uuid::new_v4(), None);
        // The short is usually free, so the insert comes before the read.
        if self.insert(&row).await? {
            return Ok(created());
        }
        let Some(was) = self.current(&link.short).await? else { return Ok(None) };
        let holder = was.clone().link()?;
        if holder.id == link.id {
            // A repetition of the plan that created it, perhaps over a link past its reservation.
            self.feed.append(&row.short).await?;
            return Ok(created());
        }
        if !holder.is_reservation_over(link.created_at, reserved) {
            return Ok(Some(Claim::Exists(holder)));
        }
        if !self.rewrite(&was, &row).await? {
            return Ok(None);
        }
        // Other processes may have cached the previous link.
        self.feed.append(&row.short).await?;
        self.unindex(&holder).await;
        self.forget_clicks(holder.id).await?;
        Ok(created())
    }

    async fn forget_clicks(&self, link: LinkId) -> Result<(), Failure> {
        let statements = &self.session.statements;
        for forget in
            [&statements.forget_hours, &statements.forget_days, &statements.forget_referrers]
        {
            forget.run((link.0,)).await?;
        }
        Ok(())
    }
}

/// Whether a `PUT` may replace the link: its id is derived from its short then.
fn is_replaceable(link: &Link) -> bool {
    link.id == LinkId::of(&link.short)
}
