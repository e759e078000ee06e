//! Size and time limits of the engine.

use std::time::Duration;

/// The engine's limits. The defaults serve a million links in under 100 MB of memory.
#[derive(Debug, Clone)]
pub struct Options {
    /// Reader threads, at least 1. Default 2.
    pub reader_threads: usize,
    /// Reads of each app that may wait for a thread; more are refused. Default 4096.
    pub reader_queue: usize,
    /// Writes of each app that may wait for the writer; more are refused. Default 4096.
    pub queue_per_app: usize,
    /// How long a group of writes runs requests before it commits. Default 10 ms.
    pub group_time: Duration,
    /// `SQLite`'s page cache of the writer and of each reader, in bytes. Default 4 MiB.
    pub page_cache_bytes: usize,
    /// Growth of the write-ahead log, in bytes, after which a passive checkpoint runs. Default 4 MiB.
    pub wal_checkpoint_bytes: u64,
    /// Length of the write-ahead log, in bytes, from which it should restart; at a quarter more, at the latest, writes
    /// wait for that. The file may stay twice as long. Default 64 MiB.
    pub wal_restart_bytes: u64,
    /// Length of the write-ahead log, in bytes, from which writes are refused because a backup prevents a
    /// restart. Default 1 GiB.
    pub wal_bytes_max: u64,
    /// How long a commit stays in the file of the write-ahead log, at most, unless a backup prevents its removal:
    /// after a deletion the file still has earlier content. Default 30 s.
    pub wal_age_max: Duration,
    /// Skier days and leaderboard entries buffered in memory before they are written back together. Default 65,536.
    pub sums_unwritten: usize,
    /// Rides after which they are written back, however few they are: after a kill, unwritten sums are recomputed from
    /// the rides at the next start. Default 250,000.
    pub rides_unwritten: u32,
    /// Sums that one request writes when all are to be written. Default 4,096.
    pub sums_part: usize,
    /// How long closing may take. Default 20 s.
    pub close_wait: Duration,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            reader_threads: 2,
            reader_queue: 4096,
            queue_per_app: 4096,
            group_time: Duration::from_millis(10),
            page_cache_bytes: 4 << 20,
            wal_checkpoint_bytes: 4 << 20,
            wal_restart_bytes: 64 << 20,
            wal_bytes_max: 1 << 30,
            wal_age_max: Duration::from_secs(30),
            sums_unwritten: 65_536,
            rides_unwritten: 250_000,
            sums_part: 4_096,
            close_wait: Duration::from_secs(20),
        }
    }
}
