//! Where pictures are kept: in the files of a folder, or wherever else `object_store` can.

use std::{
    ffi::OsStr,
    fs::{self, DirBuilder},
    future::{Future, ready},
    io,
    os::unix::fs::DirBuilderExt,
    path::{Path, PathBuf},
    sync::Arc,
    time::{Duration, SystemTime},
};

use async_trait::async_trait;
use bytes::Bytes;
use futures_util::{StreamExt, TryStreamExt, stream, stream::BoxStream};
use jiff::Timestamp;
use lodge_domain::{
    Error, Result,
    accounts::{Picture, PictureId, PictureSize, PictureStore},
};
use object_store::{ObjectMeta, ObjectStore, ObjectStoreExt, local::LocalFileSystem, path};
use tokio::{
    runtime::Handle,
    sync::{Mutex, Semaphore},
    task::spawn_blocking,
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
    /// Of what is kept in files, their folder.
    folder: Option<PathBuf>,
    turns: Arc<Semaphore>,
    deadline: Duration,
    runtime: Handle,
}

impl ObjectPictures {
    /// In that store, which has stored what it has acknowledged. What is done with it is done in the runtime
    /// that this is called in.
    pub fn new(store: Arc<dyn ObjectStore>) -> Self {
        let turns = Arc::new(Semaphore::new(OPERATIONS_MAX));
        Self { store, folder: None, turns, deadline: DEADLINE, runtime: Handle::current() }
    }

    /// The same, with another time for the store to answer in.
    #[must_use]
    pub fn within(self, deadline: Duration) -> Self {
        Self { deadline, ..self }
    }

    /// In the files of `folder`, which is made for its owner alone if there is none. A file is whole or not
    /// there, and on the disk, its folder too, before it is acknowledged; what a process that was stopped has
    /// left unfinished goes when old pictures are looked for. Fails if nothing can be written there. Blocks
    /// for as long as the disk takes.
    pub fn in_folder(folder: &Path) -> io::Result<Self> {
        make(folder)?;
        try_writing(folder)?;
        let files = LocalFileSystem::new_with_prefix(folder).map_err(io::Error::other)?;
        let folder = Some(folder.to_owned());
        Ok(Self { folder, ..Self::new(Arc::new(files.with_fsync(true))) })
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
            // The disk may be full, or away: whatever was asked was not done, or can be done again.
            Ok(Ok(done)) => done.map_err(Error::unavailable),
            Ok(Err(error)) => Err(Error::internal(error)),
            Err(_) => Err(Error::unavailable("where pictures are kept does not answer")),
        }
    }

    /// Removes what was begun before `at` and is not finished, one folder at a time.
    async fn remove_unfinished(&self, at: SystemTime) -> Result<()> {
        let Some(folder) = self.folder.clone() else { return Ok(()) };
        for folder in self.operate(blocking(move || folders(&folder))).await? {
            self.operate(blocking(move || remove_unfinished(&folder, at))).await?;
        }
        Ok(())
    }
}

#[async_trait]
impl PictureStore for ObjectPictures {
    async fn put(&self, id: PictureId, picture: Picture) -> Result<()> {
        let store = Arc::clone(&self.store);
        let put = async move {
            for (size, bytes) in picture.files() {
                store.put(&place(id, *size), bytes.clone().into()).await?;
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
        let put = stream::try_unfold(listed, next).try_flatten();
        let removed = stream::once(self.remove_unfinished(at.into()));
        removed.try_filter_map(|()| ready(Ok(None))).chain(put).boxed()
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

/// What takes a thread for a moment.
async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> io::Result<T> + Send + 'static,
) -> object_store::Result<T> {
    let done = spawn_blocking(work).await?;
    done.map_err(|error| object_store::Error::Generic { store: "files", source: error.into() })
}

/// The folders in this one.
fn folders(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let paths = fs::read_dir(folder)?.map(|entry| Ok(entry?.path()));
    paths.filter(|path| path.as_ref().map_or(true, |path| path.is_dir())).collect()
}

/// Removes from a folder what was begun before `at` and is not finished. What is finished meanwhile, or
/// removed by another process, is not there any more.
fn remove_unfinished(folder: &Path, at: SystemTime) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let file = entry?.path();
        if !file.file_name().is_some_and(is_unfinished) {
            continue;
        }
        let is_old = fs::metadata(&file).and_then(|file| Ok(file.modified()? < at));
        let removed = is_old.and_then(|is_old| if is_old { fs::remove_file(file) } else { Ok(()) });
        removed.or_else(|error| match error.kind() {
            io::ErrorKind::NotFound => Ok(()),
            _ => Err(error),
        })?;
    }
    Ok(())
}

/// Whether `LocalFileSystem` has given this name to a picture's file until it is whole. It neither lists nor
/// removes such files.
fn is_unfinished(name: &OsStr) -> bool {
    let number = name.to_str().and_then(|name| Some(name.split_once(".jpg#")?.1));
    number.is_some_and(|number| number.bytes().all(|digit| digit.is_ascii_digit()))
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

/// What it writes and removes begins with a dot and has a name of its own: several may try at once, and in
/// containers that share the folder all of them may be process 1.
fn try_writing(folder: &Path) -> io::Result<()> {
    let file = folder.join(format!(".tried-{:016x}", rand::random::<u64>()));
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
