//! Connection settings, and batches of requests outside the measurement: creating links before it, reading
//! them back after it.

use std::cell::RefCell;
use std::net::SocketAddr;
use std::rc::Rc;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use futures_util::future::join_all;

use super::control::Control;
use super::wire::{HttpConnection, scratch};
use crate::http::http1::Keep;

/// Tries of one request, the first included.
const TRIES_MAX: u32 = 6;
/// The pause before the second try; it doubles with each further try.
const PAUSE_FIRST: Duration = Duration::from_millis(20);

/// A status and a body.
pub(crate) type Answered = (u16, Vec<u8>);

/// A server's response, or that none came.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Reply<'a> {
    Answer { status: u16, location: Option<&'a [u8]>, body: &'a [u8] },
    None,
}

impl Reply<'_> {
    /// Returns whether the failure is transient: no response, 429 or 5xx.
    pub(crate) fn is_passing(self) -> bool {
        matches!(self, Reply::None | Reply::Answer { status: 429 | 500.., .. })
    }
}

/// What to do about a reply.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Decision {
    Settled,
    /// Try again, unless this was the last try.
    Retry,
}

/// Connection settings of a run.
#[derive(Debug, Clone)]
pub(crate) struct Client {
    /// The servers. Measured connections take them in turn; requests outside the measurement use the first.
    pub(crate) addresses: Vec<SocketAddr>,
    /// Whether connections are kept alive between requests.
    pub(crate) keep: bool,
    /// Which parts of a response are kept.
    pub(crate) kept: Keep,
    pub(crate) timeout: Duration,
    /// Connections for requests outside the measurement.
    pub(crate) side_connections: u32,
}

impl Client {
    /// Sends the request that `render` makes for each item, `side_connections` at a time, and passes each
    /// reply to `judge`, whose last argument is true on the last try.
    pub(crate) fn send<T>(
        &self,
        control: &Control,
        items: impl Iterator<Item = T>,
        render: impl FnMut(&T, &mut Vec<u8>),
        judge: impl FnMut(&T, Reply<'_>, bool) -> Decision,
    ) -> Result<()> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let (items, render, judge) =
            (RefCell::new(items), RefCell::new(render), RefCell::new(judge));
        let scratch = Rc::new(scratch());
        let client = |_| async {
            let mut wire = HttpConnection::new(self, self.addresses[0], Rc::clone(&scratch));
            while !control.stopped() {
                let Some(item) = items.borrow_mut().next() else { break };
                render.borrow_mut()(&item, &mut wire.request);
                let judge = |reply: Reply<'_>, last| judge.borrow_mut()(&item, reply, last);
                settle(&mut wire, judge).await;
            }
        };
        runtime.block_on(join_all((0..self.side_connections).map(client)));
        Ok(())
    }

    /// Returns the responses to `count` requests, in order, retrying transient failures. Fails if a request
    /// gets no response, naming it by `name`, or if the run is stopped.
    pub(crate) fn answers(
        &self,
        control: &Control,
        count: usize,
        mut render: impl FnMut(usize, &mut Vec<u8>),
        name: impl Fn(usize) -> String,
    ) -> Result<Vec<Answered>> {
        let mut answers = vec![None; count];
        let keep = |number: &usize, reply: Reply<'_>, last| match reply {
            Reply::Answer { status, body, .. } if last || !reply.is_passing() => {
                answers[*number] = Some((status, body.to_vec()));
                Decision::Settled
            }
            _ => Decision::Retry,
        };
        self.send(control, 0..count, |number, request| render(*number, request), keep)?;
        ensure!(!control.stopped(), "stopped before the first message");
        let answer = |(number, answer): (usize, Option<Answered>)| {
            answer.with_context(|| format!("{}: no response after {TRIES_MAX} tries", name(number)))
        };
        answers.into_iter().enumerate().map(answer).collect()
    }
}

/// Sends the request until `judge` settles it, at most `TRIES_MAX` times.
async fn settle(wire: &mut HttpConnection, mut judge: impl FnMut(Reply<'_>, bool) -> Decision) {
    let mut pause = PAUSE_FIRST;
    for tried in 1..=TRIES_MAX {
        let asked = wire.send(Instant::now()).await;
        let seen = wire.answered();
        let (location, body) = (seen.location(), seen.body());
        let reply =
            asked.status.map_or(Reply::None, |status| Reply::Answer { status, location, body });
        if judge(reply, tried == TRIES_MAX) == Decision::Settled {
            break;
        }
        tokio::time::sleep(pause).await;
        pause *= 2;
    }
}
