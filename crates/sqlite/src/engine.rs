//! The open engine: starts and stops its threads in order.

use std::{
    path::{Path, PathBuf},
    sync::{
        Arc,
        mpsc::{Receiver, RecvTimeoutError, channel},
    },
    time::{Duration, Instant},
};

use lodge_domain::{
    Error,
    board::Origin,
    links::Mode,
    rides::{EXPORTS_MAX, SEARCHES_MAX},
    secret::InstallationSecret,
};
use lodge_sql::App;
use parking_lot::Mutex;
use rusqlite::Connection;
use uuid::Uuid;

use crate::{
    Options,
    checkpoints::{Checkpoints, LogLimits},
    connection,
    folder::{Folder, OpenError},
    installation, origins,
    readers::{self, Readers},
    rides::{Recorder, Searches, Thresholds, write_back::replay},
    writer::{Limits, Writer},
};

/// How long a lookup, a list or a page may take; nearly all take less than a millisecond.
const READ_TIME_MAX: Duration = Duration::from_secs(3);

/// How long a search of rides may take.
const SEARCH_TIME_MAX: Duration = Duration::from_secs(3);

/// How long a search of links or messages, which uses an index, may take.
const TEXT_SEARCH_TIME_MAX: Duration = Duration::from_secs(1);

/// Searches of links, and as many of messages, that may wait.
const TEXT_SEARCHES_MAX: usize = 32;

/// How long one page of an export, or one step of a job in the background, may take.
const EXPORT_TIME_MAX: Duration = Duration::from_secs(15);

const OTHER_ACCOUNTS: Error = Error::conflict(
    "the links in this data folder belong to accounts in another store, which have the same ids; \
     use those accounts (accounts.store, mariadb.nodes, mariadb.database), or another data folder",
);

/// Reader threads of the board.
pub(crate) const BOARD_READERS: usize = 2;

/// The threads of one open database.
pub(crate) struct Engine {
    pub(crate) writer: Writer,
    pub(crate) rides: Recorder,
    pub(crate) readers: Readers,
    /// One reader for lists, so that redirects do not wait for them.
    pub(crate) scans: Readers,
    /// One reader for searches of links, so that lists do not wait for them.
    pub(crate) link_searches: Readers,
    /// One reader for searches of rides, which may take seconds.
    pub(crate) searches: Searches,
    /// Readers of the board, so that redirects do not wait for its pages.
    pub(crate) board: Readers,
    /// One reader for searches of messages.
    pub(crate) board_searches: Readers,
    /// One reader for exports and background jobs, which read page after page.
    pub(crate) exports: Readers,
    pub(crate) checkpoints: Arc<Checkpoints>,
    pub(crate) file: PathBuf,
    pub(crate) secret: InstallationSecret,
    pub(crate) accounts_id: [u8; 32],
    /// The id of the account change feed: new at each start, because the file may have been replaced by an older one
    /// meanwhile.
    pub(crate) feed: Uuid,
    /// The origin as which this file writes events of the board.
    pub(crate) origin: Origin,
    pub(crate) cleanup_position: crate::cleanup::CleanupPosition,
    ends: Mutex<Option<ThreadEnds>>,
    close_wait: Duration,
}

/// Signals that the threads have ended, and the lock to release then.
struct ThreadEnds {
    writer: Receiver<()>,
    checkpoints: Receiver<()>,
    folder: Folder,
}

