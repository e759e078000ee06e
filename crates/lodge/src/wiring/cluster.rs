//! The scaled-out engines, one upon the other.

use std::{fs, sync::Arc, time::Duration};

use anyhow::{Context, Result};
use lodge_domain::{Error, OsRandom, Random};
use lodge_embedded::{CachedKeys, CachedLinks, Folder};
use lodge_engines::{
    cassandra::{Cassandra, Options as CassandraOptions},
    redis::{Login, Options as RedisOptions, Redis, Tls},
};

use super::{Engine, Ports, cache_bytes};
use crate::config::{CassandraConfig, Config, RedisConfig, Store, secret_file};

/// Connects to Cassandra, and puts Redis before it if there is to be one.
pub(super) async fn ports(config: &Config) -> Result<Ports> {
    let folder = Arc::new(Folder::lock(&config.data)?);
    let options = cassandra_options(config);
    if options.copies < 3 {
        tracing::warn!(
            copies = options.copies,
            "with fewer than three copies the loss of one Cassandra node refuses reads and writes, and may lose what was acknowledged"
        );
    }
    let redis = redis(config)?;
    let cluster =
        Cassandra::connect(&options).await.map_err(|error| explained("Cassandra", error))?;
    let links = cluster.links();
    let (links, feed) = match redis {
        Some(redis) => redis.before(links),
        None => links,
    };
    let mut fresh = [0; 32];
    OsRandom.fill(&mut fresh);
    Ok(Ports {
        links: Arc::new(CachedLinks::among_others(links, cache_bytes(config), feed)),
        clicks: cluster.clicks(),
        keys: Arc::new(CachedKeys::new(cluster.keys())),
        secret: cluster.secret(fresh).await.map_err(|error| explained("Cassandra", error))?,
        engine: Engine::Cassandra { _folder: folder },
    })
}

/// Says in plain words whether each server that the configuration names can be reached; nothing is
/// changed there.
pub(crate) async fn probe(config: &Config) -> Vec<Result<String>> {
    if config.links.store == Store::Embedded {
        return Vec::new();
    }
    let mut found = vec![
        Cassandra::probe(&cassandra_options(config))
            .await
            .map(|nodes| format!("Cassandra: reached; the cluster has {nodes} nodes"))
            .map_err(|error| explained("Cassandra", error)),
    ];
    if config.redis.is_used() {
        found.push(probe_redis(config).await);
    }
    found
}

async fn probe_redis(config: &Config) -> Result<String> {
    let masters = Redis::probe(redis_options(config)?).await;
    let masters = masters.map_err(|error| explained("Redis", error))?;
    Ok(format!("Redis: reached; {}", masters.join("; ")))
}

fn cassandra_options(config: &Config) -> CassandraOptions {
    let CassandraConfig { nodes, keyspace, copies } = config.cassandra.clone();
    CassandraOptions { nodes, keyspace, copies }
}

fn redis(config: &Config) -> Result<Option<Redis>> {
    if !config.redis.is_used() {
        return Ok(None);
    }
    Ok(Some(Redis::new(redis_options(config)?)?))
}

fn redis_options(config: &Config) -> Result<RedisOptions> {
    let redis: &RedisConfig = &config.redis;
    let login = |user: &str, key, file| -> Result<Login> {
        let password = secret_file(key, file)?.map(Into::into);
        Ok(Login { username: user.to_owned(), password })
    };
    let file = &redis.sentinel_password_file;
    Ok(RedisOptions {
        sentinels: redis.sentinels.clone(),
        masters: redis.masters.clone(),
        login: login(&redis.username, "redis.password_file", &redis.password_file)?,
        sentinel_login: login(&redis.sentinel_username, "redis.sentinel_password_file", file)?,
        tls: redis.tls.then(|| tls(redis)).transpose()?,
        deadline: Duration::from_millis(redis.deadline_ms),
        // The deployments that share a Cassandra differ in this.
        prefix: format!("{}:", config.cassandra.keyspace),
    })
}

fn tls(redis: &RedisConfig) -> Result<Tls> {
    let file = &redis.ca_file;
    if file.as_os_str().is_empty() {
        return Ok(Tls { authorities_pem: None });
    }
    let pem = fs::read(file)
        .with_context(|| format!("redis.ca_file: {} cannot be read", file.display()))?;
    Ok(Tls { authorities_pem: Some(pem) })
}

/// An operator may read the cause, which a caller may not.
fn explained(engine: &'static str, error: Error) -> anyhow::Error {
    match error {
        Error::Unavailable { cause, .. } | Error::Internal(cause) => {
            anyhow::anyhow!(cause).context(format!("{engine} cannot be used"))
        }
        error => error.into(),
    }
}
