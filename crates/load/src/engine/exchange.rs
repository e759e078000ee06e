//! Retries of one request, and their combined result.

use std::time::{Duration, Instant};

use rand::RngExt;
use rand::rngs::SmallRng;

use super::outcome::{ErrorKind, WriteOutcome, worth_retrying};
use super::run::Connection;
use super::wire::SendResult;
use crate::http::http1::Decoder;

/// The default number of retries of an event, as in the course's client.
pub(crate) const RETRIES: u32 = 5;
/// The longest backoff before a retry, without the server's `Retry-After`.
const PAUSE_MAX: Duration = Duration::from_secs(1);
/// The longest backoff before the first retry; it doubles with each further retry.
const PAUSE_FIRST: Duration = Duration::from_millis(20);
/// Doublings of `PAUSE_FIRST` that reach `PAUSE_MAX`.
pub(crate) const PAUSE_DOUBLINGS_MAX: u32 = 6;
/// The longest `Retry-After` that is obeyed.
const RETRY_AFTER_MAX: Duration = Duration::from_secs(5);

/// Returns the backoff after `tried` failed tries, the last of which had this `Retry-After`.
pub(crate) fn backoff(tried: u32, retry_after_s: Option<u64>, rng: &mut SmallRng) -> Duration {
    let doubled = 1 << (tried - 1).min(PAUSE_DOUBLINGS_MAX);
    let longest = (PAUSE_FIRST * doubled).min(PAUSE_MAX);
    let asked_for = Duration::from_secs(retry_after_s.unwrap_or_default());
    // Jitter between half and all of it: requests that failed together are not retried together.
    longest.mul_f64(rng.random_range(0.5..1.0)) + asked_for.min(RETRY_AFTER_MAX)
}

/// The result of a write after all its tries.
#[derive(Debug)]
pub(crate) struct Settled<T> {
    /// The result of the last try.
    pub(crate) result: Result<T, ErrorKind>,
    /// The operating system's text for the error.
    pub(crate) detail: Option<String>,
    pub(crate) outcome: WriteOutcome,
    pub(crate) tries: u32,
}

impl<O> Connection<O> {
    /// Backs off after `tried` failed tries, the last of which returned `asked`. Returns false if the run is
    /// stopped: there must be no further try.
    pub(crate) async fn pause(&mut self, tried: u32, asked: &SendResult) -> bool {
        if self.control.stopped() {
            return false;
        }
        tokio::select! {
            () = tokio::time::sleep(backoff(tried, asked.retry_after_s, &mut self.rng)) => true,
            () = self.control.cancelled() => false,
        }
    }

    /// Sends the request until its result is final or `again` returns false for the number of tries so far.
    /// `judge` maps a status and its response to a result.
    pub(crate) async fn settle<T: Copy>(
        &mut self,
        again: impl Fn(u32) -> bool,
        judge: impl Fn(u16, &Decoder) -> Result<T, ErrorKind>,
    ) -> Settled<T> {
        let (mut outcome, mut tries) = (WriteOutcome::Refused, 0);
        loop {
            tries += 1;
            let asked = self.wire.send(Instant::now()).await;
            let result = asked.status.and_then(|status| judge(status, self.wire.answered()));
            let ended = result.map(drop);
            // A write that may have been stored once stays unknown, even if a later try is refused.
            outcome = outcome.max(asked.outcome(ended));
            let is_open = worth_retrying(ended) && again(tries);
            if !is_open || !self.pause(tries, &asked).await {
                return Settled { result, detail: asked.detail, outcome, tries };
            }
        }
    }
}
