//! Limits on wrong passwords.

use std::{net::IpAddr, time::Duration};

use async_trait::async_trait;
use jiff::Timestamp;

use crate::Result;

/// How long failures count, from the first of them on.
pub const WINDOW: Duration = Duration::from_mins(15);

/// The maximum failures for one name from one address within [`WINDOW`].
pub const PER_ADDRESS_MAX: u32 = 10;

/// The maximum failures for one name from one IPv6 network of a site (/48) within [`WINDOW`].
pub const PER_SITE_MAX: u32 = 30;

/// The maximum failures for one name from all addresses within [`WINDOW`].
pub const PER_NAME_MAX: u32 = 100;

/// Counters of wrong passwords, by the name that they are for: of an account, of an account on one device, or of a link.
/// They need not survive a restart, because each guess costs a hash.
#[async_trait]
pub trait Failures: Send + Sync {
    /// Counts a failure for `name` (any length) before the password is verified, so that concurrent
    /// guesses cannot exceed the limit. Past the limit it returns [`crate::Error::TooMany`] and counts nothing.
    /// Without an address only the limit per name applies.
    async fn count(&self, name: &str, from: Option<IpAddr>, at: Timestamp) -> Result<()>;

    /// Reverts one count, because the client got no answer. Does not wait: it is called when a request is dropped.
    fn revert(&self, name: &str, from: Option<IpAddr>);

    /// The password was right: reverts the count and resets all failures of this name from this address.
    async fn reset(&self, name: &str, from: Option<IpAddr>);
}

/// A failure that is counted before the password is verified. Unless it is settled, it is reverted on drop: the
/// password could not be verified, or the client disconnected before the answer.
///
/// A client that disconnects during the hash costs a hash but learns nothing: neither an answer nor a count. The
/// cost is bounded by the queue of hashes and by the rate limit per address. If it were counted, ten reloads on a
/// slow day would lock out a user whose password was right each time.
pub(crate) struct Counted<'a> {
    failures: &'a dyn Failures,
    name: &'a str,
    from: Option<IpAddr>,
    settled: bool,
}

impl<'a> Counted<'a> {
    /// Counts a failure; see [`Failures::count`].
    pub(crate) async fn one(
        failures: &'a dyn Failures,
        name: &'a str,
        from: Option<IpAddr>,
        at: Timestamp,
    ) -> Result<Self> {
        failures.count(name, from, at).await?;
        Ok(Self { failures, name, from, settled: false })
    }

    /// Keeps the count for a wrong password, and resets it for a right one; an error leaves it to be reverted.
    pub(crate) async fn settle(mut self, is_right: &Result<bool>) {
        self.settled = is_right.is_ok();
        if matches!(is_right, Ok(true)) {
            self.failures.reset(self.name, self.from).await;
        }
    }
}

impl Drop for Counted<'_> {
    fn drop(&mut self) {
        if !self.settled {
            self.failures.revert(self.name, self.from);
        }
    }
}
