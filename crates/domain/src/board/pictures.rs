//! Pictures in messages.

use std::sync::Arc;

use bytes::Bytes;

use super::{Actor, Board, Event, NewMessage, PAGE_MAX, Posted, Visibility, What};
use crate::{
    Error, Result,
    accounts::AccountId,
    pictures::{Picture, PictureId, PictureSize, Shape},
};

impl Board {
    /// What would come of a message if it was posted now: the message that it is, or nothing; or why it cannot be.
    /// Whoever sends a picture with it is asked this before anything is made of that.
    pub async fn foresee(&self, by: &Actor, new: &NewMessage) -> Result<Option<Event>> {
        let before = self.stores.log.foresee(new.clone(), by.clone(), self.clock.now()).await?;
        before.map(|before| check_pictured(&before).map(|()| before)).transpose()
    }

    /// Makes a picture of what somebody sent, which is let go of then.
    pub async fn decoded(&self, upload: Bytes) -> Result<Picture> {
        self.keeper.decoded(upload, Shape::Whole).await
    }

    /// Stores a message with a picture, which is kept before. The same message again answers with the first, and keeps
    /// no other picture.
    pub async fn post_with(&self, by: &Actor, new: NewMessage, picture: Picture) -> Result<Posted> {
        let (log, keeper, rings) =
            (Arc::clone(&self.stores.log), self.keeper.clone(), self.rings.clone());
        let (writer, now) = (by.clone(), self.clock.now());
        let name = async move |id| {
            let channel = new.channel.clone();
            let new = NewMessage { picture: Some(id), ..new };
            let posted = log.post(new, writer, now).await?;
            match &posted {
                // Nobody may listen.
                Posted::New(_) => drop(rings.send(channel)),
                Posted::Before(before) => {
                    keeper.remove(id).await;
                    check_pictured(before)?;
                }
            }
            Ok(posted)
        };
        self.keeper.keep(by.id().number(), picture, name).await
    }

    /// A picture in one size, if it is in a message that `by` can read.
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

    /// Takes away all pictures that an account sent.
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

    /// Removes pictures that are in no message and will be in none; how many these were.
    pub async fn sweep_pictures(&self) -> Result<usize> {
        self.keeper.sweep(&*self.stores.pictures, self.clock.now()).await
    }
}

/// [`Error::KeyReused`] if what is there already came without a picture: the one that comes now would be lost, and the
/// answer would say that it is stored.
fn check_pictured(before: &Event) -> Result<()> {
    match before.what {
        What::Message { picture: None, visibility: Visibility::Shown, .. } => Err(Error::KeyReused),
        _ => Ok(()),
    }
}
