//! Limits on picture uploads.

use std::{net::IpAddr, sync::Arc, time::Duration};

use axum::body::{Body, HttpBody as _};
use http::StatusCode;
use http_body_util::Limited;
use lodge_domain::{Error, Result};

use crate::{
    body::{BufferedBody, FullBody},
    body_budget::{BodyBudget, BodySender, Shares},
    edge::{
        address::Client,
        limits::{self, AddressLimit},
        per_key::PerKeyLimit,
    },
    error::Problem,
    settings::SiteSettings,
};

/// The memory budget of uploads, in pictures of the maximum size; separate from that of other bodies.
const LONGEST_PICTURES: usize = 4;

/// The slowest upload allowed, in bytes per second: a phone with a poor signal.
const BYTES_PER_SECOND_MIN: u64 = 64 * 1024;

/// Concurrent uploads per address, and `Retry-After` past that.
const EACH_MAX: usize = 2;
const RETRY: Duration = Duration::from_secs(5);

/// The limits on picture uploads to all apps together.
pub(crate) struct Uploads {
    kib_max: usize,
    request_timeout: Duration,
    shares: Option<AddressLimit>,
    /// The memory of uploads in progress.
    budget: Arc<BodyBudget>,
    /// Uploads in progress by IPv4 address, or /48 of IPv6.
    under_way: Arc<PerKeyLimit<IpAddr>>,
}

/// The largest picture accepted, in bytes and as text.
pub(crate) struct PictureMax {
    pub(crate) bytes: usize,
    pub(crate) words: String,
}

impl Uploads {
    /// Reads the limits from the settings.
    pub(crate) fn new(settings: &SiteSettings) -> Self {
        Self {
            kib_max: settings.picture_kib_max,
            request_timeout: settings.request_timeout,
            shares: AddressLimit::per_minute(settings.pictures_per_minute),
            budget: BodyBudget::new(LONGEST_PICTURES * settings.picture_kib_max, Shares::USUAL),
            under_way: PerKeyLimit::new(EACH_MAX, RETRY),
        }
    }

    /// Counts an upload against the rate limit of the client, before the body is read.
    pub(crate) fn admit(&self, client: Client) -> Result<()> {
        limits::take(self.shares.as_ref(), client)
    }

    /// Returns the time that an upload of `body_bytes` gets beside the request timeout: its transfer time on a slow
    /// line, capped at that of the largest picture.
    pub(crate) fn time_for(&self, body_bytes: u64) -> Duration {
        Duration::from_secs(body_bytes.min(self.bytes_max() as u64) / BYTES_PER_SECOND_MIN)
    }

    /// Buffers a picture upload with at most `beside` further bytes, such as the rest of a form. A limit per address
    /// keeps one slow client from using the whole budget.
    pub(crate) async fn read(
        &self,
        client: Client,
        body: Body,
        beside: usize,
    ) -> Result<BufferedBody, Problem> {
        let place = client.site().map(|site| self.under_way.take(site)).transpose()?;
        let announced = body.size_hint().lower();
        let limited = Body::new(Limited::new(body, self.bytes_max() + beside));
        let time = self.request_timeout / 2 + self.time_for(announced);
        let memory = self.budget.begin(BodySender::limited_elsewhere());
        match FullBody::read(announced, limited, memory, time).await {
            Ok(held) => Ok(held.keeping(place)),
            Err(problem) if problem.status == StatusCode::PAYLOAD_TOO_LARGE => Err(self.too_long()),
            Err(problem) => Err(problem),
        }
    }

    /// The largest picture accepted, in bytes.
    pub(crate) fn bytes_max(&self) -> usize {
        self.kib_max * 1024
    }

    /// Returns the largest picture accepted, in bytes and as text.
    pub(crate) fn max(&self) -> PictureMax {
        let words = match self.kib_max {
            kib if kib.is_multiple_of(1024) => format!("{} MB", kib / 1024),
            kib => format!("{kib} KB"),
        };
        PictureMax { bytes: self.bytes_max(), words }
    }

    /// The 413 error of a picture that is too large.
    pub(crate) fn too_long(&self) -> Problem {
        let reason = format!("is larger than {}; choose a smaller one", self.max().words);
        let problem = Problem::from(Error::invalid("picture", reason));
        Problem { status: StatusCode::PAYLOAD_TOO_LARGE, ..problem }
    }
}
