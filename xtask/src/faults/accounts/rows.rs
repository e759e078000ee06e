//! The faults under clients of accounts, and the promise for each.

use std::time::Duration;

use lodge_testbed::{Deployment::WriteThrough, Kind};

use crate::faults::{
    fault::Fault::{self, Bootstrapped, CutOff, Flushed, Hung, Killed},
    row::Row,
    victims::Victims::{self, AllOfRedis, RedisMaster},
};

/// What a row promises in addition to the promises of all rows: no acknowledged account, change, ban or picture is lost,
/// no two accounts have one name, and no ended session is accepted a second later.
pub(crate) struct AccountsPromise {
    pub(crate) refusals: Refusals,
    /// The longest wait for a read and for another request that succeeds.
    pub(crate) read_wait: Duration,
    pub(crate) write_wait: Duration,
    /// The longest wait for a refusal.
    pub(crate) refusal_wait: Duration,
}

/// The requests that may be refused with 503.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Refusals {
    /// No request.
    No,
    /// Writes that the victim had, one a client.
    InProgress,
    /// Those for pictures.
    Pictures,
    /// Any.
    All,
}

const GALERA: Victims = Victims::Any(1, Kind::Galera);
const TWO_GALERA: Victims = Victims::Any(2, Kind::Galera);
const ALL_OF_GALERA: Victims = Victims::Any(3, Kind::Galera);
const ACCOUNTS: Victims = Victims::Any(1, Kind::Accounts);
const S3: Victims = Victims::Any(1, Kind::S3);

const fn seconds(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

/// Nothing is refused, and waits are short.
const NO_REFUSALS: AccountsPromise = AccountsPromise {
    refusals: Refusals::No,
    read_wait: seconds(2),
    write_wait: seconds(2),
    refusal_wait: seconds(0),
};

/// Nothing is refused; requests wait while the other nodes exclude one.
const NODE_EXCLUDED: AccountsPromise =
    AccountsPromise { read_wait: seconds(5), write_wait: seconds(5), ..NO_REFUSALS };

/// Nothing is refused; what waits for the node that hangs is done at another when it has timed out.
const NODE_HANGS: AccountsPromise =
    AccountsPromise { read_wait: seconds(8), write_wait: seconds(8), ..NO_REFUSALS };

/// Requests of a killed process are repeated, if that is safe.
const REPEATED: AccountsPromise =
    AccountsPromise { refusals: Refusals::InProgress, refusal_wait: seconds(3), ..NO_REFUSALS };

/// A process that does not answer is left out.
const LEFT_OUT: AccountsPromise = AccountsPromise {
    refusals: Refusals::InProgress,
    read_wait: seconds(3),
    write_wait: seconds(3),
    refusal_wait: seconds(8),
};

/// Without a majority of the nodes everything may be refused.
const REFUSED: AccountsPromise = AccountsPromise {
    refusals: Refusals::All,
    read_wait: seconds(60),
    write_wait: seconds(20),
    // `http.request_timeout_s`, and what a busy machine adds.
    refusal_wait: seconds(16),
};

const PICTURES_REFUSED: AccountsPromise = AccountsPromise {
    refusals: Refusals::Pictures,
    // Of a picture.
    write_wait: seconds(7),
    refusal_wait: seconds(7),
    ..NO_REFUSALS
};

const fn row(
    name: &'static str,
    title: &'static str,
    fault: Fault,
    promise: AccountsPromise,
) -> (Row, AccountsPromise) {
    (Row { name, title, deployment: WriteThrough, fault }, promise)
}

/// The rows with clients of accounts.
pub(crate) const ROWS: [(Row, AccountsPromise); 13] = [
    row("accounts-galera-killed", "one Galera node killed", Killed(GALERA), NODE_EXCLUDED),
    row("accounts-galera-hung", "one Galera node hangs", Hung(GALERA), NODE_HANGS),
    row("accounts-galera-cut", "one Galera node cut off", CutOff(GALERA), NODE_HANGS),
    row(
        "accounts-two-galera-killed",
        "two of three Galera nodes killed, and the third bootstrapped",
        Bootstrapped(TWO_GALERA),
        REFUSED,
    ),
    row(
        "accounts-all-galera-killed",
        "all Galera nodes killed, and started again",
        Killed(ALL_OF_GALERA),
        REFUSED,
    ),
    row("accounts-killed", "one accounts process killed", Killed(ACCOUNTS), REPEATED),
    row("accounts-hung", "one accounts process hangs", Hung(ACCOUNTS), LEFT_OUT),
    row("accounts-redis-flushed", "Redis flushed", Flushed, NO_REFUSALS),
    row("accounts-redis-master-killed", "Redis master killed", Killed(RedisMaster), NO_REFUSALS),
    row(
        "accounts-redis-killed",
        "all of Redis and the Sentinels killed",
        Killed(AllOfRedis),
        NO_REFUSALS,
    ),
    row(
        "accounts-redis-hung",
        "all of Redis and the Sentinels hang",
        Hung(AllOfRedis),
        NO_REFUSALS,
    ),
    row("accounts-s3-killed", "S3 killed", Killed(S3), PICTURES_REFUSED),
    row("accounts-s3-hung", "S3 hangs", Hung(S3), PICTURES_REFUSED),
];
