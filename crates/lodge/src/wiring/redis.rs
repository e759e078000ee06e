//! Wiring of Redis: copies of links, and of sessions.

use std::{sync::Arc, time::Duration};

use anyhow::{Context, Result};
use lodge_domain::{Clock, accounts::Backend, secret::InstallationSecret};
use lodge_engines::redis::{Login, Options, Redis};
use lodge_local::CopiedSessions;

use super::{
    engine::with_causes,
    setting_file::{describe_setting, secret_file, tls},
};
use crate::config::{Config, RedisConfig, Writes};

/// Connections per Redis master for writes that wait for a replica (WAIT).
const WRITERS: usize = 4;

/// Copies of sessions in Redis, in front of the accounts of this process.
pub(super) struct SessionCopies {
    redis: Redis,
    pub(super) backend: Arc<CopiedSessions>,
}

impl SessionCopies {
    /// Puts copies in front of `accounts`, if they are configured.
    pub(super) fn open(
        config: &Config,
        accounts: Arc<dyn Backend>,
        secret: InstallationSecret,
        clock: Arc<dyn Clock>,
    ) -> Result<Option<Self>> {
        if !config.copies_sessions() {
            return Ok(None);
        }
        let redis = Redis::new(options(config, &config.mariadb.database, 0)?)?;
        let copies = redis.session_copies(Duration::from_secs(config.accounts.session_cache_s));
        let backend = CopiedSessions::new(accounts, copies, secret, clock);
        Ok(Some(Self { redis, backend: Arc::new(backend) }))
    }

    /// Follows the masters and the change feed; never returns.
    pub(super) async fn follow(&self) {
        tokio::join!(self.redis.follow(), self.backend.follow());
    }
}

/// Returns Redis for copies of links, if it is configured.
pub(super) fn for_links(config: &Config) -> Result<Option<Redis>> {
    if !config.redis.is_used() {
        return Ok(None);
    }
    let writers = if config.links.writes == Writes::Behind { WRITERS } else { 0 };
    Ok(Some(Redis::new(options(config, &config.cassandra.keyspace, writers)?)?))
}

/// Tests the connections to the sentinels and the masters, if this process uses them.
pub(crate) async fn probe_redis(config: &Config) -> Option<Result<String>> {
    let is_used = config.copies_sessions() || config.copies_links();
    if !is_used {
        return None;
    }
    Some(probe(config).await)
}

async fn probe(config: &Config) -> Result<String> {
    let masters = Redis::probe(options(config, "", 0)?).await;
    let masters = masters.map_err(|error| with_causes("Redis", error));
    let masters =
        masters.with_context(|| describe_setting("redis.sentinels", &config.redis.sentinels))?;
    Ok(format!("Redis: connected; {}", masters.join("; ")))
}

/// `database` distinguishes deployments that share servers.
fn options(config: &Config, database: &str, writers: usize) -> Result<Options> {
    let redis: &RedisConfig = &config.redis;
    let login = |user: &str, key, file| -> Result<Login> {
        let password = secret_file(key, file)?.map(Into::into);
        Ok(Login { username: user.to_owned(), password })
    };
    let file = &redis.sentinel_password_file;
    Ok(Options {
        sentinels: redis.sentinels.clone(),
        masters: redis.masters.clone(),
        login: login(&redis.username, "redis.password_file", &redis.password_file)?,
        sentinel_login: login(&redis.sentinel_username, "redis.sentinel_password_file", file)?,
        tls: tls(redis.tls, "redis.ca_file", &redis.ca_file)?,
        deadline: Duration::from_millis(redis.deadline_ms),
        writers,
        prefix: format!("{database}:"),
    })
}
