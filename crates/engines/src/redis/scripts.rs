//! Lua scripts: what a server does atomically.

use std::sync::LazyLock;

use redis::Script;

/// Returns the copy, if there is one; else takes the lease on filling it, if it is free.
pub(super) static LEASE: LazyLock<Script> = LazyLock::new(|| {
    Script::new(
        "local copy = redis.call('GET', KEYS[1])
         local heartbeat = redis.call('GET', KEYS[3])
         if copy then return {heartbeat, copy, 0} end
         local granted = redis.call('SET', KEYS[2], ARGV[1], 'NX', 'PX', ARGV[2])
         return {heartbeat, false, granted and 1 or 0}",
    )
});

/// Stores a copy, if the lease is still held and `heard` is set: a master without `heard` must have no
/// copies. Releases the lease in either case, so that the next reader may try.
pub(super) static FILL: LazyLock<Script> = LazyLock::new(|| {
    Script::new(
        "if redis.call('GET', KEYS[2]) ~= ARGV[1] then return 0 end
         redis.call('DEL', KEYS[2])
         if redis.call('EXISTS', KEYS[3]) == 0 then return 0 end
         redis.call('SET', KEYS[1], ARGV[2], 'PX', ARGV[3])
         return 1",
    )
});

/// Adds a pending write, unless a newer one is pending or was stored recently, which is returned. The
/// same link is written again, so that `WAIT` afterwards covers this write.
pub(super) static ADD_PENDING: LazyLock<Script> = LazyLock::new(|| {
    Script::new(
        "local is = redis.call('HMGET', KEYS[1], 'at', 'target', 'link')
         local at, new = tonumber(is[1] or '-1'), tonumber(ARGV[2])
         if at > new or (at == new and is[2] > ARGV[3]) then return is[3] end
         redis.call('HSET', KEYS[1], 'at', ARGV[2], 'target', ARGV[3], 'link', ARGV[4])
         redis.call('HDEL', KEYS[1], 'stored')
         redis.call('PERSIST', KEYS[1])
         redis.call('ZADD', KEYS[2], ARGV[5], ARGV[1])
         return false",
    )
});

/// Returns since when a pending write may be lost, and records the current time if none is recorded;
/// false if this run of the server is marked complete.
pub(super) static LOST_SINCE: LazyLock<Script> = LazyLock::new(|| {
    Script::new(
        "if redis.call('GET', KEYS[1]) == ARGV[1] then return false end
         redis.call('SET', KEYS[2], ARGV[2], 'NX')
         redis.call('PEXPIRE', KEYS[2], ARGV[3])
         return redis.call('GET', KEYS[2])",
    )
});

/// Marks this run of the server complete, if `lost:RUN-ID` still has the time of this loss: a further loss would
/// have removed that key, too, and another process may have written it again.
pub(super) static MARK_COMPLETE: LazyLock<Script> = LazyLock::new(|| {
    Script::new(
        "if redis.call('GET', KEYS[2]) ~= ARGV[2] then return 0 end
         redis.call('DEL', KEYS[2])
         redis.call('SET', KEYS[1], ARGV[1])
         return 1",
    )
});

/// Marks a pending write stored, unless it is newer than the stored link. The stored link is remembered
/// for a while, so that a delayed older write is not added over it.
pub(super) static REMOVE_STORED: LazyLock<Script> = LazyLock::new(|| {
    Script::new(
        "local is = redis.call('HMGET', KEYS[1], 'at', 'target')
         local at, stored = tonumber(is[1] or '-1'), tonumber(ARGV[2])
         if at > stored or (at == stored and is[2] > ARGV[3]) then return 0 end
         redis.call('HSET', KEYS[1], 'at', ARGV[2], 'target', ARGV[3], 'link', ARGV[4], 'stored', 1)
         redis.call('PEXPIRE', KEYS[1], ARGV[5])
         redis.call('ZREM', KEYS[2], ARGV[1])
         return 1",
    )
});
