//! Pictures in files keep the promises of the port, and some of their own.

use std::{fs, os::unix::fs::PermissionsExt, path::Path, sync::Arc};

use lodge_contract::{PicturesFixture, pictures::squares};
use lodge_domain::{
    Error,
    accounts::{PictureSize, PictureStore},
};
use lodge_pictures::ObjectPictures;
use tempfile::TempDir;

#[expect(clippy::unused_async, reason = "the suite waits for its fixture")]
async fn fixture() -> PicturesFixture {
    let folder = TempDir::new().unwrap();
    let pictures = Arc::new(ObjectPictures::in_folder(folder.path()).unwrap());
    PicturesFixture { pictures, guard: Box::new(folder) }
}

lodge_contract::pictures_promises!(fixture);

fn files(folder: &Path) -> usize {
    let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    entries.map(|path| if path.is_dir() { files(&path) } else { 1 }).sum()
}

#[tokio::test]
async fn a_picture_is_there_when_the_folder_is_opened_again_and_nothing_else_is() {
    let parent = TempDir::new().unwrap();
    let folder = parent.path().join("deep/pictures");
    let (id, squares) = squares("kept");
    ObjectPictures::in_folder(&folder).unwrap().put(id, squares.clone()).await.unwrap();
    assert_eq!(fs::metadata(&folder).unwrap().permissions().mode() & 0o777, 0o700);
    let store = ObjectPictures::in_folder(&folder).unwrap();
    assert_eq!(store.get(id, PictureSize::Small).await.unwrap(), Some(squares.small));
    assert_eq!(files(&folder), 2);
    store.remove(id).await.unwrap();
    assert_eq!(files(&folder), 0);
}

#[tokio::test]
async fn a_folder_that_is_in_the_way_is_no_absent_picture() {
    let folder = TempDir::new().unwrap();
    let store = ObjectPictures::in_folder(folder.path()).unwrap();
    let (id, squares) = squares("hindered");
    fs::write(folder.path().join(&id.to_string()[..3]), "a file where a folder should be").unwrap();
    let put = store.put(id, squares).await;
    assert!(matches!(put, Err(Error::Unavailable { .. })), "{put:?}");
}
