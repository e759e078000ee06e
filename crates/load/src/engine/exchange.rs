//! Asking again after a failure, and what comes of all tries.

use std::time::{Duration, Instant};

use rand::RngExt;
use rand::rngs::SmallRng;

use super::outcome::{ErrorKind, WriteOutcome, worth_retrying};
use super::run::Seat;
use super::wire::Asked;
use crate::http::http1::Decoder;

/// How often an event is sent again, if nothing else is asked for: as the course's client does.
pub(crate) const RETRIES: u32 = 5;
/// The longest pause before a further try, but for what the server asks for.
const PAUSE_MAX: Duration = Duration::from_secs(1);
/// The longest pause before the second try; it doubles with each.
const PAUSE_FIRST: Duration = Duration::from_millis(20);
/// So many doublings reach the longest pause.
pub(crate) const PAUSE_DOUBLINGS_MAX: u32 = 6;
/// The longest time that a `Retry-After` is obeyed.
const RETRY_AFTER_MAX: Duration = Duration::from_secs(5);

/// How long to wait after this many tries that failed, the last with this `Retry-After`.
pub(crate) fn pause(tried: u32, retry_after_s: Option<u64>, rng: &mut SmallRng) -> Duration {
    let doubled = 1 << (tried - 1).min(PAUSE_DOUBLINGS_MAX);
    let longest = (PAUSE_FIRST * doubled).min(PAUSE_MAX);
    let asked_for = Duration::from_secs(retry_after_s.unwrap_or_default());
    // From half of it on, at random: what failed together does not come back together.
    longest.mul_f64(rng.random_range(0.5..1.0)) + asked_for.min(RETRY_AFTER_MAX)
}

/// What came of a write with all its tries.
#[derive(Debug)]
pub(crate) struct Settled<T> {
    /// Of the last try.
    pub(crate) result: Result<T, ErrorKind>,
    /// What the system said about its error.
    pub(crate) detail: Option<String>,
    pub(crate) outcome: WriteOutcome,
    pub(crate) tries: u32,
}

impl<O> Seat<O> {
    /// Waits before the next try, after so many that failed, the last as `asked`; false: the run is stopped,
    /// and there is to be none.
    pub(crate) async fn pause(&mut self, tried: u32, asked: &Asked) -> bool {
        if self.control.stopped() {
            return false;
        }
        tokio::select! {
            () = tokio::time::sleep(pause(tried, asked.retry_after_s, &mut self.rng)) => true,
            () = self.control.cancelled() => false,
        }
    }

    /// Asks until the answer is one that stays, or `again` says after so many tries that there is to be no
    /// further one. `judge`: what a status and its answer come to.
    pub(crate) async fn settle<T: Copy>(
        &mut self,
        again: impl Fn(u32) -> bool,
        judge: impl Fn(u16, &Decoder) -> Result<T, ErrorKind>,
    ) -> Settled<T> {
        let (mut outcome, mut tries) = (WriteOutcome::Refused, 0);
        loop {
            tries += 1;
            let asked = self.wire.ask(Instant::now()).await;
            let result = asked.status.and_then(|status| judge(status, self.wire.answered()));
            let ended = result.map(drop);
            // What may have been stored once stays in doubt, whatever a later try comes to.
            outcome = outcome.max(asked.outcome(ended));
            let is_open = worth_retrying(ended) && again(tries);
            if !is_open || !self.pause(tries, &asked).await {
                return Settled { result, detail: asked.detail, outcome, tries };
            }
        }
    }
}
