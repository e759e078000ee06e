//! Pictures are moved to another store.

use std::{fs, path::Path, sync::Arc};

use lodge_contract::pictures::picture;
use lodge_domain::accounts::{PictureId, PictureSize, PictureStore};
use lodge_pictures::{ObjectPictures, PicturesComparison, PicturesMove};
use object_store::local::LocalFileSystem;
use tempfile::TempDir;

/// A folder with so many pictures.
async fn folder_of(count: usize) -> (TempDir, Vec<PictureId>) {
    let folder = TempDir::new().unwrap();
    let store = ObjectPictures::in_folder(folder.path()).unwrap();
    let mut ids = Vec::new();
    for number in 0..count {
        let (id, picture) = picture(&number.to_string());
        store.put(id, picture).await.unwrap();
        ids.push(id);
    }
    (folder, ids)
}

async fn moved(from: &Path, to: &Path) -> PicturesComparison {
    let to = Arc::new(LocalFileSystem::new_with_prefix(to).unwrap());
    let pictures = PicturesMove::open(from, to).unwrap().unwrap();
    pictures.run(&|_, _| {}).await.unwrap()
}

fn file(folder: &Path, id: PictureId) -> std::path::PathBuf {
    let id = id.to_string();
    folder.join(&id[..3]).join(format!("{id}-{}.jpg", PictureSize::Large.px()))
}

#[tokio::test]
async fn a_move_copies_what_is_missing_and_tells_what_differs() {
    let ((from, ids), to) = (folder_of(20).await, TempDir::new().unwrap());
    let equal = PicturesComparison { pictures: 20, differences: 0 };
    assert_eq!(moved(from.path(), to.path()).await, equal);
    let original = file(from.path(), ids[0]);
    for (number, id) in ids.iter().enumerate() {
        let (kept, copied) = (file(from.path(), *id), file(to.path(), *id));
        assert_eq!(fs::read(&kept).unwrap(), fs::read(&copied).unwrap());
        // A move that was killed: some files are missing, and one is cut off.
        match number {
            5..10 => fs::remove_file(copied).unwrap(),
            10 => fs::write(copied, "cut off").unwrap(),
            _ => {}
        }
    }
    assert_eq!(moved(from.path(), to.path()).await, equal);
    // Other content of the same length is not overwritten.
    let mut bytes = fs::read(&original).unwrap();
    bytes[0] ^= 1;
    fs::write(file(to.path(), ids[0]), bytes).unwrap();
    let differs = PicturesComparison { differences: 1, ..equal };
    assert_eq!(moved(from.path(), to.path()).await, differs);
}

#[tokio::test]
async fn a_move_leaves_files_that_are_no_pictures() {
    let ((from, _), to) = (folder_of(1).await, TempDir::new().unwrap());
    fs::write(from.path().join("last-sweep"), "").unwrap();
    fs::create_dir(from.path().join("abc")).unwrap();
    fs::write(from.path().join("abc/notes.txt"), "").unwrap();
    assert_eq!(moved(from.path(), to.path()).await.pictures, 1);
    assert!(!to.path().join("abc").exists() && !to.path().join("last-sweep").exists());
}

#[test]
fn there_is_no_move_of_a_folder_that_does_not_exist() {
    let to = Arc::new(LocalFileSystem::new());
    assert!(PicturesMove::open(Path::new("/missing"), to).unwrap().is_none());
}
