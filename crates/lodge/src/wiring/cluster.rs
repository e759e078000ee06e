//! Wiring of the scaled-out engines: Redis in front of Cassandra, RabbitMQ for write-behind.

use std::{sync::Arc, time::Duration};

use anyhow::{Context, Result};
use async_trait::async_trait;
use futures_util::future::{BoxFuture, OptionFuture};
use lodge_domain::{
    OsRandom, Random, SystemClock,
    links::{
        self,
        moving::{Move, Pace},
    },
};
use lodge_engines::{
    cassandra::{Cassandra, Login as CassandraLogin, Options as CassandraOptions},
    rabbitmq,
    write_behind::{DrainWorker, LinkQueue, WriteBehind},
};
use lodge_local::{CachedKeys, CachedLinks};
use lodge_sqlite::MovingFolder;
use uuid::Uuid;

use super::{
    engine::{Engine, Engines, with_causes},
    redis,
    setting_file::{describe_setting, secret_file, tls},
    stores::{LinkPorts, cache_bytes},
};
use crate::config::{CassandraConfig, Config, Role, Writes, stores::LinkStore};

/// Connects to Cassandra, with Redis as a cache in front of it if configured. `accounts` is the id of the accounts to
/// which the links refer by number.
pub(super) async fn links(
    config: &Config,
    engines: &mut Engines,
    accounts: Option<[u8; 32]>,
) -> Result<LinkPorts> {
    let options = cassandra_options(config)?;
    if options.copies < 3 {
        tracing::warn!(
            copies = options.copies,
            "cassandra.copies is below 3: while one Cassandra node is down, reads and writes fail, and acknowledged \
             writes may be lost"
        );
    }
    let redis = redis::for_links(config)?;
    let queue = queue(config)?;
    let cluster =
        Cassandra::connect(&options).await.map_err(|error| with_causes("Cassandra", error))?;
    cluster.store_mode(config.links.mode).await.map_err(|error| with_causes("Cassandra", error))?;
    if let Some(accounts) = accounts {
        cluster
            .store_accounts_id(accounts)
            .await
            .map_err(|error| with_causes("Cassandra", error))?;
    }
    let (store, feed) = match &redis {
        Some(redis) => redis.in_front_of(cluster.links()),
        None => cluster.links(),
    };
    let behind = redis.zip(queue).map(|(redis, queue)| {
        let (store, held) = (Arc::clone(&store), redis.pending_writes());
        WriteBehind { store, pending: held, queue, clock: Arc::new(SystemClock) }
    });
    let (links, kept): (Arc<dyn links::LinkStore>, _) = match &behind {
        Some(behind) => (Arc::new(behind.clone()), WRITE_BEHIND_CACHE_TTL),
        None => (store, CachedLinks::KEPT),
    };
    let mut fresh = [0; 32];
    OsRandom.fill(&mut fresh);
    let ports = LinkPorts {
        links: Arc::new(CachedLinks::with_feed(links, cache_bytes(config), feed, kept)),
        clicks: cluster.clicks(),
        keys: Arc::new(CachedKeys::new(cluster.keys())),
        key_sessions: cluster.key_sessions(),
        secret: cluster.secret(fresh).await.map_err(|error| with_causes("Cassandra", error))?,
        write_behind: behind.map(|behind| write_behind_tasks(behind, config)),
    };
    engines.add(CassandraEngine(cluster));
    Ok(ports)
}

/// Cassandra as an [`Engine`]: it is backed up with its own tools, and TTLs remove expired rows.
struct CassandraEngine(Cassandra);

#[async_trait]
impl Engine for CassandraEngine {
    fn name(&self) -> &'static str {
        "Cassandra"
    }

    async fn replace_secret(&self) -> lodge_domain::Result<()> {
        let mut fresh = [0; 32];
        OsRandom.fill(&mut fresh);
        self.0.replace_secret(fresh).await
    }
}

/// The TTL of cached links with write-behind: the change feed has only writes that are stored already.
const WRITE_BEHIND_CACHE_TTL: Duration = Duration::from_millis(800);

