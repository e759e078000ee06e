//! Decoding takes turns.

use bytes::Bytes;
use futures_util::future::join_all;
use lodge_contract::pictures::files;
use lodge_domain::{Error, accounts::PictureDecoder};
use lodge_pictures::DecoderPool;

#[tokio::test]
async fn what_finds_no_place_in_the_queue_is_refused_at_once() {
    let pool = DecoderPool::new(1, 2).unwrap();
    let upload = Bytes::from(files::file(image::ImageFormat::Png, 2_000, 2_000));
    // All of them are asked for before the first answer.
    let answers = join_all((0..50).map(|_| pool.squares(upload.clone()))).await;
    let refused = answers.iter().filter(|answer| answer.is_err());
    let is_full = |answer: &&Result<_, Error>| matches!(answer, Err(Error::Unavailable { .. }));
    assert!(refused.clone().count() >= 40 && refused.clone().all(|answer| is_full(&answer)));
    assert!(answers.iter().any(Result::is_ok));
    assert!(pool.squares(upload).await.is_ok(), "there is room again");
}

#[tokio::test]
async fn a_refused_file_leaves_the_next_one_alone() {
    let pool = DecoderPool::new(1, 2).unwrap();
    let refused = pool.squares(Bytes::from_static(b"<svg")).await;
    assert!(matches!(refused, Err(Error::Invalid { .. })));
    assert!(pool.squares(files::jpeg().into()).await.is_ok());
}
