//! Storage of pictures: files in a folder, or another backend of `object_store`.

use std::{
    ffi::OsStr,
    fs::{self, DirBuilder},
    future::{Future, ready},
    io,
    iter::once,
    ops::RangeInclusive,
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
use object_store::{
    ObjectMeta, ObjectStore, ObjectStoreExt, PutPayload, local::LocalFileSystem, path,
};
use tokio::{
    runtime::Handle,
    sync::{Mutex, Semaphore},
    task::spawn_blocking,
    time::timeout,
};

/// Concurrent operations: each occupies a thread, for as long as the disk is unresponsive.
const OPERATIONS_MAX: usize = 32;

/// Files listed per operation.
const FILES_A_PAGE: usize = 500;

/// The longest wait for a permit.
const TURN: Duration = Duration::from_secs(2);

/// Default timeout of an operation for its caller.
const DEADLINE: Duration = Duration::from_secs(5);

/// The object whose time of change is the beginning of the last sweep.
const SWEEP: &str = "last-sweep";

/// Pictures in an object store, one object per size.
pub struct ObjectPictures {
    store: Arc<dyn ObjectStore>,
    /// The folder, if the store is a file system.
    folder: Option<PathBuf>,
    turns: Arc<Semaphore>,
    deadline: Duration,
    runtime: Handle,
}

impl ObjectPictures {
    /// Uses an object store, whose acknowledged writes must be durable. Operations run on the runtime that this is
    /// called in.
    pub fn new(store: Arc<dyn ObjectStore>) -> Self {
        let turns = Arc::new(Semaphore::new(OPERATIONS_MAX));
        Self { store, folder: None, turns, deadline: DEADLINE, runtime: Handle::current() }
    }

    /// Sets the timeout of an operation.
    #[must_use]
    pub fn with_timeout(self, deadline: Duration) -> Self {
        Self { deadline, ..self }
    }

    /// Uses files in `folder`, which is created with mode 0700 if absent. Writes are atomic, and file and folder are
    /// synced before the write is acknowledged. Temporary files of a killed process are removed when old pictures
    /// are listed ([`PictureStore::put_before`]). Fails if the folder is not writable. Blocks on the disk.
    pub fn in_folder(folder: &Path) -> io::Result<Self> {
        make(folder)?;
        try_writing(folder)?;
        let files = LocalFileSystem::new_with_prefix(folder).map_err(io::Error::other)?;
        let folder = Some(folder.to_owned());
        Ok(Self { folder, ..Self::new(Arc::new(files.with_fsync(true))) })
    }

    /// Checks that pictures could be stored in `folder`; leaves no file behind.
    pub fn probe(folder: &Path) -> io::Result<()> {
        let is_there = |path: &&Path| path.exists() || path.as_os_str().is_empty();
        try_writing(folder.ancestors().find(is_there).unwrap_or(folder))
    }

    /// Runs an operation on the store. The caller waits until the timeout; the operation itself continues and keeps
    /// its permit, so that an unresponsive store occupies at most [`OPERATIONS_MAX`] threads.
    async fn operate<T: Send + 'static>(
        &self,
        operation: impl Future<Output = object_store::Result<T>> + Send + 'static,
    ) -> Result<T> {
        let turn = timeout(TURN, Arc::clone(&self.turns).acquire_owned()).await;
        let turn =
            turn.map_err(|_| Error::unavailable("too many picture operations are waiting"))?;
        let operation = self.runtime.spawn(async move {
            let _turn = turn;
            operation.await
        });
        match timeout(self.deadline, operation).await {
            // The disk may be full or unavailable. Every operation is safe to retry.
            Ok(Ok(done)) => done.map_err(Error::unavailable),
            Ok(Err(error)) => Err(Error::internal(error)),
            Err(_) => Err(Error::unavailable("the picture store timed out")),
        }
    }

    /// Removes temporary files from before `at`, one folder per operation.
    async fn remove_unfinished(&self, at: SystemTime) -> Result<()> {
        let Some(folder) = self.folder.clone() else { return Ok(()) };
        let root = folder.clone();
        let folders = self.operate(blocking(move || folders(&folder))).await?;
        for folder in folders.into_iter().chain(once(root)) {
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
            let files = PictureSize::ALL.map(|size| Ok(place(id, size)));
            let removed = store
                .delete_stream(stream::iter(files).boxed())
                .map(|removed| removed.map(drop).or_else(|error| absent(error, ())));
            removed.try_collect().await
        };
        let removed = self.operate(remove).await;
        if let Err(error) = &removed {
            let error = error.log_text();
            tracing::warn!(%id, error, "cannot remove an unused picture; it stays for now");
        }
        removed
    }

    async fn begin_sweep(&self, recent: RangeInclusive<Timestamp>) -> Result<bool> {
        let store = Arc::clone(&self.store);
        let begin = async move {
            let record = path::Path::from(SWEEP);
            let last = store.head(&record).await.map(Some).or_else(|error| absent(error, None))?;
            let recent = recent.start().as_millisecond()..=recent.end().as_millisecond();
            let is_recent =
                |last: ObjectMeta| recent.contains(&last.last_modified.timestamp_millis());
            if last.is_some_and(is_recent) {
                return Ok(false);
            }
            store.put(&record, PutPayload::new()).await?;
            Ok(true)
        };
        self.operate(begin).await
    }

    async fn forget_sweep(&self) -> Result<()> {
        let store = Arc::clone(&self.store);
        let forget = async move {
            let removed = store.delete(&path::Path::from(SWEEP)).await;
            removed.or_else(|error| absent(error, ()))
        };
        self.operate(forget).await
    }

    fn put_before(&self, at: Timestamp) -> BoxStream<'_, Result<PictureId>> {
        let listed = Arc::new(Mutex::new(self.store.list(None).fuse().boxed()));
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

/// Returns the ids of the next files that were put before `at`; `None` after the last. The files of one picture may
/// be on different pages.
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

/// Runs blocking file operations on a thread.
async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> io::Result<T> + Send + 'static,
) -> object_store::Result<T> {
    let done = spawn_blocking(work).await?;
    done.map_err(|error| object_store::Error::Generic { store: "files", source: error.into() })
}

