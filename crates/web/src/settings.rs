//! What an operator decides about the edge.

use std::time::Duration;

/// What an operator decides about the edge.
#[derive(Debug, Clone)]
pub struct SiteSettings {
    /// Where the world reaches this site, without a last slash; where absent, what each request's
    /// `Host` says.
    pub public_url: Option<String>,
    /// How long a request may take from its head to the head of its answer; one that brings a long picture has more.
    pub request_timeout: Duration,
    /// Links that one address may create a minute; 0 is no limit.
    pub creations_per_minute: u32,
    /// Accounts that one address may make a minute; 0 is no limit.
    pub sign_ups_per_minute: u32,
    /// Passwords and keys that one address may try a minute; 0 is no limit.
    pub attempts_per_minute: u32,
    /// Whether every request is logged, not only those that fail.
    pub access_log: bool,
    /// Pictures that one address may send a minute; 0 is no limit.
    pub pictures_per_minute: u32,
    /// The longest picture that is taken, in KiB.
    pub picture_kib_max: usize,
    /// Events about rides that everybody together may send a second; 0 is no limit.
    pub ride_events_per_second: u32,
    /// Connections at once; a tenth of them may be streams.
    pub connections_max: usize,
    /// Events about rides that one address may send a minute without a gate's key; 0 is no limit.
    pub rides_per_minute: u32,
    /// Messages, edits, signs and reports that one person may send to the board a minute, and a bot ten times as
    /// many; 0 is no limit.
    pub posts_per_minute: u32,
}
