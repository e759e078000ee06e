//! A connection to one server, and whether it is usable.

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

/// Multiple of the deadline after which a server without answers is not used until it recovers: one that
/// is busy for a moment delays only the callers of that moment.
const LATE_MAX: u32 = 3;

/// The channel on which a process learns that another has changed a link.
const CHANGED: &str = "changed";

/// An open connection to a server. It is given up when it breaks or answers time out; then the watch task
/// reconnects, not the callers.
pub(super) struct Node {
    pub(super) address: Address,
    connection: MultiplexedConnection,
    dialled: Instant,
    /// The first of the timeouts in a row, in microseconds since `dialled`; 0 if the last answer came.
    late_since: AtomicU64,
    patience: Duration,
    is_lost: Arc<AtomicBool>,
    trouble: Arc<Notify>,
}

impl Node {
    /// Connects. `trouble` is notified when the connection is given up, `nudge` when another process
    /// publishes a change.
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

    /// Subscribes to the changes that other processes publish.
    pub(super) async fn subscribe(&self, prefix: &str) -> RedisResult<()> {
        self.connection.clone().subscribe(channel(prefix)).await
    }

    /// Whether the server itself says that it is a master.
    pub(super) async fn is_master(&self) -> RedisResult<bool> {
        let role: Vec<redis::Value> = self.run_command(&redis::cmd("ROLE")).await?;
        let first = role.into_iter().next().map(String::from_redis_value).transpose()?;
        Ok(first.as_deref() == Some("master"))
    }

    /// The server's run id, which a restart changes.
    pub(super) async fn run_id(&self) -> RedisResult<String> {
        let info: redis::InfoDict = self.run_command(redis::cmd("INFO").arg("server")).await?;
        let missing = || (redis::ErrorKind::UnexpectedReturnType, "INFO has no run_id").into();
        info.get("run_id").ok_or_else(missing)
    }

    /// Whether the connection is usable.
    pub(super) fn is_usable(&self) -> bool {
        !self.is_lost.load(Ordering::Acquire)
    }

    /// Runs one command.
    pub(super) async fn run_command<T: FromRedisValue>(
        &self,
        command: &redis::Cmd,
    ) -> RedisResult<T> {
        let answer = command.query_async(&mut self.connection.clone()).await;
        self.check_result(answer)
    }

    /// Runs several commands in order.
    pub(super) async fn run_pipeline<T: FromRedisValue>(
        &self,
        pipe: &redis::Pipeline,
    ) -> RedisResult<T> {
        let answer = pipe.query_async(&mut self.connection.clone()).await;
        self.check_result(answer)
    }

    /// Runs a script.
    pub(super) async fn run_script<T: FromRedisValue>(
        &self,
        script: &redis::ScriptInvocation<'_>,
    ) -> RedisResult<T> {
        let answer = script.invoke_async(&mut self.connection.clone()).await;
        self.check_result(answer)
    }

    fn check_result<T>(&self, answer: RedisResult<T>) -> RedisResult<T> {
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

    /// Records a timeout; returns how long ago the first of the timeouts in a row was.
    fn late_for(&self) -> Duration {
        let now = u64::try_from(self.dialled.elapsed().as_micros()).unwrap_or(u64::MAX).max(1);
        let (relaxed, late_since) = (Ordering::Relaxed, &self.late_since);
        let since = late_since.compare_exchange(0, now, relaxed, relaxed).err();
        since.map_or(Duration::ZERO, |since| Duration::from_micros(now.saturating_sub(since)))
    }

    fn give_up(&self, error: &RedisError) {
        if !self.is_lost.swap(true, Ordering::AcqRel) {
            tracing::warn!(server = %self.address, %error, "a Redis server is not used until it recovers");
        }
        self.trouble.notify_one();
    }
}

/// The pub/sub channel of changes.
pub(super) fn channel(prefix: &str) -> String {
    format!("{prefix}{CHANGED}")
}

/// Whether another server must be found: this one is unreachable, is no longer a master, or refuses
/// writes because it has too few replicas.
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
