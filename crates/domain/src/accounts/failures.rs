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

    /// Nobody knows whether it was one: takes back what was counted.
    async fn take_back(&self, name: &str, from: Option<IpAddr>);

    /// It was none: takes back what was counted, and with it all others of this name from this address.
    async fn forgive(&self, name: &str, from: Option<IpAddr>);
}
