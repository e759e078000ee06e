//! One authenticated connection.

use std::{collections::HashMap, panic::AssertUnwindSafe, sync::Arc, time::Duration};

use bytes::Bytes;
use futures_util::FutureExt;
use lodge_domain::{
    Error,
    accounts::{Backend, Reply},
};
use parking_lot::Mutex;
use serde_json::value::RawValue;
use tokio::{
    sync::mpsc::{OwnedPermit, Receiver, Sender, channel},
    task::AbortHandle,
    time::{Instant, timeout, timeout_at},
};
use tokio_util::sync::CancellationToken;

use super::{Authenticated, ServerOptions};
use crate::{
    frame::{ConnectionError, Incoming, Outgoing, receive, send_together, written},
    message::{self, FromClient, FromServer, read_call},
};

/// Serves one connection to its end, then aborts its calls in flight.
pub(super) async fn run(
    met: Authenticated,
    backend: Arc<dyn Backend>,
    options: &ServerOptions,
    stop: CancellationToken,
) {
    let gauge = metrics::gauge!("lodge_wire_connections");
    gauge.increment(1.0);
    if let Err(error) = serve(met, backend, options, stop).await {
        tracing::debug!(%error, "a connection from the web tier ended");
    }
    gauge.decrement(1.0);
}

async fn serve(
    met: Authenticated,
    backend: Arc<dyn Backend>,
    options: &ServerOptions,
    stop: CancellationToken,
) -> Result<(), ConnectionError> {
    let Authenticated { mut incoming, outgoing, _place } = met;
    // Capacity for an answer to each call, and for other messages.
    let (answers, to_send) = channel(options.in_flight_max as usize + 2);
    let under_way = Arc::default();
    let calls = Calls { backend, answers, under_way: Arc::clone(&under_way), options };
    // `sent` ends with the last answer: `calls` is dropped when reading ends.
    let heard = async move { calls.listen(&mut incoming, stop).await };
    let sent = send_all(outgoing, to_send, options.patience);
    let both = async { tokio::try_join!(heard, sent) };
    let outcome = both.await.map(drop);
    // The client no longer waits for these.
    for (_, call) in under_way.lock().drain() {
        call.task.abort();
    }
    outcome
}

/// A call in flight.
struct InFlightCall {
    task: AbortHandle,
    /// Reserved for the answer, so that a client that does not read answers gets no more calls accepted. Stored here
    /// and not in the task: an aborted task may end later, and the next call needs the capacity at once.
    place: OwnedPermit<Bytes>,
}

/// The calls of one connection.
struct Calls<'a> {
    options: &'a ServerOptions,
    backend: Arc<dyn Backend>,
    answers: Sender<Bytes>,
    under_way: Arc<Mutex<HashMap<u64, InFlightCall>>>,
}

impl Calls<'_> {
    /// Accepts calls until the client disconnects, or until `stop` and the last answer.
    async fn listen(
        &self,
        incoming: &mut Incoming,
        stop: CancellationToken,
    ) -> Result<(), ConnectionError> {
        loop {
            let frame = tokio::select! {
                frame = receive(incoming, self.options.idle) => frame?,
                () = stop.cancelled() => break,
            };
            self.take(&frame).await?;
        }
        self.say(&FromServer::Closing).await?;
        // Calls sent before the client reads this are answered, too; the client closes after the last answer.
        let finish = async {
            loop {
                match receive(incoming, self.options.idle).await {
                    Ok(frame) => self.take(&frame).await?,
                    Err(ConnectionError::Closed) => return Ok(()),
                    Err(error) => return Err(error),
                }
            }
        };
        timeout(self.options.grace, finish).await.unwrap_or(Ok(()))
    }

    async fn take(&self, frame: &[u8]) -> Result<(), ConnectionError> {
        match serde_json::from_slice(frame).map_err(ConnectionError::InvalidMessage)? {
            FromClient::Call { id, deadline_ms, call } => self.begin(id, deadline_ms, call).await,
            FromClient::Cancel { id } => {
                if let Some(call) = self.under_way.lock().remove(&id) {
                    call.task.abort();
                }
                Ok(())
            }
            FromClient::Ping => self.say(&FromServer::Pong).await,
        }
    }

    async fn begin(
        &self,
        id: u64,
        deadline_ms: u32,
        call: Box<RawValue>,
    ) -> Result<(), ConnectionError> {
        if !self.start(id, deadline_ms, call) {
            let refused = Error::unavailable("too many calls in flight on this connection");
            return self.say(&message::answer(id, &Err(refused))).await;
        }
        Ok(())
    }

    /// Starts a call; returns false if too many are in flight.
    fn start(&self, id: u64, deadline_ms: u32, call: Box<RawValue>) -> bool {
        let mut under_way = self.under_way.lock();
        if under_way.len() >= self.options.in_flight_max as usize || under_way.contains_key(&id) {
            return false;
        }
        let Ok(place) = self.answers.clone().try_reserve_owned() else { return false };
        let wait = Duration::from_millis(deadline_ms.into()).min(self.options.deadline_max);
        let deadline = Instant::now() + wait;
        let backend = Arc::clone(&self.backend);
        let finished = Arc::clone(&self.under_way);
        let task = tokio::spawn(async move {
            let outcome = answer(&*backend, &call, deadline).await;
            let answer = written(&message::answer(id, &outcome));
            // Before the answer is sent: after it the client may send the next call.
            let call = finished.lock().remove(&id);
            if let Some(InFlightCall { place, .. }) = call {
                place.send(answer);
            }
        });
        under_way.insert(id, InFlightCall { task: task.abort_handle(), place });
        true
    }

    async fn say(&self, message: &FromServer) -> Result<(), ConnectionError> {
        self.answers.send(written(message)).await.map_err(|_| ConnectionError::Closed)
    }
}

async fn answer(backend: &dyn Backend, call: &RawValue, deadline: Instant) -> Result<Reply, Error> {
    // A panic in one call must release its permit.
    let answered = AssertUnwindSafe(async { backend.call(read_call(call)?).await }).catch_unwind();
    match timeout_at(deadline, answered).await {
        Ok(outcome) => {
            let outcome = outcome.unwrap_or_else(|_| Err(Error::internal("a call panicked")));
            if let Err(Error::Internal(cause)) = &outcome {
                tracing::error!(%cause, "a call from the web tier failed");
            }
            outcome
        }
        Err(_) => Err(Error::unavailable("the call timed out")),
    }
}

/// Sends answers, queued ones in a batch.
async fn send_all(
    mut outgoing: Outgoing,
    mut frames: Receiver<Bytes>,
    patience: Duration,
) -> Result<(), ConnectionError> {
    while let Some(frame) = frames.recv().await {
        send_together(&mut outgoing, frame, &mut frames, patience).await?;
    }
    Ok(())
}
