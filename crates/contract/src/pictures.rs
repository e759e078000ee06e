//! Picture stores, and files to test a decoder with.

use std::sync::Arc;

use bytes::Bytes;
use futures_util::TryStreamExt;
use jiff::{SignedDuration, Timestamp};
use lodge_domain::{
    Clock, OsRandom, SystemClock,
    accounts::{Picture, PictureId, PictureSize, PictureStore, Shape},
};

pub mod files;

/// A picture that no other test uses, for a store that does not decode it.
pub fn picture(text: &str) -> (PictureId, Picture) {
    of_shape(Shape::Square, text)
}

fn of_shape(shape: Shape, text: &str) -> (PictureId, Picture) {
    let large = Bytes::from(format!("{text} {}", uuid::Uuid::now_v7()).repeat(1_000));
    let picture = Picture::new(shape, [large, Bytes::from_static(b"small")]);
    (PictureId::draw(1, &picture, &OsRandom), picture)
}

/// A picture has the sizes of its shape, and no others.
pub async fn a_picture_is_stored_in_its_sizes(store: &Arc<dyn PictureStore>) {
    for shape in Shape::ALL {
        let (id, picture) = of_shape(shape, "kept");
        for size in PictureSize::ALL {
            assert_eq!(store.get(id, size).await.unwrap(), None);
        }
        for _ in 0..2 {
            store.put(id, picture.clone()).await.unwrap();
            for size in PictureSize::ALL {
                assert_eq!(store.get(id, size).await.unwrap().as_ref(), picture.of(size));
            }
        }
    }
}

/// Other pictures stay.
pub async fn a_removed_picture_is_gone(store: &Arc<dyn PictureStore>) {
    for shape in Shape::ALL {
        let ((gone, of_gone), (stays, of_stays)) =
            (of_shape(shape, "gone"), of_shape(shape, "stays"));
        store.put(gone, of_gone.clone()).await.unwrap();
        store.put(stays, of_stays.clone()).await.unwrap();
        for _ in 0..2 {
            store.remove(gone).await.unwrap();
            for size in PictureSize::ALL {
                assert_eq!(store.get(gone, size).await.unwrap(), None);
                assert_eq!(store.get(stays, size).await.unwrap().as_ref(), of_stays.of(size));
            }
        }
        store.put(gone, of_gone.clone()).await.unwrap();
        let [larger, _] = shape.sizes();
        assert_eq!(store.get(gone, larger).await.unwrap().as_ref(), of_gone.of(larger));
    }
}

/// Younger pictures are left out.
pub async fn old_pictures_are_found(store: &Arc<dyn PictureStore>) {
    let (id, picture) = picture("old");
    store.put(id, picture).await.unwrap();
    let now = SystemClock.now();
    let before = async |at: Timestamp| -> Vec<PictureId> {
        store.put_before(at).try_collect().await.unwrap()
    };
    assert!(!before(now - SignedDuration::from_hours(1)).await.contains(&id));
    assert!(before(now + SignedDuration::from_hours(1)).await.contains(&id));
    store.remove(id).await.unwrap();
    assert!(!before(now + SignedDuration::from_hours(1)).await.contains(&id));
}

/// A sweep counts as recent from its beginning, until it is forgotten, unless its record is dated later than that time.
/// The record is no picture.
pub async fn of_several_processes_one_sweeps(store: &Arc<dyn PictureStore>) {
    let (hour, now) = (SignedDuration::from_hours(1), SystemClock.now());
    let (recent, future) = (now - hour..=now + hour, now + hour..=now + hour * 2);
    assert!(store.begin_sweep(future).await.unwrap());
    for _ in 0..3 {
        assert!(!store.begin_sweep(recent.clone()).await.unwrap());
    }
    assert!(store.begin_sweep(now - hour * 2..=now - hour).await.unwrap());
    assert!(!store.begin_sweep(recent.clone()).await.unwrap());
    for _ in 0..2 {
        store.forget_sweep().await.unwrap();
    }
    assert!(store.begin_sweep(recent).await.unwrap());
    let found: Vec<PictureId> = store.put_before(now + hour).try_collect().await.unwrap();
    assert_eq!(found, []);
}
