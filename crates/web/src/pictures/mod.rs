//! Pictures: upload and download, for all apps.

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

/// Returns the path of an account picture.
pub(crate) fn path(id: PictureId, size: PictureSize) -> String {
    format!("/-/pictures/{id}/{}", size.px())
}

/// Parses the path parameters of a picture.
pub(crate) fn named(id: &str, shape: Shape, px: &str) -> Result<(PictureId, PictureSize), Error> {
    id.parse().ok().zip(PictureSize::parse(shape, px)).ok_or(NO_PICTURE)
}

/// Responds with a JPEG and `cached` as its `Cache-Control`; 404 if `bytes` is `None`.
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
