//! One server: a connection while there is one, and whether it is worth asking.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};

use redis::{
    FromRedisValue, PushInfo, PushKind, RedisError, RedisResult, ServerErrorKind,
    aio::MultiplexedConnection,
};
use tokio::sync::Notify;

use super::options::{Address, Options, connection};

/// For how many deadlines answers may stay away before a server is left alone until it is well again: one
/// that is busy for a moment keeps everybody waiting who asks in that moment.
const LATE_MAX: u32 = 3;

/// Where a process hears that somebody has changed something.
const CHANGED: &str = "changed";

/// An open connection to a server. It is given up when it breaks, or when answers stay away: then it is
/// dialled anew by whoever watches, not by those who ask.
pub(super) struct Node {
    pub(super) address: Address,
    connection: MultiplexedConnection,
    dialled: Instant,
    /// Since when answers have stayed away, in microseconds since it was dialled; 0 if they come.
    late_since: AtomicU64,
    patience: Duration,
    is_lost: Arc<AtomicBool>,
    trouble: Arc<Notify>,
}

impl Node {
    /// Connects, and sees that an answer comes. `trouble` is notified when the connection is given up,
    /// `nudge` when the server says that something has changed.
    pub(super) async fn dial(
        options: &Options,
        address: Address,
        trouble: Arc<Notify>,
        nudge: Arc<Notify>,
    ) -> RedisResult<Self> {
        let is_lost = Arc::new(AtomicBool::new(false));
        let (lost, troubled) = (Arc::clone(&is_lost), Arc::clone(&trouble));
        let heard = move |push: PushInfo| -> Result<(), std::convert::Infallible> {
            match push.kind {
                PushKind::Disconnection => {
                    lost.store(true, Ordering::Release);
                    troubled.notify_one();
                }
                PushKind::Message => nudge.notify_one(),
                _ => {}
            }
            Ok(())
        };
        let settings = connection(options.deadline).set_push_sender(heard);
        let connection = options
            .server(&address)?
            .get_multiplexed_async_connection_with_config(&settings)
            .await?;
        let (dialled, late_since) = (Instant::now(), AtomicU64::new(0));
        let patience = LATE_MAX * options.deadline;
        Ok(Self { address, connection, dialled, late_since, patience, is_lost, trouble })
    }

    /// Has it tell of changes.
    pub(super) async fn listen(&self, prefix: &str) -> RedisResult<()> {
        self.connection.clone().subscribe(channel(prefix)).await
    }

    /// Whether it is a master by its own account.
    pub(super) async fn is_master(&self) -> RedisResult<bool> {
        let role: Vec<redis::Value> = self.ask(&redis::cmd("ROLE")).await?;
        let first = role.into_iter().next().map(String::from_redis_value).transpose()?;
        Ok(first.as_deref() == Some("master"))
    }

    /// What tells this run of the server from any other.
    pub(super) async fn run_id(&self) -> RedisResult<String> {
        let info: redis::InfoDict = self.ask(redis::cmd("INFO").arg("server")).await?;
        let missing = || (redis::ErrorKind::UnexpectedReturnType, "INFO names no run_id").into();
        info.get("run_id").ok_or_else(missing)
    }

    /// Whether it is worth asking.
    pub(super) fn is_well(&self) -> bool {
        !self.is_lost.load(Ordering::Acquire)
    }

    /// Asks one thing.
    pub(super) async fn ask<T: FromRedisValue>(&self, command: &redis::Cmd) -> RedisResult<T> {
        let answer = command.query_async(&mut self.connection.clone()).await;
        self.judged(answer)
    }

    /// Asks several things in their order.
    pub(super) async fn ask_all<T: FromRedisValue>(
        &self,
        pipe: &redis::Pipeline,
    ) -> RedisResult<T> {
        let answer = pipe.query_async(&mut self.connection.clone()).await;
        self.judged(answer)
    }

    /// Runs a script.
    pub(super) async fn run<T: FromRedisValue>(
        &self,
        script: &redis::ScriptInvocation<'_>,
    ) -> RedisResult<T> {
        let answer = script.invoke_async(&mut self.connection.clone()).await;
        self.judged(answer)
    }

    fn judged<T>(&self, answer: RedisResult<T>) -> RedisResult<T> {
        match &answer {
            Ok(_) => self.late_since.store(0, Ordering::Relaxed),
            Err(error) if error.is_timeout() => {
                if self.late_for() >= self.patience {
                    self.give_up(error);
                }
            }
            Err(error) if is_fatal(error) => self.give_up(error),
            Err(_) => {}
        }
        answer
    }

    /// How long answers have stayed away, now that another has.
    fn late_for(&self) -> Duration {
        let now = u64::try_from(self.dialled.elapsed().as_micros()).unwrap_or(u64::MAX).max(1);
        let (relaxed, late_since) = (Ordering::Relaxed, &self.late_since);
        let since = late_since.compare_exchange(0, now, relaxed, relaxed).err();
        since.map_or(Duration::ZERO, |since| Duration::from_micros(now.saturating_sub(since)))
    }

    fn give_up(&self, error: &RedisError) {
        if !self.is_lost.swap(true, Ordering::AcqRel) {
            tracing::warn!(server = %self.address, %error, "a Redis server is left alone until it is well");
        }
        self.trouble.notify_one();
    }
}

/// The channel on which changes are told.
pub(super) fn channel(prefix: &str) -> String {
    format!("{prefix}{CHANGED}")
}

/// Whether another server has to be found: this one is gone, or is no master any more, or may not take
/// writes because its replicas are gone.
fn is_fatal(error: &RedisError) -> bool {
    use redis::ErrorKind::Server;
    error.is_connection_dropped()
        || error.is_io_error()
        || matches!(
            error.kind(),
            Server(
                ServerErrorKind::ReadOnly
                    | ServerErrorKind::MasterDown
                    | ServerErrorKind::BusyLoading
            )
        )
        || error.code() == Some("NOREPLICAS")
}