/// Returns the subfolders of a folder.
fn folders(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let paths = fs::read_dir(folder)?.map(|entry| Ok(entry?.path()));
    paths.filter(|path| path.as_ref().map_or(true, |path| path.is_dir())).collect()
}

/// Removes the temporary files of a folder from before `at`. A file that is completed or removed meanwhile by another
/// process is skipped.
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

/// Whether this is the name of a temporary file of `LocalFileSystem`, which neither lists nor removes such files.
fn is_unfinished(name: &OsStr) -> bool {
    name.to_str().and_then(|name| name.rsplit_once('#')).is_some_and(|(file, number)| {
        let is_picture = Path::new(file).extension().is_some_and(|of| of == "jpg");
        (is_picture || file == SWEEP) && number.bytes().all(|digit| digit.is_ascii_digit())
    })
}

/// Turns a not-found error into `nothing`.
pub(crate) fn absent<T>(error: object_store::Error, nothing: T) -> object_store::Result<T> {
    match error {
        object_store::Error::NotFound { .. } => Ok(nothing),
        error => Err(error),
    }
}

/// Creates a folder and its parents, and syncs each parent.
fn make(folder: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
    for parent in folder.canonicalize()?.ancestors().skip(1) {
        match fs::File::open(parent) {
            Ok(parent) => parent.sync_all()?,
            // An unreadable parent was not created here.
            Err(error) if error.kind() == io::ErrorKind::PermissionDenied => break,
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// Writes and removes a hidden file. Its name is random: several processes may try at once, and in containers that
/// share the folder each may have process id 1.
fn try_writing(folder: &Path) -> io::Result<()> {
    let file = folder.join(format!(".tried-{:016x}", rand::random::<u64>()));
    fs::write(&file, b"can this be written?")?;
    fs::remove_file(file)
}

/// Returns the path of a picture, spread over 4,096 folders, so that none has millions of files.
fn place(id: PictureId, size: PictureSize) -> path::Path {
    let id = id.to_string();
    path::Path::from(format!("{}/{id}-{}.jpg", &id[..3], size.px()))
}

/// Returns the id in the path of a picture; `None` for a foreign file.
pub(crate) fn named(place: &path::Path) -> Option<PictureId> {
    place.filename()?.split_once('-')?.0.parse().ok()
}
