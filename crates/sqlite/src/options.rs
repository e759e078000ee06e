//! How large the engine may be.

use std::time::Duration;

/// The engine's bounds. The defaults serve a million links in under 100 MB.
#[derive(Debug, Clone)]
pub struct Options {
    /// Threads that read, 1 or more. Default 2.
    pub reader_threads: usize,
    /// Reads of each app that may wait for a thread; past it they are refused. Default 4096.
    pub reader_queue: usize,
    /// Writes of each app that may wait for the writer; past it they are refused. Default 4096.
    pub queue_per_app: usize,
    /// How long a group of writes goes on taking requests before it commits. Default 10 ms.
    pub group_time: Duration,
    /// `SQLite`'s page cache, in bytes, of the writer and of each reader. Default 4 MiB.
    pub page_cache_bytes: usize,
    /// Length of the write-ahead log, in bytes, from which it is carried into the file. Default 4 MiB.
    pub wal_checkpoint_bytes: u64,
    /// Length of the write-ahead log, in bytes, from which it is to start anew; at a quarter more, at the latest,
    /// writes wait for that. Its file may stay twice as long. Default 64 MiB.
    pub wal_restart_bytes: u64,
    /// Length of the write-ahead log, in bytes, past which writes are refused because a long read (a
    /// backup) keeps it from starting anew. Default 1 GiB.
    pub wal_bytes_max: u64,
    /// Skiers' days and places among the leaders that are kept in memory before they are written together.
    /// Default 65,536.
    pub sums_unwritten: usize,
    /// Rides after which those are written however few they are: what is not written when the process is
    /// killed is made again of the rides at the next start. Default 250,000.
    pub rides_unwritten: u32,
    /// Those that are written at once where all are to be. Default 4,096.
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
            sums_unwritten: 65_536,
            rides_unwritten: 250_000,
            sums_part: 4_096,
            close_wait: Duration::from_secs(20),
        }
    }
}
