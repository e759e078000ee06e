//! The promises of the dispatcher, with a store, a log and receivers in memory, and a manual clock.

use std::{
    collections::{BTreeSet, VecDeque},
    sync::Arc,
};

use async_trait::async_trait;
use futures_channel::mpsc;
use futures_util::{FutureExt, stream};
use jiff::Timestamp;
use parking_lot::Mutex;

use super::*;
use crate::{
    Error, OsRandom, Result,
    board::{
        BoardEvent, BoardEventContent, Body, Cursor, EventLog, EventRange, EventsPage, Profile,
        Slug, Stamp, Visibility,
    },
    clock::{Clock, ManualClock},
    random::OneByte,
};

/// The dispatcher's ports, in memory.
#[derive(Default)]
struct World {
    hooks: Mutex<Vec<(Hook, HookSecret)>>,
    events: Mutex<Vec<BoardEvent>>,
    /// Runs right after the log has returned an empty page.
    late: Mutex<Option<Box<dyn FnOnce() + Send>>>,
    /// The receivers' answers; when they are used up, every delivery is accepted.
    answers: Mutex<VecDeque<DeliveryOutcome>>,
    got: Mutex<Vec<Delivery>>,
    /// Receivers whose URL contains this text never answer.
    unresponsive: Mutex<Option<&'static str>>,
    removing: Mutex<bool>,
}

fn not_asked<T>() -> Result<T> {
    Err(Error::internal("the dispatcher does not call this"))
}

#[async_trait]
impl EventLog for World {
    async fn events(&self, _: Slug, reach: EventRange, limit: usize) -> Result<EventsPage> {
        let EventRange::After(had) = reach else { return not_asked() };
        let events = self.events.lock().iter().filter(|e| !had.has(e.id)).cloned().collect();
        let page = EventsPage::after(had, events, limit);
        let late = if page.events.is_empty() { self.late.lock().take() } else { None };
        if let Some(late) = late {
            late();
            tokio::task::yield_now().await;
        }
        Ok(page)
    }
}

impl World {
    fn change(&self, id: HookId, change: impl FnOnce(&mut Hook)) -> bool {
        let mut hooks = self.hooks.lock();
        let found = hooks.iter_mut().find(|(hook, _)| hook.id == id);
        found.map(|(hook, _)| change(hook)).is_some()
    }
}

#[async_trait]
impl HookStore for World {
    async fn add(&self, _: NewHook) -> Result<Hook> {
        not_asked()
    }
    async fn list(&self) -> Result<Vec<(Hook, HookSecret)>> {
        Ok(self.hooks.lock().clone())
    }
    async fn remove(&self, id: HookId) -> Result<bool> {
        self.hooks.lock().retain(|(hook, _)| hook.id != id);
        Ok(true)
    }
    async fn advance(&self, id: HookId, cursor: Cursor) -> Result<bool> {
        Ok(self.change(id, |hook| {
            hook.cursor = cursor;
            hook.delivery = DeliveryStatus::Healthy;
        }))
    }
    async fn note(&self, id: HookId, delivery: DeliveryStatus) -> Result<bool> {
        Ok(self.change(id, |hook| hook.delivery = delivery))
    }
}

#[async_trait]
impl Deliver for World {
    fn check(&self, _: &HookUrl) -> Result<()> {
        not_asked()
    }
    async fn deliver(&self, delivery: Delivery) -> DeliveryOutcome {
        let is_unresponsive =
            self.unresponsive.lock().is_some_and(|part| delivery.url.as_str().contains(part));
        self.got.lock().push(delivery);
        if is_unresponsive {
            std::future::pending::<()>().await;
        }
        if *self.removing.lock() {
            self.hooks.lock().clear();
        }
        self.answers.lock().pop_front().unwrap_or(DeliveryOutcome::Taken)
    }
}

/// The ports, their clock and a dispatcher.
struct Stage {
    world: Arc<World>,
    clock: Arc<ManualClock>,
    courier: HookDispatcher,
}

fn rendered(_: &Slug, event: &BoardEvent) -> Vec<u8> {
    let BoardEventContent::Message { body, .. } = &event.content else { return Vec::new() };
    body.as_ref().map_or_else(|| b"hidden".to_vec(), |body| body.as_str().into())
}

impl Stage {
    /// A stage with `count` hooks of the lobby.
    fn with_hooks(count: i64) -> Self {
        let (world, clock) = (Arc::new(World::default()), Arc::new(ManualClock::at(at(0))));
        for number in 1..=count {
            let hook = Hook {
                id: HookId(number),
                channel: Slug::lobby(),
                url: HookUrl::parse(&format!("https://r{number}.example/")).unwrap(),
                created_at: at(0),
                cursor: Cursor::default(),
                delivery: DeliveryStatus::Healthy,
            };
            world.hooks.lock().push((hook, HookSecret::draw(&OsRandom)));
        }
        let ports = HookPorts {
            hooks: Arc::clone(&world) as _,
            log: Arc::clone(&world) as _,
            deliver: Arc::clone(&world) as _,
            clock: Arc::clone(&clock) as _,
            random: Arc::new(OneByte(0xff)),
        };
        Self { world, clock, courier: HookDispatcher::new(ports, rendered) }
    }

