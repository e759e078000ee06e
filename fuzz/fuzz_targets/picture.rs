//! Whatever somebody sends as a picture, and whatever is changed about good ones: it is refused, or becomes
//! two squares, and nothing panics.
#![no_main]

use std::sync::LazyLock;

use image::ImageFormat;
use libfuzzer_sys::fuzz_target;
use lodge_contract::pictures::files;
use lodge_domain::{Error, accounts::PictureSize};
use lodge_pictures::squares;

static GOOD: LazyLock<Vec<Vec<u8>>> = LazyLock::new(|| {
    let formats = [ImageFormat::Jpeg, ImageFormat::Png, ImageFormat::WebP, ImageFormat::Gif];
    let made = formats.map(|format| files::file(format, 24, 24));
    let samples = files::SAMPLES.map(|(_, bytes)| bytes.to_vec());
    made.into_iter().chain(samples).chain([files::with_gps(), files::deep()]).collect()
});

fuzz_target!(|bytes: &[u8]| {
    tried(bytes);
    // Which one, then what is changed: where, in two bytes, and to what.
    let Some((which, changes)) = bytes.split_first() else { return };
    let mut changed = GOOD[usize::from(*which) % GOOD.len()].clone();
    let length = changed.len();
    for change in changes.chunks_exact(3) {
        changed[usize::from(u16::from_le_bytes([change[0], change[1]])) % length] = change[2];
    }
    tried(&changed);
});

fn tried(upload: &[u8]) {
    match squares(upload) {
        Ok(squares) => {
            for size in PictureSize::ALL {
                assert!(squares.of(size).starts_with(&[0xff, 0xd8]));
            }
        }
        Err(error) => assert!(matches!(error, Error::Invalid { .. }), "{error:?}"),
    }
}
