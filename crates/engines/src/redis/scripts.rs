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

/// Keeps a copy, if the lease has not been taken away meanwhile.
pub(super) static FILL: LazyLock<Script> = LazyLock::new(|| {
    Script::new(
        "if redis.call('GET', KEYS[2]) ~= ARGV[1] then return 0 end
         redis.call('DEL', KEYS[2])
         redis.call('SET', KEYS[1], ARGV[2], 'PX', ARGV[3])
         return 1",
    )
});
