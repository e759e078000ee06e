//! Many requests outside of the measurement: creating links before it, reading them back after it.

use std::cell::RefCell;
use std::net::SocketAddr;
use std::time::Duration;

use anyhow::Result;
use futures_util::future::join_all;

use super::control::Control;
use crate::http::connection::{Connection, scratch};
use crate::http::http1::Keep;

/// How often one request is tried.
const TRIES_MAX: u32 = 6;
/// The pause before the second try; it doubles with each.
const PAUSE_FIRST: Duration = Duration::from_millis(20);

/// A status and a body.
pub(crate) type Answered = (u16, Vec<u8>);

/// What a server said, or that it did not.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Reply<'a> {
    Answer { status: u16, location: Option<&'a [u8]>, body: &'a [u8] },
    None,
}

impl Reply<'_> {
    /// Whether the server may answer otherwise a little later.
    pub(crate) fn is_passing(self) -> bool {
        matches!(self, Reply::None | Reply::Answer { status: 429 | 500.., .. })
    }
}

/// What to do about a reply.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Verdict {
    Settled,
    /// Try again; on the last try, take it as it is.
    Again,
}

/// How requests outside of the measurement are sent.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Batch {
    pub(crate) address: SocketAddr,
    pub(crate) connections: u32,
    /// Connections are kept from request to request.
    pub(crate) keep: bool,
    /// What of an answer is looked at.
    pub(crate) kept: Keep,
    pub(crate) timeout: Duration,
}

impl Batch {
    /// Sends the request that `render` makes of each item, some at a time, and has `judge` look at the
    /// replies; its last argument says that there will be no further try.
    pub(crate) fn send<T>(
        &self,
        control: &Control,
        items: impl Iterator<Item = T>,
        render: impl FnMut(&T, &mut Vec<u8>),
        judge: impl FnMut(&T, Reply<'_>, bool) -> Verdict,
    ) -> Result<()> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let (items, render, judge) =
            (RefCell::new(items), RefCell::new(render), RefCell::new(judge));
        let client = |_| async {
            let mut connection = Connection::new(self.address, self.keep, self.kept);
            let mut request = Vec::with_capacity(512);
            while !control.stopped() {
                let Some(item) = items.borrow_mut().next() else { break };
                render.borrow_mut()(&item, &mut request);
                let judge = |reply: Reply<'_>, last| judge.borrow_mut()(&item, reply, last);
                self.settle(&mut connection, &request, judge).await;
            }
        };
        runtime.block_on(join_all((0..self.connections).map(client)));
        Ok(())
    }

    async fn settle(
        &self,
        connection: &mut Connection,
        request: &[u8],
        mut judge: impl FnMut(Reply<'_>, bool) -> Verdict,
    ) {
        let scratch = scratch();
        let mut pause = PAUSE_FIRST;
        for tried in 1..=TRIES_MAX {
            let exchange = connection.exchange(request, false, &scratch);
            let answered = tokio::time::timeout(self.timeout, exchange).await;
            if answered.is_err() {
                connection.abandon();
            }
            let reply = match answered {
                Ok(Ok(answer)) => {
                    let seen = connection.answered();
                    let (location, body) = (seen.location(), seen.body());
                    Reply::Answer { status: answer.status, location, body }
                }
                _ => Reply::None,
            };
            if judge(reply, tried == TRIES_MAX) == Verdict::Settled {
                break;
            }
            tokio::time::sleep(pause).await;
            pause *= 2;
        }
    }

    /// The answers to `count` requests by number, each as soon as it is not a passing one; `None` where
    /// none came.
    pub(crate) fn answers(
        &self,
        control: &Control,
        count: usize,
        mut render: impl FnMut(usize, &mut Vec<u8>),
    ) -> Result<Vec<Option<Answered>>> {
        let mut answers = vec![None; count];
        let keep = |number: &usize, reply: Reply<'_>, last| match reply {
            Reply::Answer { status, body, .. } if last || !reply.is_passing() => {
                answers[*number] = Some((status, body.to_vec()));
                Verdict::Settled
            }
            _ => Verdict::Again,
        };
        self.send(control, 0..count, |number, request| render(*number, request), keep)?;
        Ok(answers)
    }
}
