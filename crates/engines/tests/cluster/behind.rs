//! The contract with write-behind, and its failures.

use std::{sync::Arc, time::Duration};

use jiff::Timestamp;
use lapin::{
    BasicProperties, Channel, Connection, ConnectionProperties,
    options::{BasicPublishOptions, QueueDeclareOptions},
    types::FieldTable,
};
use lodge_contract::{
    Fixture, SpyLinkStore,
    samples::{at, fresh, link, target},
};
use lodge_domain::{
    Error, SystemClock,
    links::{Link, LinkStore, Short},
};
use lodge_engines::{
    rabbitmq,
    write_behind::{DrainWorker, PendingWrite, WriteBehind},
};
use lodge_testbed::Kind;
use tokio::task::JoinSet;
use uuid::Uuid;

use crate::{
    answer_proxy::AnswerProxy,
    cassandra::{connect, fixture},
    redis::{redis, within, within_a_second},
    testbed::{flush, layout, nodes},
};

const KEYSPACE: &str = "lodge_contract_behind";

/// A process with write-behind.
struct Process {
    links: WriteBehind,
    tasks: JoinSet<()>,
}

impl Process {
    /// Starts with a queue and keys of this name, so that no other process drains the queue.
    async fn start(name: &str) -> Self {
        Self::with(name, rabbit_options(name)).await
    }

    async fn with(name: &str, rabbit: rabbitmq::Options) -> Self {
        let (store, feed) = connect(KEYSPACE).await.links();
        let redis = redis(name);
        let (store, feed) = redis.in_front_of((store, feed));
        let (held, queue) = (redis.pending_writes(), rabbitmq::queue(rabbit));
        let links = WriteBehind { store, pending: held, queue, clock: Arc::new(SystemClock) };
        let (mut tasks, kept) = (JoinSet::new(), links.clone());
        tasks.spawn(async move { feed.run_background().await });
        tasks.spawn(async move { kept.run_background().await });
        let process = Self { links, tasks };
        let is_whole = async || matches!(process.links.pending.loss().await, Ok(None));
        within(Duration::from_secs(30), is_whole).await;
        process
    }

    /// Starts a worker.
    fn drain(&mut self) {
        self.drain_into(Arc::clone(&self.links.store));
    }

    fn drain_into(&mut self, store: Arc<dyn LinkStore>) {
        let drain =
            DrainWorker::new(WriteBehind { store, ..self.links.clone() }, Uuid::new_v4(), 16);
        self.tasks.spawn(async move { drain.run().await });
    }
}

pub(crate) fn rabbit_options(name: &str) -> rabbitmq::Options {
    let layout = layout(&[Kind::Rabbitmq]);
    rabbitmq::Options {
        nodes: nodes(Kind::Rabbitmq),
        vhost: "/".to_owned(),
        username: "lodge".to_owned(),
        password: layout.secret(Kind::Rabbitmq).unwrap().into(),
        tls: None,
        queue: format!("{name}.links"),
        copies: 3,
        length_max: 1_000,
    }
}

fn fresh_name() -> String {
    format!("lodge-behind-{}", Uuid::new_v4().simple())
}

async fn stores() -> (Fixture, Process) {
    let mut process = Process::start(KEYSPACE).await;
    process.drain();
    let links = Arc::new(process.links.clone());
    let fixture = fixture(&connect(KEYSPACE).await, links);
    (Fixture { stores_later: true, ..fixture }, process)
}

mod contract {
    lodge_contract::promises!(super::stores);
}

async fn stored(process: &Process, link: &Link) -> bool {
    let found = process.links.store.find(&link.short).await.unwrap();
    found.is_some_and(|found| found.target == link.target)
}

