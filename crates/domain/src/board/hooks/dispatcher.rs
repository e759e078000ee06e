//! The dispatcher of webhook deliveries.

use std::collections::{HashMap, HashSet};

use bytes::Bytes;
use futures_util::{
    Stream, StreamExt,
    future::select,
    stream::{FusedStream, FuturesUnordered},
};
use jiff::{SignedDuration, Timestamp};
use tokio::sync::Semaphore;

use super::{
    super::{BoardEvent, EventRange, Slug},
    Delivery, DeliveryOutcome, DeliveryStatus, Hook, HookId, HookPorts, HookSecret,
};
use crate::{Error, Random, Result};

/// The most deliveries in flight; further hooks wait in order.
const PARALLEL_MAX: usize = 8;

/// The longest backoff after the first failure, in seconds; it doubles with each further one.
const FIRST_BACKOFF_S: i64 = 10;

/// The longest backoff, in seconds.
const BACKOFF_S_MAX: i64 = 60 * 60;

/// How long deliveries may fail in a row before the hook is disabled.
const FAILING_MAX: SignedDuration = SignedDuration::from_hours(3 * 24);

/// Renders an event of a channel as JSON.
pub type Render = fn(&Slug, &BoardEvent) -> Vec<u8>;

/// A wake-up: where new events may be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum HookWakeup {
    /// In this channel.
    Channel(Slug),
    /// In any channel; hooks may have been added or removed, too.
    Everywhere,
}

/// Sends each hook's receiver its pending events, one after the other; several hooks in parallel.
pub struct HookDispatcher {
    ports: HookPorts,
    render: Render,
    places: Semaphore,
}

/// The state of the dispatch loop.
#[derive(Default)]
struct DispatchState {
    /// The channels of the hooks that were due at the last look-up.
    channels: HashSet<Slug>,
    in_flight: HashMap<HookId, Slug>,
    /// Hooks in flight whose channel was woken up meanwhile.
    again: HashSet<HookId>,
}

/// The next input of the dispatch loop.
enum Next {
    Look(HookWakeup),
    /// The deliveries of this hook ended.
    Done(HookId),
}

impl HookDispatcher {
    /// Creates a dispatcher that sends the JSON that `render` makes of events.
    pub fn new(ports: HookPorts, render: Render) -> Self {
        Self { ports, render, places: Semaphore::new(PARALLEL_MAX) }
    }

    /// Dispatches until `looks` ends and the deliveries in flight are finished. Dropping the future abandons deliveries
    /// in flight; the next run sends them again.
    pub async fn run(&self, looks: impl Stream<Item = HookWakeup> + Unpin) {
        let mut looks = looks.map(Next::Look).fuse();
        let mut rota = DispatchState::default();
        let mut rounds = FuturesUnordered::new();
        loop {
            let next = match (looks.is_terminated(), rounds.is_empty()) {
                (true, true) => return,
                (true, false) => rounds.next().await,
                (false, true) => looks.next().await,
                (false, false) => select(looks.next(), rounds.next()).await.factor_first().0,
            };
            let wanted = next.and_then(|next| rota.wanted(next));
            for (hook, secret) in self.due(&mut rota, wanted).await {
                rota.in_flight.insert(hook.id, hook.channel.clone());
                rounds.push(async move {
                    let id = hook.id;
                    // What the store could not read or write is tried again at the next wake-up.
                    let _ = self.deliver_pending(hook, &secret).await;
                    Next::Done(id)
                });
            }
        }
    }

    /// The hooks to deliver to now: wanted, due and not in flight.
    async fn due(
        &self,
        rota: &mut DispatchState,
        wanted: Option<Wanted>,
    ) -> Vec<(Hook, HookSecret)> {
        let Some(wanted) = wanted else { return Vec::new() };
        let Ok(mut hooks) = self.ports.hooks.list().await else { return Vec::new() };
        let now = self.ports.clock.now();
        hooks.retain(|(hook, _)| hook.is_due(now));
        rota.channels = hooks.iter().map(|(hook, _)| hook.channel.clone()).collect();
        hooks.retain(|(hook, _)| wanted.has(hook) && !rota.in_flight.contains_key(&hook.id));
        hooks
    }

