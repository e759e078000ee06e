//! Writes with an Idempotency-Key. No transaction spans the key's row and a link's, so the key's row is
//! written first, with the plan: the exact links to write, with their ids and generated shorts. A
//! repetition, or a retry after a crash, executes the same plan, each step of which finds whether it was
//! done. The outcome is stored last.

use jiff::SignedDuration;
use lodge_domain::{
    Error, IdempotencyKey, Idempotent, Result,
    idempotency::OUTCOME_KEPT_SECONDS,
    links::{Candidate, Link, Refusal, StoredLinkOutcome},
};
use scylla::{DeserializeRow, value::CqlTimestamp};
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use super::{failure::Failure, links::CassandraLinks, row::milliseconds};

/// Tries of a proposal that conflicts with concurrent ones.
const TRIES: usize = 8;

/// The writes of a request.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Plan {
    /// Claims shorts.
    Claim {
        /// The links to create, or why each was refused.
        candidates: Vec<Result<Candidate, Refusal>>,
        /// Seconds for which a short stays reserved after its link has ended.
        reserved_seconds: i64,
    },
    /// Puts a link.
    Replace {
        /// The link to put.
        link: Link,
    },
    /// Changes a link.
    Change {
        /// The changed link.
        link: Link,
        /// The id of the write.
        write: Uuid,
    },
}

impl Plan {
    /// Returns the plan to claim shorts.
    pub(crate) fn claim(
        candidates: Vec<Result<Candidate, Refusal>>,
        reserved: SignedDuration,
    ) -> Self {
        Self::Claim { candidates, reserved_seconds: reserved.as_secs() }
    }

    fn is_like(&self, other: &Self) -> bool {
        std::mem::discriminant(self) == std::mem::discriminant(other)
    }
}

/// The row of an idempotency key.
#[derive(DeserializeRow)]
struct IdempotencyRow {
    fingerprint: Option<Vec<u8>>,
    at: Option<CqlTimestamp>,
    plan: Option<String>,
    outcome: Option<String>,
}

/// Whose plan is to be executed.
enum PlanOwner {
    Ours,
    Theirs { plan: String, outcome: Option<String> },
}

impl CassandraLinks {
    /// Returns the stored outcome of an earlier write with this idempotency key.
    pub(super) async fn load_outcome(
        &self,
        idempotency: &IdempotencyKey,
    ) -> Result<Option<StoredLinkOutcome>> {
        let row = self.standing(idempotency).await?.filter(|row| row.is_unexpired(idempotency));
        let Some(row) = row else { return Ok(None) };
        row.check(idempotency)?;
        row.outcome.as_deref().map(parsed).transpose()
    }

    /// Executes a plan, once for all requests with the same idempotency key. Returns `None` for a refused
    /// change, which is not stored.
    pub(super) async fn idempotent(
        &self,
        idempotency: Option<IdempotencyKey>,
        plan: Plan,
    ) -> Result<Option<Idempotent<StoredLinkOutcome>>> {
        let Some(idempotency) = idempotency else {
            return Ok(self.execute(&plan).await?.map(Idempotent::fresh));
        };
        let _turn = self.key_locks.lock(&idempotency.id).await?;
        let text = serde_json::to_string(&plan).map_err(Error::internal)?;
        let (plan, text, replayed) = match self.propose(&idempotency, &text).await? {
            PlanOwner::Ours => (plan, text, false),
            PlanOwner::Theirs { plan: theirs, outcome } => {
                let earlier: Plan = parsed(&theirs)?;
                if !earlier.is_like(&plan) {
                    return Err(Error::KeyReused);
                }
                if let Some(outcome) = outcome {
                    return Ok(Some(Idempotent { outcome: parsed(&outcome)?, replayed: true }));
                }
                (earlier, theirs, true)
            }
        };
        let outcome = self.execute(&plan).await?;
        self.store_outcome(&idempotency, &text, outcome.as_ref()).await?;
        Ok(outcome.map(|outcome| Idempotent { outcome, replayed }))
    }

    async fn propose(&self, idempotency: &IdempotencyKey, plan: &str) -> Result<PlanOwner> {
        let statements = &self.session.statements;
        let (id, print, at) =
            (&idempotency.id[..], &idempotency.fingerprint[..], milliseconds(idempotency.at));
        for _ in 0..TRIES {
            let values = (id, print, at, plan);
            // An unknown outcome is settled by the read below.
            match statements.propose.transact(values).await {
                Ok(true) => return Ok(PlanOwner::Ours),
                Ok(false) | Err(Failure::Unknown(_)) => {}
                Err(failure) => return Err(failure.into()),
            }
            let Some(row) = self.standing(idempotency).await? else { continue };
            let Some(was) = row.plan.clone() else { continue };
            if row.is_unexpired(idempotency) {
                row.check(idempotency)?;
                if was == plan {
                    return Ok(PlanOwner::Ours);
                }
                return Ok(PlanOwner::Theirs { plan: was, outcome: row.outcome });
            }
            let values = (print, at, plan, id, was);
            let anew = statements.propose_anew.transact(values).await;
            if matches!(anew, Ok(true)) {
                return Ok(PlanOwner::Ours);
            }
        }
        Err(Error::unavailable("too many concurrent requests with the same Idempotency-Key"))
    }

    /// Stores the outcome of a plan, or withdraws the plan if it was refused.
    async fn store_outcome(
        &self,
        idempotency: &IdempotencyKey,
        plan: &str,
        outcome: Option<&StoredLinkOutcome>,
    ) -> Result<()> {
        let (statements, id) = (&self.session.statements, &idempotency.id[..]);
        let kept = match outcome.map(serde_json::to_string).transpose().map_err(Error::internal)? {
            Some(outcome) => statements.keep_outcome.transact((outcome, id, plan)).await,
            None => statements.withdraw.transact((id, plan)).await,
        };
        // Without the outcome a repetition executes the plan, and finds all steps done.
        if let Err(error) = kept {
            tracing::debug!(%error, "an outcome could not be stored");
        }
        Ok(())
    }

    async fn standing(&self, idempotency: &IdempotencyKey) -> Result<Option<IdempotencyRow>> {
        Ok(self.session.statements.recall.first((&idempotency.id[..],)).await?)
    }
}

impl IdempotencyRow {
    /// Whether the row has not expired.
    fn is_unexpired(&self, idempotency: &IdempotencyKey) -> bool {
        let since = idempotency.at.as_millisecond().saturating_sub(OUTCOME_KEPT_SECONDS * 1000);
        self.at.is_some_and(|at| at.0 > since)
    }

    fn check(&self, idempotency: &IdempotencyKey) -> Result<()> {
        if self.fingerprint.as_deref() == Some(&idempotency.fingerprint[..]) {
            Ok(())
        } else {
            Err(Error::KeyReused)
        }
    }
}

fn parsed<T: for<'a> Deserialize<'a>>(text: &str) -> Result<T> {
    serde_json::from_str(text).map_err(Error::internal)
}
