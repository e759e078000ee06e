//! Where pictures are kept: in the files of a folder, or wherever else `object_store` can.

use std::{
    fs::{self, DirBuilder},
    io,
    os::unix::fs::DirBuilderExt,
    path::Path,
    sync::Arc,
    time::Duration,
};

use async_trait::async_trait;
use bytes::Bytes;
use lodge_domain::{
    Error, Result,
    accounts::{PictureId, PictureSize, PictureStore, Squares},
};
use object_store::{ObjectStore, ObjectStoreExt, local::LocalFileSystem, path};
use tokio::{sync::Semaphore, time::timeout};

/// Pictures that are read at once: each takes a thread for a moment.
const READS_MAX: usize = 32;

/// How long one may wait for its turn to be read.
const TURN: Duration = Duration::from_secs(2);

/// Pictures in an object store, each size by itself.
pub struct ObjectPictures {
    store: Arc<dyn ObjectStore>,
    turns: Semaphore,
}

impl ObjectPictures {
    /// In that store, which has stored what it has acknowledged.
    pub fn new(store: Arc<dyn ObjectStore>) -> Self {
        Self { store, turns: Semaphore::new(READS_MAX) }
    }

    /// In the files of `folder`, which is made for its owner alone if there is none. A file is whole or not
    /// there, and on the disk, its folder too, before it is acknowledged. Blocks for as long as the disk
    /// takes.
    pub fn in_folder(folder: &Path) -> io::Result<Self> {
        DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
        if let Some(parent) = folder.canonicalize()?.parent() {
            fs::File::open(parent)?.sync_all()?;
        }
        let files = LocalFileSystem::new_with_prefix(folder).map_err(io::Error::other)?;
        Ok(Self::new(Arc::new(files.with_fsync(true))))
    }
}

#[async_trait]
impl PictureStore for ObjectPictures {
    async fn put(&self, id: PictureId, squares: Squares) -> Result<()> {
        for size in PictureSize::ALL {
            let bytes = squares.of(size).clone();
            self.store.put(&place(id, size), bytes.into()).await.map_err(failed)?;
        }
        Ok(())
    }

    async fn get(&self, id: PictureId, size: PictureSize) -> Result<Option<Bytes>> {
        let turn = timeout(TURN, self.turns.acquire()).await;
        let _turn = turn.map_err(|_| Error::unavailable("too many pictures are being read"))?;
        let found = async { self.store.get(&place(id, size)).await?.bytes().await };
        match found.await {
            Ok(bytes) => Ok(Some(bytes)),
            Err(object_store::Error::NotFound { .. }) => Ok(None),
            Err(error) => Err(failed(error)),
        }
    }

    async fn remove(&self, id: PictureId) -> Result<()> {
        for size in PictureSize::ALL {
            match self.store.delete(&place(id, size)).await {
                Ok(()) | Err(object_store::Error::NotFound { .. }) => {}
                Err(error) => {
                    tracing::warn!(%id, %error, "a picture that nobody has any more stays");
                    return Err(failed(error));
                }
            }
        }
        Ok(())
    }
}

/// Where a picture is: among 4,096 folders, so that none has millions of files.
fn place(id: PictureId, size: PictureSize) -> path::Path {
    let id = id.to_string();
    path::Path::from(format!("{}/{id}-{}.jpg", &id[..3], size.px()))
}

/// The disk may be full, or away: whatever was asked was not done, or can be done again.
fn failed(error: object_store::Error) -> Error {
    Error::unavailable(error)
}
