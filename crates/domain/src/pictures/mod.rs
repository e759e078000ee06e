//! Pictures of accounts, bots and messages: ids, decoding and storage.

mod keeper;
mod picture;

pub(crate) use self::keeper::{remove, to_its_end};
pub use self::{
    keeper::PictureKeeper,
    picture::{
        PICTURES_ASKED, Picture, PictureDecoder, PictureId, PictureSize, PictureStore, Pictured,
        Shape,
    },
};
