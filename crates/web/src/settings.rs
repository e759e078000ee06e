//! The settings of the HTTP edge.

use std::{sync::Arc, time::Duration};

use crate::{brand::BrandSettings, edge::proxies::TrustedProxies};

/// The settings of the HTTP edge.
#[derive(Debug, Clone)]
pub struct SiteSettings {
    /// The name, logo and colour of the site.
    pub brand: BrandSettings,
    /// The public base URL, without a trailing slash; `None` derives it from each request's `Host`.
    pub public_url: Option<String>,
    /// Whether browsers reach subdomains of the site over TLS only, too.
    pub hsts_subdomains: bool,
    /// The proxies whose headers name the client and its scheme.
    pub trusted_proxies: Arc<TrustedProxies>,
    /// The time from the head of a request to the head of its response; picture uploads get more.
    pub request_timeout: Duration,
    /// Links that one address may create per minute; 0 is no limit.
    pub creations_per_minute: u32,
    /// Links that one account or API key may create per minute; 0 is no limit.
    pub owner_creations_per_minute: u32,
    /// Links that one account or API key may create per day; 0 is no limit.
    pub owner_creations_per_day: u32,
    /// Whether visitors may create accounts.
    pub open_sign_up: bool,
    /// Accounts that one address may create per minute; 0 is no limit.
    pub sign_ups_per_minute: u32,
    /// Passwords and keys that one address may try per minute; 0 is no limit.
    pub attempts_per_minute: u32,
    /// Whether all requests are logged, not only failed ones.
    pub access_log: bool,
    /// Pictures that one address may upload per minute; 0 is no limit.
    pub pictures_per_minute: u32,
    /// The largest picture accepted, in KiB.
    pub picture_kib_max: usize,
    /// Ride events per second from all clients together; 0 is no limit.
    pub ride_events_per_second: u32,
    /// Concurrent connections; a tenth of them may be streams.
    pub connections_max: usize,
    /// Ride events per minute from one address without a gate's key; 0 is no limit.
    pub rides_per_minute: u32,
    /// Messages, edits, reactions and reports per minute from one board member, ten times as many from a bot; 0 is no
    /// limit.
    pub posts_per_minute: u32,
}
