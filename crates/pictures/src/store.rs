//! Where pictures are kept: in the files of a folder, or wherever else `object_store` can.

use std::{
    fs::{self, DirBuilder},
    future::Future,
    io,
    os::unix::fs::DirBuilderExt,
    path::Path,
    sync::Arc,
    time::Duration,
};

use async_trait::async_trait;
use bytes::Bytes;
use futures_util::{StreamExt, TryStreamExt, stream, stream::BoxStream};
use jiff::Timestamp;
use lodge_domain::{
    Error, Result,
    accounts::{PictureId, PictureSize, PictureStore, Squares},
};
use object_store::{ObjectMeta, ObjectStore, ObjectStoreExt, local::LocalFileSystem, path};
use tokio::{
    runtime::Handle,
    sync::{Mutex, Semaphore},
    time::timeout,
};

/// What is done at once: each takes a thread for a moment, or for as long as the disk does not answer.
const OPERATIONS_MAX: usize = 32;

/// Files that are listed in one operation.
const FILES_A_PAGE: usize = 500;

/// How long something may wait for its turn.
const TURN: Duration = Duration::from_secs(2);

/// How long anybody waits for what is done.
const DEADLINE: Duration = Duration::from_secs(5);

/// Pictures in an object store, each size by itself.
pub struct ObjectPictures {
    store: Arc<dyn ObjectStore>,
    turns: Arc<Semaphore>,
    deadline: Duration,
    runtime: Handle,
}

impl ObjectPictures {
    /// In that store, which has stored what it has acknowledged. What is done with it is done in the runtime
    /// that this is called in.
    pub fn new(store: Arc<dyn ObjectStore>) -> Self {
        let turns = Arc::new(Semaphore::new(OPERATIONS_MAX));
        Self { store, turns, deadline: DEADLINE, runtime: Handle::current() }
    }

    /// The same, with another time for the store to answer in.
    #[must_use]
    pub fn within(self, deadline: Duration) -> Self {
        Self { deadline, ..self }
    }

    /// In the files of `folder`, which is made for its owner alone if there is none. A file is whole or not
    /// there, and on the disk, its folder too, before it is acknowledged. Fails if nothing can be written
    /// there. Blocks for as long as the disk takes.
    pub fn in_folder(folder: &Path) -> io::Result<Self> {
        make(folder)?;
        try_writing(folder)?;
        let files = LocalFileSystem::new_with_prefix(folder).map_err(io::Error::other)?;
        Ok(Self::new(Arc::new(files.with_fsync(true))))
    }

    /// Whether it could be kept in the files of `folder`; makes nothing that stays.
    pub fn probe(folder: &Path) -> io::Result<()> {
        let is_there = |folder: &&Path| folder.is_dir() || folder.as_os_str().is_empty();
        let there = folder.ancestors().find(is_there).unwrap_or(folder);
        if folder.exists() { try_writing(folder) } else { try_writing(there) }
    }

    /// Does something with the store. Nobody waits for long; what the store does not answer goes on, and
    /// keeps its turn, so that a store which has stopped answering holds so many threads and no more.
    async fn operate<T: Send + 'static>(
        &self,
        operation: impl Future<Output = object_store::Result<T>> + Send + 'static,
    ) -> Result<T> {
        let turn = timeout(TURN, Arc::clone(&self.turns).acquire_owned()).await;
        let turn = turn.map_err(|_| Error::unavailable("too much is asked of the pictures"))?;
        let operation = self.runtime.spawn(async move {
            let _turn = turn;
            operation.await
        });
        match timeout(self.deadline, operation).await {
            Ok(Ok(done)) => done.map_err(failed),
            Ok(Err(error)) => Err(Error::internal(error)),
            Err(_) => Err(Error::unavailable("where pictures are kept does not answer")),
        }
    }
}

