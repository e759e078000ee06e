//! A thread's connection, which is replaced when it breaks.

use std::{
    sync::Arc,
    thread,
    time::{Duration, Instant},
};

use lodge_domain::{Error, OsRandom, Random as _, Result};
use lodge_sql::{Failure, Work};

use super::{
    commits::Commits,
    servers::{IDLE_TRANSACTION, Servers, Use},
    tx::MysqlTx,
};

/// The most runs of a transaction that the server rolls back for a deadlock or a lock timeout.
const TRIES: u32 = 8;

/// The most broken connections after which a transaction runs again: a statement that makes the server fail is sent to
/// few nodes.
const BREAKS_MAX: u32 = 2;

/// Time after which a transaction does not run again.
const AGAIN_FOR: Duration = Duration::from_secs(4);

/// The longest pause before the second run, which doubles for each further one: at two nodes of a cluster the loser does
/// not wait for the winner's lock.
const AGAIN_AFTER: Duration = Duration::from_millis(2);

/// Backoff between two tries to connect; meanwhile requests are refused.
const PAUSE_MIN: Duration = Duration::from_millis(50);
const PAUSE_MAX: Duration = Duration::from_secs(1);

/// How long the outcome of a COMMIT is looked up: longer than the server keeps a transaction whose client is gone.
const LOOKUP_WAIT: Duration = IDLE_TRANSACTION.saturating_add(Duration::from_secs(2));

/// Begins a transaction that writes.
const BEGIN: &str = "BEGIN";
/// Begins a transaction whose statements all read one snapshot, on a connection for reading.
const SNAPSHOT: &str = "START TRANSACTION WITH CONSISTENT SNAPSHOT, READ ONLY";

/// Why one run of a transaction failed.
enum RunError {
    Failure(Failure),
    /// The connection broke, or the COMMIT got lost; the transaction is rolled back.
    Broken(Error),
}

impl From<Failure> for RunError {
    fn from(failure: Failure) -> Self {
        Self::Failure(failure)
    }
}

impl From<Error> for RunError {
    fn from(error: Error) -> Self {
        Self::Failure(error.into())
    }
}

impl From<RunError> for Error {
    fn from(error: RunError) -> Self {
        match error {
            RunError::Failure(failure) => failure.into(),
            RunError::Broken(error) => error,
        }
    }
}

/// A connection that is opened when needed.
pub(super) struct Connection {
    servers: Arc<Servers>,
    of_use: Use,
    /// The number of the server that was used when the current connection was opened.
    server: usize,
    current: Option<MysqlTx>,
    commits: Commits,
    not_before: Option<Instant>,
    pause: Duration,
}

impl Connection {
    /// A connection that is opened when it is first used.
    pub(super) fn new(servers: Arc<Servers>, of_use: Use) -> Self {
        let commits = Commits::new();
        Self {
            servers,
            of_use,
            server: 0,
            current: None,
            commits,
            not_before: None,
            pause: PAUSE_MIN,
        }
    }

    /// Runs `work` in a transaction, again if the server rolls it back for a deadlock, or because the connection breaks
    /// before the COMMIT or with it.
    pub(super) fn write(&mut self, work: &Work) -> Result<()> {
        let (began, mut breaks) = (Instant::now(), 0);
        for run in 1..TRIES {
            let outcome = self.write_once(work);
            if began.elapsed() >= AGAIN_FOR {
                return Ok(outcome?);
            }
            match outcome {
                Err(RunError::Failure(Failure::Deadlock(cause))) => {
                    tracing::debug!(%cause, "a transaction is retried");
                    thread::sleep(pause(AGAIN_AFTER * 2_u32.pow(run - 1)));
                }
                Err(RunError::Broken(error)) if breaks < BREAKS_MAX => {
                    breaks += 1;
                    tracing::info!(%error, "MariaDB: a transaction whose connection broke is retried");
                }
                outcome => return Ok(outcome?),
            }
        }
        Ok(self.write_once(work)?)
    }