async fn is_let_go_of(process: &Process, short: &Short) -> bool {
    matches!(process.links.pending.find(short).await.unwrap(), PendingWrite::Stored(_))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_link_that_waits_to_be_stored_is_found() {
    let mut process = Process::start(&fresh_name()).await;
    let link = link(&fresh("waits"));
    process.links.replace(link.clone(), None).await.unwrap();
    assert!(!stored(&process, &link).await, "it was stored at once");
    let found = process.links.find(&link.short).await.unwrap().unwrap();
    assert_eq!((&found.target, found.id), (&link.target, link.id));
    assert_eq!(process.links.queue.waiting().await.unwrap(), 1);
    process.drain();
    within_a_second(async || stored(&process, &link).await).await;
    within_a_second(async || is_let_go_of(&process, &link.short).await).await;
    assert_eq!(process.links.find(&link.short).await.unwrap().unwrap().target, link.target);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_newest_pending_link_is_found_and_stored() {
    let mut process = Process::start(&fresh_name()).await;
    let first = Link { changed_at: at(10), ..link(&fresh("newest")) };
    let put = async |seconds: i64, url: &str| {
        let link = Link { changed_at: at(seconds), target: target(url), ..first.clone() };
        process.links.replace(link.clone(), None).await.unwrap();
        link
    };
    put(10, "https://first.example/").await;
    let newest = put(30, "https://newest.example/").await;
    put(20, "https://late.example/").await;
    assert_eq!(process.links.find(&first.short).await.unwrap().unwrap().target, newest.target);
    process.drain();
    within_a_second(async || stored(&process, &newest).await).await;
    within_a_second(async || is_let_go_of(&process, &first.short).await).await;
    assert!(stored(&process, &newest).await);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_older_pending_link_does_not_hide_a_newer_stored_one() {
    let process = Process::start(&fresh_name()).await;
    let old = Link { changed_at: at(10), ..link(&fresh("hidden")) };
    process.links.pending.add(&old).await.unwrap();
    assert_eq!(process.links.find(&old.short).await.unwrap().unwrap().target, old.target);
    let new = Link { changed_at: at(20), target: target("https://new.example/"), ..old.clone() };
    process.links.store.replace(new.clone(), None).await.unwrap();
    assert_eq!(process.links.find(&old.short).await.unwrap().unwrap().target, new.target);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn while_pending_links_may_be_lost_from_redis_no_link_is_reported_absent() {
    let name = fresh_name();
    let process = Process::start(&name).await;
    let waiting = link(&fresh("unseen"));
    process.links.replace(waiting.clone(), None).await.unwrap();
    flush(&name);
    let missing = process.links.find(&waiting.short).await;
    assert!(matches!(missing, Err(Error::Unavailable { .. })), "{missing:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn pending_links_are_complete_again_once_the_lost_ones_are_stored_even_while_more_are_put() {
    let name = fresh_name();
    let mut process = Process::start(&name).await;
    let is_absent =
        async |process: &Process| matches!(process.links.find(&fresh("absent")).await, Ok(None));
    within_a_second(async || is_absent(&process).await).await;
    flush(&name);
    assert!(!is_absent(&process).await);
    process.drain();
    let links = process.links.clone();
    process.tasks.spawn(async move {
        loop {
            let now = Timestamp::now();
            let link = Link { created_at: now, changed_at: now, ..link(&fresh("more")) };
            links.replace(link, None).await.unwrap();
        }
    });
    within(Duration::from_secs(90), async || is_absent(&process).await).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_link_that_the_queue_does_not_confirm_is_stored_before_it_is_acknowledged() {
    let name = fresh_name();
    let muffled = AnswerProxy::before(layout(&[Kind::Rabbitmq]).addresses(Kind::Rabbitmq)[0]).await;
    let nodes = vec![muffled.address.to_string()];
    let options = rabbitmq::Options { nodes, ..rabbit_options(&name) };
    let process = Process::with(&name, options).await;
    muffled.drop_answers();
    let link = link(&fresh("unconfirmed"));
    process.links.replace(link.clone(), None).await.unwrap();
    assert!(stored(&process, &link).await, "it was acknowledged without a confirm");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_queue_whose_creation_was_not_confirmed_counts_as_new() {
    let name = fresh_name();
    let proxy = AnswerProxy::before(layout(&[Kind::Rabbitmq]).addresses(Kind::Rabbitmq)[0]).await;
    let nodes = vec![proxy.address.to_string()];
    let options = rabbitmq::Options { nodes, ..rabbit_options(&name) };
    // Only the answer to the declaration has the name with its length before it.
    let length = u8::try_from(options.queue.len()).unwrap();
    proxy.lose_answer([&[length], options.queue.as_bytes()].concat());
    let process = Process::with(&name, options).await;
    assert!(proxy.has_lost_answer());
    assert!(process.links.find(&link(&fresh("unknown")).short).await.unwrap().is_none());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_later_loss_is_not_marked_complete() {
    let name = fresh_name();
    let process = Process::start(&name).await;
    let pending = &process.links.pending;
    flush(&name);
    let loss = pending.loss().await.unwrap().unwrap();
    within_a_second(async || Timestamp::now().as_millisecond() > loss.since.as_millisecond()).await;
    flush(&name);
    let later = pending.loss().await.unwrap().unwrap();
    pending.mark_complete(&loss).await.unwrap();
    assert_eq!(pending.loss().await.unwrap(), Some(later.clone()));
    pending.mark_complete(&later).await.unwrap();
    assert_eq!(pending.loss().await.unwrap(), None);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_link_in_flight_when_its_worker_ended_is_stored_by_another() {
    let name = fresh_name();
    let (mut first, mut second) = (Process::start(&name).await, Process::start(&name).await);
    let watched = SpyLinkStore::new(Arc::clone(&first.links.store));
    let _never = watched.hold_next_replacement();
    first.drain_into(Arc::clone(&watched) as Arc<dyn LinkStore>);
    let link = link(&fresh("in-hand"));
    second.links.replace(link.clone(), None).await.unwrap();
    within(Duration::from_secs(10), async || watched.replacements() == 1).await;
    drop(first);
    second.drain();
    within(Duration::from_secs(10), async || stored(&second, &link).await).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn links_past_the_queues_maximum_length_are_stored_at_once() {
    let name = fresh_name();
    let options = rabbitmq::Options { length_max: 2, ..rabbit_options(&name) };
    let process = Process::with(&name, options).await;
    let links: Vec<Link> = (0..8).map(|_| link(&fresh("bounded"))).collect();
    for link in &links {
        process.links.replace(link.clone(), None).await.unwrap();
    }
    let waiting = process.links.queue.waiting().await.unwrap();
    assert!(waiting < 8, "{waiting} wait");
    assert!(stored(&process, &links[7]).await, "it was acknowledged, and is lost");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_message_that_cannot_be_parsed_is_dead_lettered_and_does_not_block_the_queue() {
    let name = fresh_name();
    let mut process = Process::start(&name).await;
    let channel = raw_channel().await;
    let publish = BasicPublishOptions::default();
    let (queue, dead) = (format!("{name}.links"), format!("{name}.links.dead"));
    let properties = BasicProperties::default();
    let garbage = b"no link at all";
    let sent = channel.basic_publish("".into(), queue.into(), publish, garbage, properties).await;
    sent.unwrap().await.unwrap();
    let link = link(&fresh("after-garbage"));
    process.links.replace(link.clone(), None).await.unwrap();
    process.drain();
    within_a_second(async || stored(&process, &link).await).await;
    let is_buried = async || {
        let passive = QueueDeclareOptions { passive: true, ..QueueDeclareOptions::durable() };
        let queue = channel.queue_declare(dead.as_str().into(), passive, FieldTable::default());
        queue.await.unwrap().message_count() == 1
    };
    within(Duration::from_secs(5), is_buried).await;
}

/// A channel of the driver, to publish arbitrary messages.
async fn raw_channel() -> Channel {
    let layout = layout(&[Kind::Rabbitmq]);
    let (secret, node) =
        (layout.secret(Kind::Rabbitmq).unwrap(), layout.addresses(Kind::Rabbitmq)[0]);
    let uri = format!("amqp://lodge:{secret}@{node}/%2f");
    let connection = Connection::connect(&uri, ConnectionProperties::default()).await.unwrap();
    connection.create_channel().await.unwrap()
}
