//! The file store passes the contract suite of the port, and tests of its own.

use std::{
    fs, mem,
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
    process::Command,
    sync::Arc,
    thread,
    time::{Duration, Instant},
};

use futures_util::{TryStreamExt, future::join_all};
use jiff::{SignedDuration, Timestamp};
use lodge_contract::pictures::picture;
use lodge_domain::{
    Error,
    accounts::{PictureId, PictureSize, PictureStore},
};
use lodge_pictures::ObjectPictures;
use object_store::{ObjectStoreExt, local::LocalFileSystem};
use tempfile::TempDir;

#[expect(clippy::unused_async, reason = "the suite waits for its fixture")]
async fn fixture() -> (Arc<dyn PictureStore>, TempDir) {
    let folder = TempDir::new().unwrap();
    (Arc::new(ObjectPictures::in_folder(folder.path()).unwrap()), folder)
}

lodge_contract::pictures_promises!(fixture);

fn files(folder: &Path) -> usize {
    let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    entries.map(|path| if path.is_dir() { files(&path) } else { 1 }).sum()
}

#[tokio::test]
async fn a_picture_survives_reopening_the_folder_and_leaves_no_other_file() {
    let parent = TempDir::new().unwrap();
    let folder = parent.path().join("deep/pictures");
    let (id, picture) = picture("kept");
    ObjectPictures::in_folder(&folder).unwrap().put(id, picture.clone()).await.unwrap();
    assert_eq!(fs::metadata(&folder).unwrap().permissions().mode() & 0o777, 0o700);
    let store = ObjectPictures::in_folder(&folder).unwrap();
    assert_eq!(
        store.get(id, PictureSize::Small).await.unwrap(),
        picture.of(PictureSize::Small).cloned()
    );
    assert_eq!(files(&folder), 2);
    store.remove(id).await.unwrap();
    assert_eq!(files(&folder), 0);
}

#[tokio::test]
async fn old_temporary_files_are_removed() {
    let folder = TempDir::new().unwrap();
    let store = ObjectPictures::in_folder(folder.path()).unwrap();
    let (id, picture) = picture("whole");
    store.put(id, picture).await.unwrap();
    let id = id.to_string();
    let begun = LocalFileSystem::new_with_prefix(folder.path()).unwrap();
    let begun = begun.put_multipart(&format!("{}/{id}-256.jpg", &id[..3]).into()).await.unwrap();
    // Its `Drop` would clean up, which a killed process does not.
    mem::forget(begun);
    let begun = LocalFileSystem::new_with_prefix(folder.path()).unwrap();
    mem::forget(begun.put_multipart(&"last-sweep".into()).await.unwrap());
    assert_eq!(files(folder.path()), 4);
    let hour = SignedDuration::from_hours(1);
    for (at, left) in [(Timestamp::now() - hour, 4), (Timestamp::now() + hour, 2)] {
        let _: Vec<PictureId> = store.put_before(at).try_collect().await.unwrap();
        assert_eq!(files(folder.path()), left);
    }
}

#[test]
fn a_folder_can_be_probed_concurrently() {
    let folder = TempDir::new().unwrap();
    let tries = || (0..200).try_for_each(|_| ObjectPictures::probe(folder.path()));
    thread::scope(|scope| {
        let all: Vec<_> = (0..4).map(|_| scope.spawn(tries)).collect();
        for one in all {
            one.join().unwrap().unwrap();
        }
    });
    assert_eq!(files(folder.path()), 0);
}

#[tokio::test]
async fn an_inaccessible_path_is_unavailable_and_not_absent() {
    let folder = TempDir::new().unwrap();
    let store = ObjectPictures::in_folder(folder.path()).unwrap();
    let (id, picture) = picture("hindered");
    fs::write(folder.path().join(&id.to_string()[..3]), "a file where a folder should be").unwrap();
    let put = store.put(id, picture).await;
    assert!(matches!(put, Err(Error::Unavailable { .. })), "{put:?}");
    let got = store.get(id, PictureSize::Large).await;
    assert!(matches!(got, Err(Error::Unavailable { .. })), "{got:?}");
}

/// A named pipe that blocks its readers until it is opened for writing, like an unresponsive disk.
struct Stall(PathBuf);

impl Drop for Stall {
    /// Unblocks all readers, also if the test fails: its runtime would not end before.
    fn drop(&mut self) {
        let pipe = fs::File::options().read(true).write(true).open(&self.0);
        fs::remove_file(&self.0).unwrap();
        drop(pipe);
    }
}

fn stall(folder: &Path, id: PictureId) -> Stall {
    let id = id.to_string();
    fs::create_dir_all(folder.join(&id[..3])).unwrap();
    let pipe = folder.join(&id[..3]).join(format!("{id}-256.jpg"));
    assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    Stall(pipe)
}

#[tokio::test]
async fn an_unresponsive_disk_times_out() {
    let folder = TempDir::new().unwrap();
    let store = ObjectPictures::in_folder(folder.path()).unwrap();
    let store = store.with_timeout(Duration::from_millis(300));
    let (id, picture) = picture("after the stall");
    let (stalled, _) = self::picture("stalled");
    let pipe = stall(folder.path(), stalled);
    let gets = join_all((0..100).map(|_| store.get(stalled, PictureSize::Large))).await;
    let is_away = |got: &Result<_, Error>| matches!(got, Err(Error::Unavailable { .. }));
    assert!(gets.iter().all(is_away), "{gets:?}");
    let waits = store.get(id, PictureSize::Large).await;
    assert!(is_away(&waits), "blocked operations hold all permits: {waits:?}");
    // Now all blocked readers continue.
    drop(pipe);
    let deadline = Instant::now() + Duration::from_secs(20);
    while store.put(id, picture.clone()).await.is_err() {
        assert!(Instant::now() < deadline, "the permits are not released");
    }
    assert_eq!(files(folder.path()), 2);
}

#[tokio::test]
async fn a_folder_that_cannot_be_written_is_refused_at_once() {
    let parent = TempDir::new().unwrap();
    let folder = parent.path().join("pictures");
    fs::write(&folder, "a file where a folder should be").unwrap();
    assert!(ObjectPictures::in_folder(&folder).is_err());
    fs::remove_file(&folder).unwrap();
    ObjectPictures::in_folder(&folder).unwrap();
    assert_eq!(files(&folder), 0, "the file of the check is removed");
    // Not writable even for root.
    assert!(ObjectPictures::in_folder(Path::new("/proc")).is_err());
    assert!(ObjectPictures::probe(Path::new("/proc")).is_err());
}