    /// Adds the messages 1 to `count`.
    fn with_messages(self, count: u64) -> Self {
        (1..=count).for_each(|seq| self.world.events.lock().push(message(seq)));
        self
    }

    /// Wakes the dispatcher up once and runs it to the end.
    async fn look(&self) {
        self.courier.run(stream::iter([HookWakeup::Everywhere])).await;
    }

    /// Wakes the dispatcher up once and runs it until it has to wait.
    fn look_without_waiting(&self) {
        assert!(self.look().now_or_never().is_none(), "nothing waits");
    }

    fn answer(&self, answers: impl IntoIterator<Item = DeliveryOutcome>) {
        self.world.answers.lock().extend(answers);
    }

    /// The ids and bodies of the deliveries so far.
    fn got(&self) -> Vec<(String, String)> {
        let text = |body: &[u8]| String::from_utf8(body.to_vec()).unwrap();
        let got = self.world.got.lock();
        got.iter().map(|delivery| (delivery.id.clone(), text(&delivery.body))).collect()
    }

    fn hook(&self) -> Hook {
        self.world.hooks.lock()[0].0.clone()
    }
}

fn at(second: i64) -> Timestamp {
    Timestamp::from_second(1_767_225_600 + second).unwrap()
}

fn message(seq: u64) -> BoardEvent {
    let what = BoardEventContent::Message {
        body: Some(Body::parse(&seq.to_string()).unwrap()),
        reply_to: None,
        picture: None,
        visibility: Visibility::Shown,
    };
    let (id, at) = (format!("7:{seq}"), Stamp::stored(i64::try_from(seq).unwrap()));
    BoardEvent { id: id.parse().unwrap(), at, by: Profile::of_member(1), content: what }
}

fn pair(seq: u64) -> (String, String) {
    (format!("lobby/7:{seq}"), seq.to_string())
}

fn failed() -> DeliveryOutcome {
    DeliveryOutcome::Failed("it answered 500".to_owned())
}

#[tokio::test]
async fn events_arrive_in_order_and_the_cursor_advances() {
    let stage = Stage::with_hooks(1).with_messages(3);
    stage.look().await;
    assert_eq!(stage.got(), [pair(1), pair(2), pair(3)]);
    assert_eq!(stage.hook().cursor.to_string(), "7:3");
    stage.look().await;
    assert_eq!(stage.got().len(), 3, "nothing comes twice");
    stage.world.events.lock().push(message(4));
    let elsewhere = HookWakeup::Channel(Slug::parse("elsewhere").unwrap());
    stage.courier.run(stream::iter([elsewhere, HookWakeup::Everywhere])).await;
    assert_eq!(stage.got()[3..], [pair(4)]);
}

#[tokio::test]
async fn each_try_is_signed_with_its_own_timestamp() {
    let stage = Stage::with_hooks(1).with_messages(1);
    stage.answer([failed()]);
    stage.look().await;
    stage.clock.advance_seconds(3_600);
    stage.look().await;
    let secret = stage.world.hooks.lock()[0].1.clone();
    let got = stage.world.got.lock();
    assert_eq!([got[0].timestamp_s, got[1].timestamp_s], [0, 3_600].map(|s| at(s).as_second()));
    for delivery in got.iter() {
        let signature = secret.sign("lobby/7:1", delivery.timestamp_s, b"1");
        assert_eq!(delivery.signature, signature);
    }
    assert_ne!(got[0].signature, got[1].signature);
}

#[tokio::test]
async fn a_failed_delivery_is_retried_with_the_same_id_and_growing_backoff() {
    let stage = Stage::with_hooks(1).with_messages(2);
    let pauses_s = [10, 20, 40, 80, 160, 320, 640, 1_280, 2_560, 3_600, 3_600];
    stage.answer(pauses_s.map(|_| failed()));
    for (tries, pause_s) in (1..).zip(pauses_s) {
        stage.look().await;
        stage.clock.advance_seconds(pause_s - 1);
        stage.look().await;
        assert_eq!(stage.got(), vec![pair(1); tries], "not before {pause_s} s have passed");
        stage.clock.advance_seconds(1);
    }
    stage.look().await;
    assert_eq!(stage.got()[pauses_s.len()..], [pair(1), pair(2)]);
    let hook = stage.hook();
    assert_eq!(
        (hook.delivery, hook.cursor.to_string()),
        (DeliveryStatus::Healthy, "7:2".to_owned())
    );
}

