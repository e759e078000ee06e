//! How often somebody may be wrong about a password.

use std::{net::IpAddr, time::Duration};

use async_trait::async_trait;
use jiff::Timestamp;

use crate::Result;

/// For how long failures count, from the first of them on.
pub const WINDOW: Duration = Duration::from_mins(15);

/// Failures for one name from one address within [`WINDOW`].
pub const PER_ADDRESS_MAX: u32 = 10;

/// Failures for one name from anywhere within [`WINDOW`].
pub const PER_NAME_MAX: u32 = 100;

/// Counts failures to sign in. They need not survive a restart: what they guard costs a hash each time.
#[async_trait]
pub trait Failures: Send + Sync {
    /// Counts one for `name` (as typed, any length), before it is known whether it is one, so that many
    /// at once are no way around; [`crate::Error::TooMany`] if there have been too many, and then none is
    /// counted. Without an address only the name's own limit holds.
    async fn count(&self, name: &str, from: Option<IpAddr>, at: Timestamp) -> Result<()>;

    /// Nobody was told whether it was one: takes back what was counted. Does not wait, for it is what becomes
    /// of a request whose caller has gone.
    fn take_back(&self, name: &str, from: Option<IpAddr>);

    /// It was none: takes back what was counted, and with it all others of this name from this address.
    async fn forgive(&self, name: &str, from: Option<IpAddr>);
}

/// A failure that was counted before it is known whether it is one. Unless it is settled, it is taken back
/// when this goes, however that comes about: nobody could look at the password, or whoever asked did not stay
/// for the answer.
///
/// Who goes while the hash is under way has had it for nothing, but has learnt nothing from it: neither an
/// answer nor a count. What it costs is bounded by the queue of hashes and by the attempts of an address. Were
/// it counted, ten reloads on a slow day would lock somebody out whose password was right each time.
pub(super) struct Counted<'a> {
    failures: &'a dyn Failures,
    name: &'a str,
    from: Option<IpAddr>,
    settled: bool,
}

impl<'a> Counted<'a> {
    /// Counts one; see [`Failures::count`].
    pub(super) async fn one(
        failures: &'a dyn Failures,
        name: &'a str,
        from: Option<IpAddr>,
        at: Timestamp,
    ) -> Result<Self> {
        failures.count(name, from, at).await?;
        Ok(Self { failures, name, from, settled: false })
    }

    /// Settles it by whether the password is right, if that is known: it was no failure, or stays counted.
    pub(super) async fn settle(mut self, is_right: &Result<bool>) {
        self.settled = is_right.is_ok();
        if matches!(is_right, Ok(true)) {
            self.failures.forgive(self.name, self.from).await;
        }
    }
}

impl Drop for Counted<'_> {
    fn drop(&mut self) {
        if !self.settled {
            self.failures.take_back(self.name, self.from);
        }
    }
}