#[async_trait]
impl PictureStore for ObjectPictures {
    async fn put(&self, id: PictureId, squares: Squares) -> Result<()> {
        let store = Arc::clone(&self.store);
        let put = async move {
            for size in PictureSize::ALL {
                store.put(&place(id, size), squares.of(size).clone().into()).await?;
            }
            Ok(())
        };
        self.operate(put).await
    }

    async fn get(&self, id: PictureId, size: PictureSize) -> Result<Option<Bytes>> {
        let store = Arc::clone(&self.store);
        let get = async move {
            let found = async { store.get(&place(id, size)).await?.bytes().await };
            found.await.map(Some).or_else(|error| absent(error, None))
        };
        self.operate(get).await
    }

    async fn remove(&self, id: PictureId) -> Result<()> {
        let store = Arc::clone(&self.store);
        let remove = async move {
            for size in PictureSize::ALL {
                let removed = store.delete(&place(id, size)).await;
                removed.or_else(|error| absent(error, ()))?;
            }
            Ok(())
        };
        let removed = self.operate(remove).await;
        if let Err(error) = &removed {
            tracing::warn!(%id, %error, "a picture that nobody has any more stays for now");
        }
        removed
    }

    fn put_before(&self, at: Timestamp) -> BoxStream<'_, Result<PictureId>> {
        let listed = Arc::new(Mutex::new(self.store.list(None)));
        let next = move |listed: Arc<Mutex<Listed>>| async move {
            let page = next_page(Arc::clone(&listed), at);
            let page = self.operate(page).await?;
            Ok(page.map(|ids| (stream::iter(ids.into_iter().map(Ok)), listed)))
        };
        stream::try_unfold(listed, next).try_flatten().boxed()
    }
}

type Listed = BoxStream<'static, object_store::Result<ObjectMeta>>;

/// Of the next files, the names of those that were put before `at`; `None` after the last. Some of a
/// picture's files may be on another page.
async fn next_page(
    listed: Arc<Mutex<Listed>>,
    at: Timestamp,
) -> object_store::Result<Option<Vec<PictureId>>> {
    let (mut listed, mut page, mut seen) = (listed.lock().await, Vec::new(), 0);
    while seen < FILES_A_PAGE {
        let Some(file) = listed.try_next().await? else {
            return Ok((seen > 0).then_some(page));
        };
        seen += 1;
        if file.last_modified.timestamp_millis() < at.as_millisecond() {
            page.extend(named(&file.location));
        }
    }
    Ok(Some(page))
}

/// Nothing, where a file is not there.
fn absent<T>(error: object_store::Error, nothing: T) -> object_store::Result<T> {
    match error {
        object_store::Error::NotFound { .. } => Ok(nothing),
        error => Err(error),
    }
}

/// Makes a folder, and those that it is in. Each is on the disk before this returns.
fn make(folder: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
    for parent in folder.canonicalize()?.ancestors().skip(1) {
        match fs::File::open(parent) {
            Ok(parent) => parent.sync_all()?,
            // What may not be read was there before.
            Err(error) if error.kind() == io::ErrorKind::PermissionDenied => break,
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// What it writes and removes begins with a dot and its own number: several may try at once.
fn try_writing(folder: &Path) -> io::Result<()> {
    let file = folder.join(format!(".tried-{}", std::process::id()));
    fs::write(&file, b"can this be written?")?;
    fs::remove_file(file)
}

/// Where a picture is: among 4,096 folders, so that none has millions of files.
fn place(id: PictureId, size: PictureSize) -> path::Path {
    let id = id.to_string();
    path::Path::from(format!("{}/{id}-{}.jpg", &id[..3], size.px()))
}

/// The picture whose file this is; none of a file that is not ours.
fn named(place: &path::Path) -> Option<PictureId> {
    place.filename()?.split_once('-')?.0.parse().ok()
}

/// The disk may be full, or away: whatever was asked was not done, or can be done again.
fn failed(error: object_store::Error) -> Error {
    Error::unavailable(error)
}