/// Returns the background work of write-behind: upkeep of pending writes and, on a worker, the drain.
fn write_behind_tasks(behind: WriteBehind, config: &Config) -> BoxFuture<'static, ()> {
    let works = config.roles.contains(&Role::Worker);
    let at_once = config.rabbitmq.store_at_once;
    let drain = works.then(|| DrainWorker::new(behind.clone(), Uuid::new_v4(), at_once));
    Box::pin(async move {
        let drained = OptionFuture::from(drain.as_ref().map(DrainWorker::run));
        tokio::join!(behind.run_background(), drained);
    })
}

/// Tests the connection to each configured server, without writing to it. Returns one result per server.
pub(crate) async fn probe(config: &Config) -> Vec<Result<String>> {
    if !config.uses_link_store(LinkStore::Cassandra) {
        return Vec::new();
    }
    let mut found = vec![probe_cassandra(config).await];
    if config.links.writes == Writes::Behind {
        found.push(probe_rabbitmq(config).await);
    }
    found
}

async fn probe_cassandra(config: &Config) -> Result<String> {
    let nodes = Cassandra::probe(&cassandra_options(config)?).await;
    let nodes = nodes.map_err(|error| with_causes("Cassandra", error));
    let nodes =
        nodes.with_context(|| describe_setting("cassandra.nodes", &config.cassandra.nodes))?;
    Ok(format!("Cassandra: connected; the cluster has {nodes} nodes"))
}

async fn probe_rabbitmq(config: &Config) -> Result<String> {
    let node = rabbitmq::probe(&rabbitmq_options(config)?).await;
    let node = node.map_err(|error| with_causes("RabbitMQ", error));
    let node = node.with_context(|| describe_setting("rabbitmq.nodes", &config.rabbitmq.nodes))?;
    Ok(format!("RabbitMQ: connected to {node}"))
}

/// Prepares a move of all links in `folder` to the configured Cassandra.
pub(super) async fn moving(config: &Config, folder: Arc<MovingFolder>) -> Result<Move> {
    let cluster = Cassandra::connect(&cassandra_options(config)?).await;
    let cluster = cluster.map_err(|error| with_causes("Cassandra", error))?;
    cluster.store_mode(config.links.mode).await.map_err(|error| with_causes("Cassandra", error))?;
    let (destination, read_back) = cluster.moving(config.links.mode);
    Ok(Move { source: folder, destination, read_back, pace: Pace::default() })
}

fn cassandra_options(config: &Config) -> Result<CassandraOptions> {
    let cassandra: &CassandraConfig = &config.cassandra;
    let password = secret_file("cassandra.password_file", &cassandra.password_file)?;
    let login = password.map(|password| CassandraLogin {
        username: cassandra.username.clone(),
        password: password.into(),
    });
    Ok(CassandraOptions {
        nodes: cassandra.nodes.clone(),
        keyspace: cassandra.keyspace.clone(),
        copies: cassandra.copies,
        login,
        tls: tls(cassandra.tls, "cassandra.ca_file", &cassandra.ca_file)?,
    })
}

fn queue(config: &Config) -> Result<Option<Arc<dyn LinkQueue>>> {
    if config.links.writes == Writes::Through {
        return Ok(None);
    }
    Ok(Some(rabbitmq::queue(rabbitmq_options(config)?)))
}

fn rabbitmq_options(config: &Config) -> Result<rabbitmq::Options> {
    let rabbit = &config.rabbitmq;
    let password = secret_file("rabbitmq.password_file", &rabbit.password_file)?;
    Ok(rabbitmq::Options {
        nodes: rabbit.nodes.clone(),
        vhost: rabbit.vhost.clone(),
        username: rabbit.username.clone(),
        password: password.unwrap_or_default().into(),
        tls: tls(rabbit.tls, "rabbitmq.ca_file", &rabbit.ca_file)?,
        queue: format!("{}.links", config.cassandra.keyspace),
        copies: rabbit.copies,
        length_max: rabbit.queue_max,
    })
}