    fn write_once(&mut self, work: &Work) -> Result<(), RunError> {
        let mut link = self.begin(BEGIN)?;
        let numbered = work(&mut link).and_then(|()| self.commits.number(&mut link));
        if let Err(failure) = numbered {
            let is_broken = link.is_broken();
            self.roll_back(link);
            return Err(match failure {
                Failure::Error(error) if is_broken => RunError::Broken(error),
                failure => failure.into(),
            });
        }
        match link.run("COMMIT") {
            Ok(()) => self.current = Some(link),
            Err(Failure::Deadlock(cause)) => {
                self.roll_back(link);
                return Err(Failure::Deadlock(cause).into());
            }
            Err(Failure::Error(lost)) => {
                drop(link);
                let is_committed = self.was_committed()?;
                tracing::info!(error = %lost, is_committed, "the answer to a COMMIT was lost");
                if !is_committed {
                    return Err(RunError::Broken(lost));
                }
            }
        }
        Ok(())
    }

    /// Looks up whether the last transaction was committed, on new connections until one answers. Without an answer the
    /// transaction may still be committed later, so it must not run again.
    fn was_committed(&mut self) -> Result<bool> {
        let deadline = Instant::now() + LOOKUP_WAIT;
        loop {
            let found = self.open().and_then(|mut link| {
                let found = self.commits.was_committed(&mut link)?;
                self.current = Some(link);
                Ok(found)
            });
            match found {
                Ok(is_committed) => return Ok(is_committed),
                // The transaction holds its locks: its COMMIT is not done.
                Err(Failure::Deadlock(cause)) if Instant::now() > deadline => {
                    return Err(Error::unavailable(cause));
                }
                Err(Failure::Error(error)) if Instant::now() > deadline => return Err(error),
                Err(_) => {}
            }
            thread::sleep(PAUSE_MIN);
        }
    }

    /// Runs `work` without a transaction: each statement sees what was committed before it. Runs it once
    /// more if the connection turns out to be broken.
    pub(super) fn read(&mut self, work: &Work) -> Result<()> {
        if let Some(mut link) = self.take() {
            let outcome = work(&mut link);
            if !link.is_lost() {
                self.current = Some(link);
                return Ok(outcome?);
            }
        }
        let mut link = self.open()?;
        let outcome = work(&mut link);
        self.current = Some(link).filter(|link| !link.is_lost());
        Ok(outcome?)
    }

    /// Runs `work` on one snapshot, once more if the connection turns out to be broken.
    pub(super) fn snapshot(&mut self, work: &Work) -> Result<()> {
        let outcome = self.snapshot_once(work);
        let is_lost = outcome.is_err() && self.current.is_none();
        Ok(if is_lost { self.snapshot_once(work) } else { outcome }?)
    }

    fn snapshot_once(&mut self, work: &Work) -> Result<(), RunError> {
        let mut link = self.begin(SNAPSHOT)?;
        let outcome = work(&mut link);
        self.roll_back(link);
        Ok(outcome?)
    }

    /// Ends the transaction, and keeps the connection if it can still be used.
    fn roll_back(&mut self, mut link: MysqlTx) {
        if !link.is_lost() && link.run("ROLLBACK").is_ok() {
            self.current = Some(link);
        }
    }

    fn begin(&mut self, begin: &str) -> Result<MysqlTx, RunError> {
        if let Some(mut link) = self.take()
            && link.run(begin).is_ok()
        {
            return Ok(link);
        }
        // No connection was open, or the server closed it while it was idle; nothing has run.
        let mut link = self.open()?;
        match link.run(begin) {
            Err(Failure::Error(error)) if link.is_broken() => Err(RunError::Broken(error)),
            outcome => Ok(outcome.map(|()| link)?),
        }
    }

    /// Takes the open connection, unless another server is used now.
    fn take(&mut self) -> Option<MysqlTx> {
        let used = self.servers.used();
        self.current.take().filter(|_| self.server == used)
    }

    fn open(&mut self) -> Result<MysqlTx, Failure> {
        if self.not_before.is_some_and(|not_before| Instant::now() < not_before) {
            return Err(Error::unavailable("MariaDB could not be reached a moment ago").into());
        }
        match self.servers.connect(self.of_use) {
            Ok((connection, server)) => {
                (self.not_before, self.pause, self.server) = (None, PAUSE_MIN, server);
                Ok(MysqlTx::new(connection))
            }
            Err(error) => {
                self.not_before = Some(Instant::now() + self.pause);
                self.pause = PAUSE_MAX.min(2 * self.pause);
                tracing::warn!(%error, "MariaDB cannot be reached");
                Err(Error::unavailable(error).into())
            }
        }
    }
}

/// Returns a random part of a pause, at least half of it.
fn pause(longest: Duration) -> Duration {
    let mut byte = [0];
    OsRandom.fill(&mut byte);
    longest.mul_f64(0.5 + f64::from(byte[0]) / 512.0)
}