    /// Sends the hook's pending events until none is left, a delivery fails, or the hook is removed.
    async fn deliver_pending(&self, mut hook: Hook, secret: &HookSecret) -> Result<()> {
        let ports = &self.ports;
        while hook.is_due(ports.clock.now()) {
            let _place = self.places.acquire().await.map_err(Error::internal)?;
            // One at a time, read just before it is sent: a message that was hidden meanwhile is redacted.
            let reach = EventRange::After(hook.cursor.clone());
            let page = ports.log.events(hook.channel.clone(), reach, 1).await?;
            let Some(event) = page.events.first() else { break };
            let delivery = self.delivery(&hook, secret, event);
            let is_there = match ports.deliver.deliver(delivery).await {
                DeliveryOutcome::Taken => {
                    hook.cursor = page.cursor;
                    hook.delivery = DeliveryStatus::Healthy;
                    ports.hooks.advance(hook.id, hook.cursor.clone()).await?
                }
                DeliveryOutcome::Unwanted => {
                    let why = "the receiver answered 410 Gone".to_owned();
                    hook.delivery = DeliveryStatus::Disabled { at: ports.clock.now(), why };
                    ports.hooks.note(hook.id, hook.delivery.clone()).await?
                }
                DeliveryOutcome::Failed(why) => {
                    hook.delivery = self.failed(&hook.delivery, why);
                    ports.hooks.note(hook.id, hook.delivery.clone()).await?
                }
            };
            if !is_there {
                break;
            }
        }
        Ok(())
    }

    fn delivery(&self, hook: &Hook, secret: &HookSecret, event: &BoardEvent) -> Delivery {
        let id = format!("{}/{}", hook.channel, event.id);
        let timestamp_s = self.ports.clock.now().as_second();
        let body = Bytes::from((self.render)(&hook.channel, event));
        let signature = secret.sign(&id, timestamp_s, &body);
        Delivery { hook: hook.id, url: hook.url.clone(), id, timestamp_s, signature, body }
    }

    /// The delivery status after one more failure.
    fn failed(&self, before: &DeliveryStatus, why: String) -> DeliveryStatus {
        let now = self.ports.clock.now();
        let (failures, since) = match before {
            DeliveryStatus::Failing { failures, since, .. } => (failures.saturating_add(1), *since),
            DeliveryStatus::Healthy | DeliveryStatus::Disabled { .. } => (1, now),
        };
        if now.duration_since(since) >= FAILING_MAX {
            let why =
                format!("{failures} deliveries failed in a row, for three days; last error: {why}");
            return DeliveryStatus::Disabled { at: now, why };
        }
        let next_try = now.saturating_add(backoff(failures, &*self.ports.random));
        DeliveryStatus::Failing {
            failures,
            since,
            next_try: next_try.unwrap_or(Timestamp::MAX),
            why,
        }
    }
}

/// The backoff after `failures` failures: a random time between half and all of a bound that doubles.
pub(super) fn backoff(failures: u32, random: &dyn Random) -> SignedDuration {
    let doublings = failures.saturating_sub(1).min(16);
    let longest_s = (FIRST_BACKOFF_S << doublings).min(BACKOFF_S_MAX);
    let mut bytes = [0; 2];
    random.fill(&mut bytes);
    let half_ms = longest_s * 500;
    SignedDuration::from_millis(half_ms + half_ms * i64::from(u16::from_be_bytes(bytes)) / 0xffff)
}

/// The hooks that a wake-up is for.
enum Wanted {
    All,
    Of(Slug),
    One(HookId),
}

impl Wanted {
    fn has(&self, hook: &Hook) -> bool {
        match self {
            Self::All => true,
            Self::Of(channel) => hook.channel == *channel,
            Self::One(id) => hook.id == *id,
        }
    }
}

impl DispatchState {
    fn wanted(&mut self, next: Next) -> Option<Wanted> {
        match next {
            Next::Look(HookWakeup::Everywhere) => Some(Wanted::All),
            Next::Look(HookWakeup::Channel(channel)) => {
                let attended = self.in_flight.iter().filter(|(_, of)| **of == channel);
                self.again.extend(attended.map(|(id, _)| *id));
                self.channels.contains(&channel).then_some(Wanted::Of(channel))
            }
            Next::Done(id) => {
                self.in_flight.remove(&id);
                self.again.remove(&id).then_some(Wanted::One(id))
            }
        }
    }
}
