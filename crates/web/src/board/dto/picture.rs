//! Where pictures of messages are.

use std::borrow::Borrow;

use lodge_domain::pictures::{PictureId, PictureSize};
use serde::Serialize;
use utoipa::ToSchema;

/// Where the picture of a message is.
pub(in crate::board) fn picture_of(id: impl Borrow<PictureId>, size: PictureSize) -> String {
    format!("/board/-/pictures/{}/{}", id.borrow(), size.px())
}

/// Where the picture of a message is on this site, for whoever can read it.
#[derive(Serialize, ToSchema)]
pub(super) struct MessagePictureJson {
    /// All of it, within 1,024 pixels a side.
    url: String,
    /// The same within 320.
    preview: String,
}

impl From<PictureId> for MessagePictureJson {
    fn from(id: PictureId) -> Self {
        Self {
            url: picture_of(id, PictureSize::Full),
            preview: picture_of(id, PictureSize::Preview),
        }
    }
}
