//! Pictures in messages.

use std::sync::Arc;

use bytes::Bytes;

use super::{
    Actor, Board, BoardEvent, BoardEventContent, NewMessage, PAGE_MAX, Posted, Visibility,
};
use crate::{
    Error, Result,
    accounts::AccountId,
    pictures::{Picture, PictureId, PictureSize, Shape},
};

impl Board {
    /// A dry run of a post with a picture, before the picture is decoded: returns the original event of a repetition,
    /// `None` if the message would be stored, or the error of the post.
    pub async fn dry_run(&self, by: &Actor, new: &NewMessage) -> Result<Option<BoardEvent>> {
        let before = self.stores.log.dry_run(new.clone(), by.clone(), self.clock.now()).await?;
        before.map(|before| check_pictured(&before).map(|()| before)).transpose()
    }

    /// Decodes an upload and drops it.
    pub async fn decoded(&self, upload: Bytes) -> Result<Picture> {
        self.keeper.decoded(upload, Shape::Whole).await
    }

    /// Stores a picture and then its message. A repetition returns the original event, and its picture is removed.
    pub async fn post_with(&self, by: &Actor, new: NewMessage, picture: Picture) -> Result<Posted> {
        let (log, keeper, notifier) =
            (Arc::clone(&self.stores.log), self.keeper.clone(), self.notifier.clone());
        let (writer, now) = (by.clone(), self.clock.now());
        let name = async move |id| {
            let channel = new.channel.clone();
            let new = NewMessage { picture: Some(id), ..new };
            let posted = log.post(new, writer, now).await?;
            match &posted {
                Posted::New(event) => notifier.notify(channel, event),
                Posted::Repeated(before) => {
                    keeper.remove(id).await;
                    check_pictured(before)?;
                }
            }
            Ok(posted)
        };
        self.keeper.keep(by.id().number(), picture, name).await
    }

    /// Returns a picture in one size, if it is in a message that `by` can read.
    pub async fn picture(
        &self,
        by: &Actor,
        id: PictureId,
        size: PictureSize,
    ) -> Result<Option<Bytes>> {
        match self.stores.pictures.visibility(id).await? {
            Some(Visibility::Shown) => self.keeper.get(id, size).await,
            Some(Visibility::Hidden) if by.is_staff() => self.keeper.get(id, size).await,
            _ => Ok(None),
        }
    }

    /// Detaches and removes all pictures of an account.
    pub(super) async fn take_pictures_from(&self, former: AccountId) -> Result<()> {
        loop {
            let taken = self.stores.pictures.take_from(former, PAGE_MAX).await?;
            for picture in &taken {
                self.keeper.remove(*picture).await;
            }
            if taken.len() < PAGE_MAX {
                return Ok(());
            }
        }
    }

    /// Removes pictures that no message has or will have; returns their number.
    pub async fn sweep_pictures(&self) -> Result<usize> {
        self.keeper.sweep(&*self.stores.pictures, self.clock.now()).await
    }
}

/// Returns [`Error::KeyReused`] if the original message has no picture: the new one would be lost while the answer
/// said that it is stored.
fn check_pictured(before: &BoardEvent) -> Result<()> {
    match before.content {
        BoardEventContent::Message { picture: None, visibility: Visibility::Shown, .. } => {
            Err(Error::KeyReused)
        }
        _ => Ok(()),
    }
}
