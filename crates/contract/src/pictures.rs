//! Pictures: what keeps them, and files to try their decoder with.

use bytes::Bytes;
use futures_util::TryStreamExt;
use jiff::{SignedDuration, Timestamp};
use lodge_domain::{
    Clock, OsRandom, SystemClock,
    accounts::{AccountId, PictureId, PictureSize, Squares},
};

use crate::PicturesFixture;

pub mod files;

/// A picture that no other test has, for a store that does not look at it.
pub fn squares(text: &str) -> (PictureId, Squares) {
    let large = Bytes::from(format!("{text} {}", uuid::Uuid::now_v7()).repeat(1_000));
    let squares = Squares { large, small: Bytes::from_static(b"small") };
    (PictureId::draw(AccountId(1), &squares, &OsRandom), squares)
}

/// In each of its sizes.
pub async fn a_picture_is_kept_in_both_sizes(fixture: &PicturesFixture) {
    let store = &*fixture.pictures;
    let (id, squares) = squares("kept");
    for size in PictureSize::ALL {
        assert_eq!(store.get(id, size).await.unwrap(), None);
    }
    for _ in 0..2 {
        store.put(id, squares.clone()).await.unwrap();
        for size in PictureSize::ALL {
            assert_eq!(store.get(id, size).await.unwrap().as_ref(), Some(squares.of(size)));
        }
    }
}

/// And nothing else does.
pub async fn a_removed_picture_is_gone(fixture: &PicturesFixture) {
    let store = &*fixture.pictures;
    let ((gone, squares_gone), (stays, squares_stay)) = (squares("gone"), squares("stays"));
    store.put(gone, squares_gone.clone()).await.unwrap();
    store.put(stays, squares_stay.clone()).await.unwrap();
    for _ in 0..2 {
        store.remove(gone).await.unwrap();
        for size in PictureSize::ALL {
            assert_eq!(store.get(gone, size).await.unwrap(), None);
            assert_eq!(store.get(stays, size).await.unwrap().as_ref(), Some(squares_stay.of(size)));
        }
    }
    store.put(gone, squares_gone.clone()).await.unwrap();
    let again = store.get(gone, PictureSize::Large).await.unwrap();
    assert_eq!(again, Some(squares_gone.large));
}

/// And what is younger is not told.
pub async fn old_pictures_are_found(fixture: &PicturesFixture) {
    let store = &*fixture.pictures;
    let (id, squares) = squares("old");
    store.put(id, squares).await.unwrap();
    let now = SystemClock.now();
    let before = async |at: Timestamp| -> Vec<PictureId> {
        store.put_before(at).try_collect().await.unwrap()
    };
    assert!(!before(now - SignedDuration::from_hours(1)).await.contains(&id));
    assert!(before(now + SignedDuration::from_hours(1)).await.contains(&id));
    store.remove(id).await.unwrap();
    assert!(!before(now + SignedDuration::from_hours(1)).await.contains(&id));
}
