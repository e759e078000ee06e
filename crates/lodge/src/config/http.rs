//! The settings of the public listener.

use std::net::SocketAddr;

use anyhow::{Result, anyhow, ensure};
use lodge_web::TrustedProxies;
use serde::{Deserialize, Serialize};

use super::listen;

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct HttpConfig {
    #[serde(deserialize_with = "listen::deserialize")]
    pub(crate) listen: SocketAddr,
    pub(crate) connections_max: usize,
    pub(crate) connections_per_address_max: usize,
    pub(crate) trusted_proxies: Vec<String>,
    pub(crate) proxy_protocol: bool,
    pub(crate) hsts_subdomains: bool,
    pub(crate) header_timeout_s: u64,
    pub(crate) request_timeout_s: u64,
    pub(crate) write_timeout_s: u64,
    pub(crate) shutdown_grace_s: u64,
}

impl HttpConfig {
    /// Returns the networks of trusted proxies.
    pub(crate) fn trusted_proxies(&self) -> Result<TrustedProxies> {
        TrustedProxies::parse(&self.trusted_proxies).map_err(|text| {
            anyhow!(
                "http.trusted_proxies must be networks such as 10.0.0.0/8, or addresses such as ::1, not {text:?}"
            )
        })
    }
}

pub(super) fn check(http: &HttpConfig) -> Result<()> {
    ensure!(
        !http.proxy_protocol || !http.trusted_proxies.is_empty(),
        "http.proxy_protocol needs the networks of the balancers in http.trusted_proxies"
    );
    http.trusted_proxies().map(drop)
}
