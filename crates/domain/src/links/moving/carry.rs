//! The move: its order, its checkpoints and its batch sizes.

use std::sync::Arc;

use futures_util::{StreamExt as _, TryStreamExt as _, stream};
use jiff::{SignedDuration, Timestamp};
use uuid::Uuid;

use super::{
    Checkpoint, Destination, DestinationState, Differences, Extent, MovingLink, ReadBack, Source,
    Step, compare::Comparison,
};
use crate::{
    Error, Result, idempotency::OUTCOME_KEPT_SECONDS, links::Short, secret::InstallationSecret,
};

/// The error for a destination with another installation's secret.
pub const BELONGS_TO_ANOTHER: &str = "the destination belongs to another installation: it has another secret; move into an empty store on which no server was ever started";

/// The UUID namespace of the incarnations of moves.
const INCARNATIONS: Uuid = Uuid::from_u128(0x6c6f_6467_6500_4000_8000_0000_0000_0002);

/// A move of the links app between two stores.
pub struct Move {
    /// The source.
    pub source: Arc<dyn Source>,
    /// The destination.
    pub destination: Arc<dyn Destination>,
    /// The destination, for the comparison.
    pub read_back: Arc<dyn ReadBack>,
    /// The batch sizes.
    pub pace: Pace,
}

/// The batch sizes of a move, and the interval of its checkpoints.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Pace {
    /// Rows in one read.
    pub page: usize,
    /// Rows written concurrently.
    pub at_once: usize,
    /// Rows between two checkpoints; a checkpoint follows the page that reaches it.
    pub note_every: usize,
}

impl Default for Pace {
    fn default() -> Self {
        Self { page: 500, at_once: 48, note_every: 500 }
    }
}

/// The phase of a move.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Phase {
    /// Links are written.
    Links,
    /// Stored outcomes are written.
    Outcomes,
    /// Links are read back and compared.
    Comparing,
}

/// The progress of a move.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Progress {
    /// The phase.
    pub phase: Phase,
    /// Rows done in this phase.
    pub done: u64,
    /// All rows of this phase, if known.
    pub of: Option<u64>,
}

/// The result of a move.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Moved {
    /// The amount of data.
    pub extent: Extent,
    /// Links that earlier runs had written.
    pub put_before: u64,
    /// The differences between source and destination.
    pub differences: Differences,
}

/// A progress callback.
pub(super) type Watch<'a> = &'a (dyn Fn(Progress) + Send + Sync);

impl Move {
    /// Moves what is not moved yet, compares all data, and reports progress to `watch`.
    ///
    /// # Errors
    ///
    /// [`Error::Conflict`] before anything is written, if the destination belongs to another installation or is in
    /// use, or if the source has changed since the move began. After any other error the move can be run again.
    pub async fn run(&self, now: Timestamp, watch: Watch<'_>) -> Result<Moved> {
        let (secret, extent) = (self.source.secret().await?, self.source.extent().await?);
        let step = self.begin(&secret, &extent).await?;
        let put_before = match step {
            Step::Links { put, .. } => put,
            Step::Outcomes { .. } | Step::Through => extent.links,
        };
        let incarnation = Uuid::new_v5(&INCARNATIONS, &secret.sign("move", &[]));
        Carrier { of: self, extent: &extent, incarnation, now, watch }.go_on_from(step).await?;
        let differences = Comparison::new(self, &extent, now, watch).run().await?;
        Ok(Moved { extent, put_before, differences })
    }

    /// Claims the destination if it is free; returns the step to continue from.
    async fn begin(&self, secret: &InstallationSecret, extent: &Extent) -> Result<Step> {
        let DestinationState { secret: theirs, record, is_used } = self.destination.state().await?;
        if theirs.is_some_and(|theirs| theirs.reveal() != secret.reveal()) {
            return Err(Error::conflict(BELONGS_TO_ANOTHER));
        }
        match record {
            Some(record) if record.extent == *extent => Ok(record.step),
            Some(_) => Err(Error::conflict(
                "the source has changed since this move began, so a server ran on it; move it into an empty store",
            )),
            None if is_used => Err(Error::conflict(
                "the destination already contains links or API keys; move into an empty store",
            )),
            None => {
                let step = Step::Links { after: None, put: 0 };
                let record = Checkpoint { extent: extent.clone(), step };
                self.destination.begin(secret, &record).await?;
                Ok(record.step)
            }
        }
    }
}

/// One run of a move.
struct Carrier<'a> {
    of: &'a Move,
    extent: &'a Extent,
    incarnation: Uuid,
    now: Timestamp,
    watch: Watch<'a>,
}

impl Carrier<'_> {
    /// Writes all remaining rows, with a checkpoint after each step.
    async fn go_on_from(&self, mut step: Step) -> Result<()> {
        if step != Step::Through {
            self.put_keys().await?;
        }
        loop {
            step = match step {
                Step::Links { after, put } => self.put_links(after, put).await?,
                Step::Outcomes { after } => self.put_outcomes(after).await?,
                Step::Through => return Ok(()),
            };
            let record = Checkpoint { extent: self.extent.clone(), step: step.clone() };
            self.of.destination.save_checkpoint(&record).await?;
        }
    }

    async fn put_keys(&self) -> Result<()> {
        let keys = self.of.source.keys().await?;
        self.all(keys.iter().map(|key| self.of.destination.put_key(key))).await
    }

    /// Writes links until the next checkpoint.
    async fn put_links(&self, mut after: Option<Short>, mut put: u64) -> Result<Step> {
        let Pace { page, note_every, .. } = self.of.pace;
        let mut unnoted = 0;
        while unnoted < note_every {
            (self.watch)(Progress { phase: Phase::Links, done: put, of: Some(self.extent.links) });
            let links = self.of.source.links(after.clone(), page).await?;
            let Some(last) = links.last().map(|last| last.link.short.clone()) else {
                return Ok(Step::Outcomes { after: i64::MIN });
            };
            unnoted += links.len();
            put += links.len() as u64;
            self.all(links.into_iter().map(|link| self.put_link(link))).await?;
            after = Some(last);
        }
        Ok(Step::Links { after, put })
    }

    async fn put_link(&self, link: MovingLink) -> Result<()> {
        let link = MovingLink { clicks: link.clicks.at(self.now), ..link };
        self.of.destination.put_link(&link, self.incarnation).await
    }

    /// Writes outcomes until the next checkpoint.
    async fn put_outcomes(&self, mut after: i64) -> Result<Step> {
        let Pace { page, note_every, .. } = self.of.pace;
        let kept = SignedDuration::from_secs(OUTCOME_KEPT_SECONDS);
        let since = self.now.saturating_sub(kept).unwrap_or(Timestamp::MIN);
        let mut unnoted = 0;
        while unnoted < note_every {
            (self.watch)(Progress { phase: Phase::Outcomes, done: unnoted as u64, of: None });
            let outcomes = self.of.source.outcomes(after, since, page).await?;
            let Some(last) = outcomes.last() else { return Ok(Step::Through) };
            after = last.place;
            unnoted += outcomes.len();
            self.all(outcomes.iter().map(|outcome| self.of.destination.put_outcome(outcome)))
                .await?;
        }
        Ok(Step::Outcomes { after })
    }

    async fn all(&self, puts: impl Iterator<Item: Future<Output = Result<()>>>) -> Result<()> {
        stream::iter(puts).buffer_unordered(self.of.pace.at_once).try_collect().await
    }
}
