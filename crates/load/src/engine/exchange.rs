//! One connection: asks once, and says when to ask again.

use std::rc::Rc;
use std::time::{Duration, Instant};

use rand::RngExt;
use rand::rngs::SmallRng;

use super::control::Control;
use super::outcome::{ErrorKind, WriteOutcome};
use crate::http::connection::{Connection, Failure, Scratch};
use crate::http::http1::Decoder;

/// How often an event is sent again, if nothing else is asked for: as the course's client does.
pub(crate) const RETRIES: u32 = 5;
/// The longest pause before a further try, but for what the server asks for.
const PAUSE_MAX: Duration = Duration::from_secs(1);
/// The longest pause before the second try; it doubles with each.
const PAUSE_FIRST: Duration = Duration::from_millis(20);
/// So many doublings reach the longest pause.
const PAUSE_DOUBLINGS_MAX: u32 = 6;
/// The longest time that a `Retry-After` is obeyed.
const RETRY_AFTER_MAX: Duration = Duration::from_secs(5);

/// What came of asking once.
#[derive(Debug)]
pub(crate) struct Asked {
    pub(crate) status: Result<u16, ErrorKind>,
    /// What the system said about an error.
    pub(crate) detail: Option<String>,
    /// Whether any byte left the client.
    pub(crate) sent: bool,
    /// When the answer says to come back.
    pub(crate) retry_after_s: Option<u64>,
}

impl Asked {
    /// Success if the status is `wanted`.
    pub(crate) fn expect(&self, wanted: u16) -> Result<(), ErrorKind> {
        match self.status {
            Ok(status) if status == wanted => Ok(()),
            Ok(status) => Err(ErrorKind::Status(status)),
            Err(error) => Err(error),
        }
    }

    /// What the client may conclude, if `result` is what it makes of the answer.
    pub(crate) fn outcome(&self, result: Result<(), ErrorKind>) -> WriteOutcome {
        WriteOutcome::of(result, self.sent)
    }

    /// Waits before the next try, if there is to be one after `tried`; false: there is none.
    pub(crate) async fn pause(
        &self,
        tried: u32,
        retries: u32,
        rng: &mut SmallRng,
        control: &Control,
    ) -> bool {
        if tried > retries || control.stopped() {
            return false;
        }
        let doubled = 1 << (tried - 1).min(PAUSE_DOUBLINGS_MAX);
        let longest = (PAUSE_FIRST * doubled).min(PAUSE_MAX);
        let asked_for = self.retry_after_s.map(Duration::from_secs);
        // From half of it on, at random: who failed together does not come back together.
        let pause = longest.mul_f64(rng.random_range(0.5..1.0))
            + asked_for.unwrap_or_default().min(RETRY_AFTER_MAX);
        tokio::select! {
            () = tokio::time::sleep(pause) => true,
            () = control.cancelled() => false,
        }
    }
}

/// What all tries of one request cost.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Cost {
    /// To the first byte of the last answer.
    pub(crate) wait: Option<Duration>,
    pub(crate) connect: Option<Duration>,
    pub(crate) sent_bytes: u64,
    pub(crate) received_bytes: u64,
}

/// A connection with the request that goes over it.
#[derive(Debug)]
pub(crate) struct Wire {
    connection: Connection,
    scratch: Rc<Scratch>,
    timeout: Duration,
    pub(crate) request: Vec<u8>,
    /// The request is a HEAD, whose answer has no body.
    pub(crate) head_only: bool,
    cost: Cost,
}

impl Wire {
    pub(crate) fn new(connection: Connection, scratch: Rc<Scratch>, timeout: Duration) -> Self {
        let (request, cost) = (Vec::with_capacity(512), Cost::default());
        Self { connection, scratch, timeout, request, head_only: false, cost }
    }

    /// Sends the request and awaits its answer, for at most the timeout from `began` on.
    pub(crate) async fn ask(&mut self, began: Instant) -> Asked {
        self.connection.reset();
        let exchange = self.connection.exchange(&self.request, self.head_only, &self.scratch);
        let deadline = tokio::time::Instant::from_std(began + self.timeout);
        let outcome = tokio::time::timeout_at(deadline, exchange).await;
        let (status, detail) = match outcome {
            Err(_) => {
                self.connection.abandon();
                (Err(ErrorKind::Timeout), None)
            }
            Ok(Err(Failure::Connect(error))) => (Err(ErrorKind::Connect), Some(error.to_string())),
            Ok(Err(Failure::Lost)) => (Err(ErrorKind::Reset), None),
            Ok(Err(Failure::Malformed(error))) => {
                (Err(ErrorKind::Malformed), Some(error.to_string()))
            }
            Ok(Ok(answer)) => (Ok(answer.status), None),
        };
        let marks = self.connection.marks;
        let ready = marks.connected.unwrap_or(began);
        self.cost.wait = marks.first_byte.map(|first| first - ready);
        self.cost.connect =
            marks.connected.map(|connected| connected - began).or(self.cost.connect);
        self.cost.sent_bytes += marks.sent_bytes;
        self.cost.received_bytes += marks.received_bytes;
        let retry_after_s = status.ok().and_then(|_| self.answered().retry_after_s());
        Asked { status, detail, sent: marks.sent_bytes > 0, retry_after_s }
    }

    /// What is known of the last answer.
    pub(crate) fn answered(&self) -> &Decoder {
        self.connection.answered()
    }

    /// What was spent since this was asked last.
    pub(crate) fn take_cost(&mut self) -> Cost {
        std::mem::take(&mut self.cost)
    }
}
