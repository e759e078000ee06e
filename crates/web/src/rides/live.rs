//! Server-sent events with the counts of the newest day.

use std::{
    sync::{Arc, Weak},
    time::Duration,
};

use axum::response::Response;
use bytes::Bytes;
use futures_util::{Stream, stream};
use lodge_domain::{
    Error, Result,
    rides::{DayTally, ResortId, Rides},
};
use parking_lot::Mutex;
use serde::Serialize;
use tokio::{
    sync::watch,
    time::{MissedTickBehavior, interval},
};
use tokio_util::{sync::CancellationToken, task::AbortOnDropHandle};
use utoipa::ToSchema;

use crate::edge::{
    address::Client,
    stream::{StreamLimits, Streams, event},
};

/// Interval between two checks for changes.
const PAUSE: Duration = Duration::from_secs(1);

/// The counts of the newest day.
#[derive(Serialize, ToSchema)]
pub(super) struct LiveJson {
    #[serde(rename = "seasonID")]
    #[schema(rename = "seasonID", example = "2025")]
    season: String,
    #[serde(rename = "dayID")]
    #[schema(rename = "dayID")]
    day: u16,
    #[serde(flatten)]
    total: LiveTallyJson,
    /// All resorts.
    resorts: Vec<LiveResortJson>,
}

/// The counts of a resort.
#[derive(Serialize, ToSchema)]
struct LiveResortJson {
    #[serde(rename = "resortID")]
    #[schema(rename = "resortID")]
    resort: u16,
    #[serde(flatten)]
    total: LiveTallyJson,
}

/// Counts of rides.
#[derive(Serialize, ToSchema)]
struct LiveTallyJson {
    rides: u64,
    /// The number of distinct skiers; a skier who rode at two resorts counts at each.
    skiers: u64,
    /// The vertical of all rides.
    #[schema(example = 210)]
    vertical: u64,
}

impl From<DayTally> for LiveTallyJson {
    fn from(DayTally { tally, skiers }: DayTally) -> Self {
        Self { rides: tally.rides, skiers, vertical: tally.vertical }
    }
}

impl From<(ResortId, DayTally)> for LiveResortJson {
    fn from((resort, total): (ResortId, DayTally)) -> Self {
        Self { resort: resort.0, total: total.into() }
    }
}

/// Streams changes to clients. One task polls for all clients, only while there are any, and all streams share
/// the same bytes.
pub(super) struct Live {
    streams: Streams,
    feed: Mutex<Weak<Feed>>,
}

/// The state shared by all streams; dropping the last stream ends the task.
struct Feed {
    latest: watch::Receiver<Bytes>,
    task: AbortOnDropHandle<()>,
}

impl Live {
    /// Creates the streams, limited by `bounds`; they end at `end`.
    pub(super) fn until(end: CancellationToken, bounds: StreamLimits) -> Self {
        Self { streams: Streams::new("rides", bounds, end), feed: Mutex::default() }
    }

    /// Answers a client with a stream.
    pub(super) fn stream(&self, rides: &Arc<Rides>, client: Client) -> Result<Response> {
        let place = self.streams.acquire(client)?;
        let feed = self.feed(|latest| look(Arc::clone(rides), latest));
        Ok(place.answer(changes(feed)))
    }

    /// Returns the running feed, or starts one.
    fn feed<F>(&self, look: impl FnOnce(watch::Sender<Bytes>) -> F) -> Arc<Feed>
    where
        F: Future<Output = ()> + Send + 'static,
    {
        let mut kept = self.feed.lock();
        if let Some(feed) = kept.upgrade().filter(|feed| !feed.task.is_finished()) {
            return feed;
        }
        let (sender, latest) = watch::channel(Bytes::new());
        let task = AbortOnDropHandle::new(tokio::spawn(look(sender)));
        let feed = Arc::new(Feed { latest, task });
        *kept = Arc::downgrade(&feed);
        feed
    }
}