impl Engine {
    /// Opens the folder's database and starts the threads.
    pub(crate) fn open(folder: &Path, options: &Options) -> Result<Self, OpenError> {
        let folder = Folder::lock(folder)?;
        let file = folder.database();
        let failed = |source| OpenError::Database { file: file.clone(), source };
        let no_thread = |source| OpenError::File { path: file.clone(), source };

        // Truncating the WAL file takes milliseconds, so it may stay a little longer than a restart needs.
        let wal_kept_bytes = 2 * options.wal_restart_bytes;
        let mut main = folder.open_database(options.page_cache_bytes, wal_kept_bytes)?;
        let secret = installation::secret(&main).map_err(failed)?;
        let accounts_id = installation::accounts_id(&main, &secret).map_err(failed)?;
        let origin = origins::open(&main).map_err(failed)?;
        let page_bytes: u64 = main
            .pragma_query_value(None, "page_size", |row| row.get::<_, u32>(0))
            .map_err(failed)?
            .into();
        let log_limits = LogLimits {
            passive: options.wal_checkpoint_bytes,
            restart: options.wal_restart_bytes,
            max: options.wal_bytes_max,
            age_max: options.wal_age_max,
        };
        let thresholds = Thresholds {
            sums: options.sums_unwritten,
            rides: options.rides_unwritten.into(),
            part: options.sums_part,
        };
        let write_back = replay::open(&main, thresholds).map_err(failed)?;
        let checkpoints = Checkpoints::new(log_limits);
        let noted = Arc::clone(&checkpoints);
        let note = move |_: &mut rusqlite::hooks::Wal, pages: i32| {
            noted.note_length(u64::from(pages.unsigned_abs()) * page_bytes);
            Ok(())
        };
        main.wal_hook(Some(note)).map_err(failed)?;

        let (checkpoints_alive, checkpoints_end) = channel();
        checkpoints
            .start(connection::checkpointer(&file).map_err(failed)?, checkpoints_alive)
            .map_err(no_thread)?;
        let size = readers::Size {
            threads: options.reader_threads,
            queue: options.reader_queue,
            page_cache_bytes: options.page_cache_bytes,
            time_max: READ_TIME_MAX,
        };
        let readers = Readers::start(&file, size)?;
        let one = readers::Size { threads: 1, ..size };
        let scans = Readers::start(&file, one)?;
        let long = checkpoints.long_reads();
        let text =
            readers::Size { queue: TEXT_SEARCHES_MAX, time_max: TEXT_SEARCH_TIME_MAX, ..one };
        let link_searches = Readers::start_long(&file, text, long)?;
        let few = readers::Size { queue: SEARCHES_MAX, time_max: SEARCH_TIME_MAX, ..one };
        let searches = Searches::new(Readers::start_long(&file, few, long)?, SEARCHES_MAX);
        let of_board = readers::Size { threads: BOARD_READERS, ..size };
        let board = Readers::start(&file, of_board)?;
        let board_searches = Readers::start_long(&file, text, long)?;
        // Some queued pages may belong to cancelled exports.
        let pages = readers::Size { queue: 2 * EXPORTS_MAX, time_max: EXPORT_TIME_MAX, ..one };
        let exports = Readers::start_long(&file, pages, long)?;
        let (writer_alive, writer_end) = channel();
        let limits = Limits { queue: options.queue_per_app, group_time: options.group_time };
        let (carried, now) = (Arc::clone(&checkpoints), Box::new(Instant::now));
        let writer = Writer::start(main, limits, carried, now, writer_alive).map_err(no_thread)?;
        let ends = ThreadEnds { writer: writer_end, checkpoints: checkpoints_end, folder };
        Ok(Self {
            writer,
            rides: Recorder::new(write_back),
            readers,
            scans,
            link_searches,
            searches,
            board,
            board_searches,
            exports,
            checkpoints,
            file,
            secret,
            accounts_id,
            feed: Uuid::new_v4(),
            origin,
            cleanup_position: crate::cleanup::CleanupPosition::default(),
            ends: Mutex::new(Some(ends)),
            close_wait: options.close_wait,
        })
    }

    /// Stores the mode if none is stored yet.
    pub(crate) async fn store_mode(&self, mode: Mode) -> lodge_domain::Result<()> {
        let keep = move |connection: &Connection| {
            let sql = "INSERT INTO meta (name, value) VALUES ('mode', ?1) ON CONFLICT DO NOTHING";
            connection.execute(sql, [mode.name().as_bytes()])?;
            let kept = "SELECT value FROM meta WHERE name = 'mode'";
            Ok(connection.query_row(kept, [], |row| row.get::<_, Vec<u8>>(0))?)
        };
        Mode::check_kept(mode, &self.writer.write(App::Links, keep).await?)
    }

    /// Binds the links in this file to the accounts with this id: links refer to their owners by account number.
    pub(crate) async fn bind_links(&self, accounts: [u8; 32]) -> lodge_domain::Result<()> {
        let own = self.accounts_id;
        let bind = move |connection: &Connection| {
            Ok(installation::bind_links(connection, &own, &accounts)?)
        };
        if self.writer.write(App::Links, bind).await? { Ok(()) } else { Err(OTHER_ACCOUNTS) }
    }

    /// Replaces the installation's secret in the file.
    pub(crate) async fn replace_secret(&self) -> lodge_domain::Result<()> {
        let replace = |connection: &Connection| Ok(installation::replace_secret(connection)?);
        self.writer.write(App::Links, replace).await
    }

    /// Returns after a reader and the writer have each served a request.
    pub(crate) async fn ping(&self) -> lodge_domain::Result<()> {
        let look = |connection: &Connection| {
            Ok(connection.query_row("SELECT 1", [], |row| row.get::<_, i64>(0))?)
        };
        self.readers.read(App::Links, look).await?;
        self.writer.write(App::Links, |_| Ok(())).await
    }

    /// Ends the threads after they have answered queued requests, and unlocks the folder. Blocks. Returns false if
    /// that took longer than `close_wait`.
    pub(crate) fn close(&self) -> bool {
        let Some(ends) = self.ends.lock().take() else { return true };
        let deadline = Instant::now() + self.close_wait;
        self.writer.close();
        let readers = [
            &self.readers,
            &self.scans,
            &self.link_searches,
            self.searches.thread(),
            &self.board,
            &self.board_searches,
            &self.exports,
        ];
        for readers in readers {
            readers.close();
        }
        let drained = ended(&ends.writer, deadline)
            & readers.iter().all(|readers| readers.wait_ended(deadline));
        // The last checkpoint needs exclusive use of the log.
        self.checkpoints.stop();
        let ended = ended(&ends.checkpoints, deadline) && drained;
        if !ended {
            tracing::error!(file = %self.file.display(), "the database's threads did not end in time");
        }
        drop(ends.folder);
        ended
    }
}

impl Drop for Engine {
    fn drop(&mut self) {
        self.close();
    }
}

fn ended(thread: &Receiver<()>, deadline: Instant) -> bool {
    let left = deadline.saturating_duration_since(Instant::now());
    thread.recv_timeout(left) == Err(RecvTimeoutError::Disconnected)
}
