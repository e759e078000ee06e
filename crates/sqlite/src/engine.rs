//! The open engine: its threads, in the order in which they start and end.

use std::{
    path::{Path, PathBuf},
    sync::{
        Arc,
        mpsc::{Receiver, RecvTimeoutError, channel},
    },
    time::{Duration, Instant},
};

use lodge_domain::{
    board::Origin,
    links::Mode,
    rides::{EXPORTS_MAX, SEARCHES_MAX},
    secret::InstallationSecret,
};
use lodge_sql::App;
use parking_lot::Mutex;
use rusqlite::{Connection, OptionalExtension};
use uuid::Uuid;

use crate::{
    Options,
    checkpoints::{Checkpoints, Lengths},
    connection,
    folder::{Folder, OpenError},
    origins,
    readers::{self, Readers},
    rides::{Recorder, Searches, Thresholds, write_back::replay},
    writer::{Limits, Writer},
};

/// How long a search of rides may take.
const SEARCH_TIME_MAX: Duration = Duration::from_secs(3);

/// How long one of messages may, which an index answers.
const BOARD_SEARCH_TIME_MAX: Duration = Duration::from_secs(1);

/// Searches of messages that wait.
const BOARD_SEARCHES_MAX: usize = 32;

/// Threads that read what is said on the board.
pub(crate) const BOARD_READERS: usize = 2;

/// The threads of one open database.
pub(crate) struct Engine {
    pub(crate) writer: Writer,
    pub(crate) rides: Recorder,
    pub(crate) readers: Readers,
    /// One more reader, for what may read many rows: lists and searches, which no redirect waits for.
    pub(crate) scans: Readers,
    /// And one for searches of rides, which may take seconds.
    pub(crate) searches: Searches,
    /// Those of the board, so that whoever is redirected waits for none of its pages.
    pub(crate) board: Readers,
    /// One for searches of messages.
    pub(crate) board_searches: Readers,
    /// And one for exports of rides, which read page after page.
    pub(crate) exports: Readers,
    checkpoints: Arc<Checkpoints>,
    pub(crate) file: PathBuf,
    pub(crate) secret: InstallationSecret,
    /// Which feed of changed accounts this is: another one each time, because between two times the file may
    /// have been replaced by an older one.
    pub(crate) feed: Uuid,
    /// As whom this file writes on the board.
    pub(crate) origin: Origin,
    pub(crate) tidy_place: crate::tidy::Place,
    ends: Mutex<Option<Ends>>,
    close_wait: Duration,
}

/// What is left to wait for, and to let go.
struct Ends {
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

        // To cut the log's file takes milliseconds: not at every turn, in which it grows a little longer.
        let wal_kept_bytes = 2 * options.wal_restart_bytes;
        let mut main = folder.open_database(options.page_cache_bytes, wal_kept_bytes)?;
        let secret = secret(&main).map_err(failed)?;
        let origin = origins::open(&main).map_err(failed)?;
        let page_bytes: u64 = main
            .pragma_query_value(None, "page_size", |row| row.get::<_, u32>(0))
            .map_err(failed)?
            .into();
        let lengths = Lengths {
            passive: options.wal_checkpoint_bytes,
            restart: options.wal_restart_bytes,
            max: options.wal_bytes_max,
        };
        let thresholds = Thresholds {
            sums: options.sums_unwritten,
            rides: options.rides_unwritten.into(),
            part: options.sums_part,
        };
        let write_back = replay::open(&main, thresholds).map_err(failed)?;
        let checkpoints = Checkpoints::new(lengths);
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
            time_max: None,
        };
        let readers = Readers::start(&file, size)?;
        let one = readers::Size { threads: 1, ..size };
        let scans = Readers::start(&file, one)?;
        let few = readers::Size { queue: SEARCHES_MAX, time_max: Some(SEARCH_TIME_MAX), ..one };
        let searches = Searches::new(Readers::start(&file, few)?, SEARCHES_MAX);
        let of_board = readers::Size { threads: BOARD_READERS, ..size };
        let board = Readers::start(&file, of_board)?;
        let short = Some(BOARD_SEARCH_TIME_MAX);
        let words = readers::Size { queue: BOARD_SEARCHES_MAX, time_max: short, ..one };
        let board_searches = Readers::start(&file, words)?;
        // Some pages may wait that nobody wants any more.
        let pages = readers::Size { queue: 2 * EXPORTS_MAX, ..one };
        let exports = Readers::start(&file, pages)?;
        let (writer_alive, writer_end) = channel();
        let limits = Limits { queue: options.queue_per_app, group_time: options.group_time };
        let (carried, now) = (Arc::clone(&checkpoints), Box::new(Instant::now));
        let writer = Writer::start(main, limits, carried, now, writer_alive).map_err(no_thread)?;
        let ends = Ends { writer: writer_end, checkpoints: checkpoints_end, folder };
        Ok(Self {
            writer,
            rides: Recorder::new(write_back),
            readers,
            scans,
            searches,
            board,
            board_searches,
            exports,
            checkpoints,
            file,
            secret,
            feed: Uuid::new_v4(),
            origin,
            tidy_place: crate::tidy::Place::default(),
            ends: Mutex::new(Some(ends)),
            close_wait: options.close_wait,
        })
    }

    /// Keeps the mode, if none is kept yet.
    pub(crate) async fn keep_mode(&self, mode: Mode) -> lodge_domain::Result<()> {
        let keep = move |connection: &Connection| {
            let sql = "INSERT INTO meta (name, value) VALUES ('mode', ?1) ON CONFLICT DO NOTHING";
            connection.execute(sql, [mode.name().as_bytes()])?;
            let kept = "SELECT value FROM meta WHERE name = 'mode'";
            Ok(connection.query_row(kept, [], |row| row.get::<_, Vec<u8>>(0))?)
        };
        Mode::check_kept(mode, &self.writer.write(App::Links, keep).await?)
    }

    /// Answers when a reader and the writer have had their turn.
    pub(crate) async fn ping(&self) -> lodge_domain::Result<()> {
        let look = |connection: &Connection| {
            Ok(connection.query_row("SELECT 1", [], |row| row.get::<_, i64>(0))?)
        };
        self.readers.read(App::Links, look).await?;
        self.writer.write(App::Links, |_| Ok(())).await
    }

    /// Ends the threads, after they have answered what waits, and lets the folder go. Blocks. False if
    /// they took longer than they may.
    pub(crate) fn close(&self) -> bool {
        let Some(ends) = self.ends.lock().take() else { return true };
        let deadline = Instant::now() + self.close_wait;
        self.writer.close();
        let readers = [
            &self.readers,
            &self.scans,
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
        // The last checkpoint needs a log that nobody uses.
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

/// The installation's secret, made when it is first asked for.
fn secret(connection: &Connection) -> rusqlite::Result<InstallationSecret> {
    let mut fresh = [0; 32];
    lodge_domain::Random::fill(&lodge_domain::OsRandom, &mut fresh);
    let sql = "INSERT INTO meta (name, value) VALUES ('secret', ?1) ON CONFLICT DO NOTHING";
    connection.execute(sql, [fresh])?;
    let kept = connection
        .query_row("SELECT value FROM meta WHERE name = 'secret'", [], |row| row.get(0))
        .optional()?;
    Ok(InstallationSecret::new(kept.unwrap_or(fresh)))
}
