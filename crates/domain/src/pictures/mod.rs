//! Pictures of accounts, bots and messages: ids, decoding and storage.

mod keeper;
mod picture;

pub(crate) use self::keeper::{remove, run_to_completion};
pub use self::{
    keeper::PictureKeeper,
    picture::{
        PICTURES_PER_CALL_MAX, Picture, PictureDecoder, PictureId, PictureOwners, PictureSize,
        PictureStore, Shape,
    },
};