#[test]
fn the_backoff_has_jitter() {
    let pauses_s = |random| [1, 2, 10, u32::MAX].map(|n| dispatcher::backoff(n, &random).as_secs());
    assert_eq!(pauses_s(OneByte(0)), [5, 10, 1_800, 1_800]);
    assert_eq!(pauses_s(OneByte(0xff)), [10, 20, 3_600, 3_600]);
}

#[tokio::test]
async fn three_days_of_failures_disable_a_hook_and_say_why() {
    let stage = Stage::with_hooks(1).with_messages(1);
    stage.answer([failed(), failed()]);
    stage.look().await;
    stage.clock.advance_seconds(3 * 24 * 60 * 60 - 1);
    stage.look().await;
    let DeliveryStatus::Failing { failures: 2, since, .. } = stage.hook().delivery else {
        panic!("{:?}", stage.hook())
    };
    assert_eq!(since, at(0));
    stage.clock.advance_seconds(3_601);
    stage.answer([failed()]);
    stage.look().await;
    let DeliveryStatus::Disabled { at: disabled_at, why } = stage.hook().delivery else {
        panic!("{:?}", stage.hook())
    };
    assert_eq!(disabled_at, stage.clock.now());
    assert_eq!(why, "3 deliveries failed in a row, for three days; last error: it answered 500");
    stage.clock.advance_seconds(1_000_000);
    stage.look().await;
    assert_eq!(stage.got().len(), 3);
}

#[tokio::test]
async fn a_receiver_that_answered_410_gets_nothing_more() {
    let stage = Stage::with_hooks(1).with_messages(2);
    stage.answer([DeliveryOutcome::Unwanted]);
    stage.look().await;
    stage.clock.advance_seconds(1_000_000);
    stage.look().await;
    assert_eq!(stage.got(), [pair(1)]);
    assert!(matches!(stage.hook().delivery, DeliveryStatus::Disabled { .. }));
}

#[tokio::test]
async fn a_message_that_was_hidden_before_a_retry_is_redacted() {
    let stage = Stage::with_hooks(1).with_messages(1);
    stage.answer([failed()]);
    stage.look().await;
    if let BoardEventContent::Message { body, .. } = &mut stage.world.events.lock()[0].content {
        *body = None;
    }
    stage.clock.advance_seconds(60);
    stage.look().await;
    assert_eq!(stage.got(), [pair(1), ("lobby/7:1".to_owned(), "hidden".to_owned())]);
}

#[tokio::test]
async fn an_unresponsive_receiver_delays_no_other() {
    let stage = Stage::with_hooks(3).with_messages(2);
    *stage.world.unresponsive.lock() = Some("r2.");
    stage.look_without_waiting();
    let hooks = stage.world.hooks.lock();
    let taken: Vec<_> = hooks.iter().map(|(hook, _)| hook.cursor.to_string()).collect();
    assert_eq!(taken, ["7:2", "", "7:2"]);
}

#[tokio::test]
async fn deliveries_in_flight_are_bounded_and_one_for_each_hook() {
    for (hooks, under_way) in [(3, 3), (10, 8)] {
        let stage = Stage::with_hooks(hooks).with_messages(2);
        *stage.world.unresponsive.lock() = Some("example");
        let looks =
            [HookWakeup::Everywhere, HookWakeup::Everywhere, HookWakeup::Channel(Slug::lobby())];
        assert!(stage.courier.run(stream::iter(looks)).now_or_never().is_none());
        let got = stage.world.got.lock();
        let receivers: BTreeSet<_> = got.iter().map(|got| got.url.as_str()).collect();
        assert_eq!((got.len(), receivers.len()), (under_way, under_way));
    }
}

#[tokio::test]
async fn an_abandoned_delivery_is_sent_again() {
    let stage = Stage::with_hooks(1).with_messages(2);
    *stage.world.unresponsive.lock() = Some("r1.");
    stage.look_without_waiting();
    *stage.world.unresponsive.lock() = None;
    stage.look().await;
    assert_eq!(stage.got(), [pair(1), pair(1), pair(2)]);
}

#[tokio::test]
async fn an_event_during_a_delivery_is_sent_too() {
    let stage = Stage::with_hooks(1).with_messages(1);
    let (sender, looks) = mpsc::unbounded();
    let world = Arc::clone(&stage.world);
    sender.unbounded_send(HookWakeup::Everywhere).unwrap();
    let late = move || {
        world.events.lock().push(message(2));
        sender.unbounded_send(HookWakeup::Channel(Slug::lobby())).unwrap();
    };
    *stage.world.late.lock() = Some(Box::new(late));
    stage.courier.run(looks).await;
    assert_eq!(stage.got(), [pair(1), pair(2)]);
}

#[tokio::test]
async fn a_removed_hook_gets_nothing_more() {
    let stage = Stage::with_hooks(1).with_messages(2);
    *stage.world.removing.lock() = true;
    stage.look().await;
    stage.courier.run(stream::iter([HookWakeup::Channel(Slug::lobby())])).await;
    assert_eq!(stage.got(), [pair(1)]);
}
