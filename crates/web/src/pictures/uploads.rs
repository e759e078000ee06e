//! Pictures on their way here.

use std::{net::IpAddr, sync::Arc, time::Duration};

use axum::body::{Body, HttpBody as _};
use http::StatusCode;
use http_body_util::Limited;
use lodge_domain::{Error, Result};
use tokio::sync::Semaphore;

use crate::{
    body::{Held, Whole},
    edge::{
        address::Client,
        each::Each,
        limits::{self, AddressLimit},
    },
    error::Problem,
    settings::SiteSettings,
};

/// Pictures of the greatest length for which there is room on their way at one time, apart from other
/// bodies.
const LONGEST_PICTURES: usize = 4;

/// The slowest that a picture may come, in bytes a second: from a telephone in a valley.
const BYTES_PER_SECOND_MIN: u64 = 64 * 1024;

/// Pictures that may be on their way from one address, and when to ask again who has so many.
const EACH_MAX: usize = 2;
const RETRY: Duration = Duration::from_secs(5);

/// Limits of the pictures that are sent to all apps together.
pub(crate) struct Uploads {
    kib_max: usize,
    request_timeout: Duration,
    shares: Option<AddressLimit>,
    /// Room for those on their way, in KiB.
    room: Semaphore,
    /// Those on their way, by the address that they come from.
    under_way: Arc<Each<IpAddr>>,
}

/// The longest picture that is taken, for a form and for people.
pub(crate) struct PictureMax {
    pub(crate) bytes: usize,
    pub(crate) words: String,
}

impl Uploads {
    /// As the operator decided.
    pub(crate) fn new(settings: &SiteSettings) -> Self {
        Self {
            kib_max: settings.picture_kib_max,
            request_timeout: settings.request_timeout,
            shares: AddressLimit::per_minute(settings.pictures_per_minute),
            room: Semaphore::new(LONGEST_PICTURES * settings.picture_kib_max),
            under_way: Each::new(EACH_MAX, RETRY),
        }
    }

    /// Takes one from the client's share; before the body is read, which may be long.
    pub(crate) fn admit(&self, client: Client) -> Result<()> {
        limits::take(self.shares.as_ref(), client)
    }

    /// What a request has beside its timeout for an upload of so many bytes: the time that it takes on a slow line, as
    /// far as it is no longer than a picture.
    pub(crate) fn time_for(&self, body_bytes: u64) -> Duration {
        Duration::from_secs(body_bytes.min(self.bytes_max() as u64) / BYTES_PER_SECOND_MIN)
    }

    /// Reads a body that is a picture, with `beside` bytes of something else about it, such as the rest of a form. It
    /// may come slowly; few come from one address at a time, so that nobody has all the room for them.
    pub(crate) async fn read(
        &self,
        client: Client,
        body: Body,
        beside: usize,
    ) -> Result<Held<'_>, Problem> {
        let place = client.limited_by().map(|address| self.under_way.take(address)).transpose()?;
        let announced = body.size_hint().lower();
        let limited = Body::new(Limited::new(body, self.bytes_max() + beside));
        let time = self.request_timeout / 2 + self.time_for(announced);
        match Whole::read(announced, limited, &self.room, time).await {
            Ok(held) => Ok(held.keeping(place)),
            Err(problem) if problem.status == StatusCode::PAYLOAD_TOO_LARGE => Err(self.too_long()),
            Err(problem) => Err(problem),
        }
    }

    /// The longest picture that is taken, in bytes.
    pub(crate) fn bytes_max(&self) -> usize {
        self.kib_max * 1024
    }

    /// The same, for a form and for people.
    pub(crate) fn max(&self) -> PictureMax {
        let words = match self.kib_max {
            kib if kib.is_multiple_of(1024) => format!("{} MB", kib / 1024),
            kib => format!("{kib} KB"),
        };
        PictureMax { bytes: self.bytes_max(), words }
    }

    /// What whoever sends a longer one is told.
    pub(crate) fn too_long(&self) -> Problem {
        let reason = format!("is larger than {}; choose a smaller one", self.max().words);
        let problem = Problem::from(Error::invalid("picture", reason));
        Problem { status: StatusCode::PAYLOAD_TOO_LARGE, ..problem }
    }
}
