//! Pictures, as every app takes and shows them.

mod uploads;

use bytes::Bytes;
use http::HeaderMap;
use lodge_domain::{
    Error,
    pictures::{PictureId, PictureSize, Shape},
};

pub(crate) use self::uploads::{PictureMax, Uploads};
use crate::{conditional::Tagged, error::HttpResult};

const NO_PICTURE: Error = Error::not_found("there is no such picture");

/// Where the picture of an account is, on this site.
pub(crate) fn path(id: PictureId, size: PictureSize) -> String {
    format!("/-/pictures/{id}/{}", size.px())
}

/// The picture of a path, and its size.
pub(crate) fn named(id: &str, shape: Shape, px: &str) -> Result<(PictureId, PictureSize), Error> {
    id.parse().ok().zip(PictureSize::parse(shape, px)).ok_or(NO_PICTURE)
}

/// A picture, if there is such a one, to be cached so.
pub(crate) fn answer(
    id: PictureId,
    size: PictureSize,
    bytes: Option<Bytes>,
    cached: &'static str,
    headers: &HeaderMap,
) -> HttpResult {
    let bytes = bytes.ok_or(NO_PICTURE)?;
    let tag = format!("{id}-{}", size.px());
    Ok(Tagged { tag, cached, kind: "image/jpeg" }.answer(headers, bytes))
}
