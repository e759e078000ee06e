//! What a server does in one step.

use std::sync::LazyLock;

use redis::Script;

/// The copy, if there is one; else a lease on filling it, if nobody has one.
pub(super) static LEASE: LazyLock<Script> = LazyLock::new(|| {
    Script::new(
        "local copy = redis.call('GET', KEYS[1])
         local pulse = redis.call('GET', KEYS[3])
         if copy then return {pulse, copy, 0} end
         local granted = redis.call('SET', KEYS[2], ARGV[1], 'NX', 'PX', ARGV[2])
         return {pulse, false, granted and 1 or 0}",
    )
});

/// Keeps a copy, if the lease has not been taken away meanwhile, and the time is there up to which all
/// has been told: a master that has none is taken to have no copies. The lease goes either way, so that
/// the next may try.
pub(super) static FILL: LazyLock<Script> = LazyLock::new(|| {
    Script::new(
        "if redis.call('GET', KEYS[2]) ~= ARGV[1] then return 0 end
         redis.call('DEL', KEYS[2])
         if redis.call('EXISTS', KEYS[3]) == 0 then return 0 end
         redis.call('SET', KEYS[1], ARGV[2], 'PX', ARGV[3])
         return 1",
    )
});

/// Holds a link, unless a newer one is held or was stored lately, which is answered. The same again is
/// written again, so that whoever waits for a replica to have it waits for this write.
pub(super) static HOLD: LazyLock<Script> = LazyLock::new(|| {
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

/// Since when something may be missing, which is noted if it is not; nothing where somebody has vouched
/// for this run of the server.
pub(super) static LOST_SINCE: LazyLock<Script> = LazyLock::new(|| {
    Script::new(
        "if redis.call('GET', KEYS[1]) == ARGV[1] then return false end
         redis.call('SET', KEYS[2], ARGV[2], 'NX')
         redis.call('PEXPIRE', KEYS[2], ARGV[3])
         return redis.call('GET', KEYS[2])",
    )
});

/// Vouches for this run of the server, if it is still noted since when something was missing: that would
/// have gone with whatever went since.
pub(super) static VOUCH: LazyLock<Script> = LazyLock::new(|| {
    Script::new(
        "if redis.call('DEL', KEYS[2]) == 0 then return 0 end
         redis.call('SET', KEYS[1], ARGV[1])
         return 1",
    )
});

/// Lets go of what is held, unless it is newer than what is stored. It is remembered for a while, so that
/// what comes late is not held over it.
pub(super) static RELEASE: LazyLock<Script> = LazyLock::new(|| {
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