/// Returns the latest event, if any, then each new one.
fn changes(feed: Arc<Feed>) -> impl Stream<Item = Bytes> + Send + 'static {
    // The feed's own receiver has read no value, so its clone reports the latest one as changed.
    let latest = feed.latest.clone();
    stream::unfold((feed, latest), |(feed, mut latest)| async move {
        latest.changed().await.ok()?;
        let event = latest.borrow_and_update().clone();
        Some((event, (feed, latest)))
    })
}

/// Polls the store and publishes changes.
async fn look(rides: Arc<Rides>, latest: watch::Sender<Bytes>) {
    let mut ticks = interval(PAUSE);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut stored = None;
    loop {
        ticks.tick().await;
        match newest(&rides, &mut stored).await {
            Ok(Some(event)) => {
                latest.send_if_modified(|kept| {
                    let is_new = *kept != event;
                    *kept = event;
                    is_new
                });
            }
            Ok(None) => {}
            Err(error) => {
                tracing::warn!(%error, "live ride counts are delayed: cannot read the newest day");
            }
        }
    }
}

/// Returns the event of the newest day; `None` if nothing was stored since the last call, which reads one row.
async fn newest(rides: &Rides, stored: &mut Option<u64>) -> Result<Option<Bytes>> {
    let now = rides.stored().await?;
    if *stored == Some(now) {
        return Ok(None);
    }
    let event = match rides.all_resorts_day(None, None).await? {
        Some(day) => {
            let json = LiveJson {
                season: day.season.to_string(),
                day: day.day.0,
                total: day.total.into(),
                resorts: day.resorts.into_iter().map(Into::into).collect(),
            };
            Some(event(&serde_json::to_string(&json).map_err(Error::internal)?))
        }
        None => None,
    };
    *stored = Some(now);
    Ok(event)
}

#[cfg(test)]
mod tests {
    use futures_util::StreamExt;
    use tokio::time::timeout;

    use super::*;

    const DEADLINE: Duration = Duration::from_secs(30);

    #[tokio::test]
    async fn one_task_polls_for_all_streams_while_there_are_any() {
        let live = Live::until(CancellationToken::new(), StreamLimits::among(100));
        let mut senders = Vec::new();
        let mut listen = || {
            let feed = live.feed(|latest| {
                senders.push(latest.clone());
                async move { latest.closed().await }
            });
            Box::pin(changes(feed))
        };
        let (mut first, mut second) = (listen(), listen());
        assert_eq!(senders.len(), 1, "the second shares the task of the first");
        senders[0].send_replace(event("1"));
        let events = [first.next().await, second.next().await].map(Option::unwrap);
        assert_eq!(events[0].as_ptr(), events[1].as_ptr(), "both share the same bytes");

        drop(first);
        assert!(!senders[0].is_closed());
        drop(second);
        timeout(DEADLINE, senders[0].closed()).await.expect("the task ends with the last stream");
    }

    #[tokio::test]
    async fn a_later_stream_begins_with_the_latest_event() {
        let live = Live::until(CancellationToken::new(), StreamLimits::among(100));
        let (sender, mut senders) = tokio::sync::mpsc::unbounded_channel();
        let begin = |latest: watch::Sender<Bytes>| {
            sender.send(latest.clone()).unwrap();
            async move { latest.closed().await }
        };
        let mut first = Box::pin(changes(live.feed(begin)));
        let latest = senders.try_recv().unwrap();
        latest.send_replace(event("1"));
        assert_eq!(first.next().await.unwrap(), event("1"));
        let mut later = Box::pin(changes(live.feed(begin)));
        assert!(senders.try_recv().is_err(), "the task runs already");
        assert_eq!(later.next().await.unwrap(), event("1"));
    }

    #[tokio::test]
    async fn an_ended_task_is_replaced_by_a_new_one() {
        let live = Live::until(CancellationToken::new(), StreamLimits::among(100));
        let ended = live.feed(|latest| async move { drop(latest) });
        assert_eq!(changes(Arc::clone(&ended)).count().await, 0);
        let next = live.feed(|latest| async move { latest.closed().await });
        assert!(!Arc::ptr_eq(&ended, &next));
    }
}
