//! Many requests outside of the measurement: creating links before it, reading them back after it.

use std::cell::RefCell;
use std::io;
use std::net::SocketAddr;
use std::rc::Rc;
use std::time::Duration;

use anyhow::{Context, Result};
use tokio::task::{JoinSet, LocalSet};

use crate::connection::{Connection, scratch};
use crate::control::Control;
use crate::http1::Keep;

/// The most connections that a batch uses.
const CONNECTIONS_MAX: u32 = 64;
/// How often one request is tried.
const TRIES_MAX: u32 = 6;
/// The pause before the second try; it doubles with each.
const PAUSE_FIRST: Duration = Duration::from_millis(20);

/// What a server said, or that it did not.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Reply<'a> {
    Answer { status: u16, location: Option<&'a [u8]>, body: &'a [u8] },
    None,
}

/// What to do about a reply.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Verdict {
    Settled,
    /// Try again; on the last try, take it as it is.
    Again,
}

/// Requests by number and what their answers mean.
pub(crate) trait Batch {
    /// The next request's bytes, with the number under which its reply comes; `None`: no more.
    fn next(&mut self, request: &mut Vec<u8>) -> Option<u64>;

    /// Judges a reply; `last`: it will not be tried again.
    fn judge(&mut self, number: u64, reply: Reply<'_>, last: bool) -> Verdict;
}

/// How the requests of a batch are sent.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Sending {
    pub(crate) address: SocketAddr,
    /// As many as may be used.
    pub(crate) connections: u32,
    /// Connections are kept from request to request.
    pub(crate) keep: bool,
    /// What of an answer is looked at.
    pub(crate) kept: Keep,
    pub(crate) timeout: Duration,
}

/// Makes all requests of `batch`, some at a time, on a thread-local runtime, and returns it.
pub(crate) fn run_batch<B: Batch + 'static>(
    sending: Sending,
    control: &Control,
    batch: B,
) -> Result<B> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let shared = Rc::new(RefCell::new(batch));
    let local = LocalSet::new();
    runtime.block_on(local.run_until(async {
        let mut tasks = JoinSet::new();
        for _ in 0..sending.connections.min(CONNECTIONS_MAX) {
            let connection = Connection::new(sending.address, sending.keep, sending.kept);
            tasks.spawn_local(drive(
                Rc::clone(&shared),
                connection,
                sending.timeout,
                control.clone(),
            ));
        }
        while let Some(ended) = tasks.join_next().await {
            ended??;
        }
        anyhow::Ok(())
    }))?;
    drop(local);
    Ok(Rc::into_inner(shared).context("a connection outlived its batch")?.into_inner())
}

async fn drive<B: Batch>(
    batch: Rc<RefCell<B>>,
    mut connection: Connection,
    timeout: Duration,
    control: Control,
) -> io::Result<()> {
    let scratch = scratch();
    let mut request = Vec::with_capacity(512);
    while !control.stopped() {
        let Some(number) = batch.borrow_mut().next(&mut request) else { break };
        let mut pause = PAUSE_FIRST;
        for tried in 1..=TRIES_MAX {
            let answered =
                tokio::time::timeout(timeout, connection.exchange(&request, false, &scratch)).await;
            if answered.is_err() {
                connection.abandon();
            }
            let reply = match answered {
                Ok(Ok(answer)) => {
                    let answered = connection.answered();
                    Reply::Answer {
                        status: answer.status,
                        location: answered.location(),
                        body: answered.body(),
                    }
                }
                _ => Reply::None,
            };
            if batch.borrow_mut().judge(number, reply, tried == TRIES_MAX) == Verdict::Settled {
                break;
            }
            tokio::time::sleep(pause).await;
            pause *= 2;
        }
    }
    Ok(())
}
