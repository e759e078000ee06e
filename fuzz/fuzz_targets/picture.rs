//! Any upload, and any mutation of a valid picture: it is refused, or becomes two files in each shape, and
//! nothing panics.
#![no_main]

use std::sync::LazyLock;

use flate2::Crc;
use image::ImageFormat;
use libfuzzer_sys::fuzz_target;
use lodge_contract::pictures::files;
use lodge_domain::{Error, accounts::Shape};
use lodge_pictures::decode;

mod seeds;

static GOOD: LazyLock<Vec<Vec<u8>>> = LazyLock::new(|| {
    let formats = [ImageFormat::Jpeg, ImageFormat::Png, ImageFormat::WebP, ImageFormat::Gif];
    let made = formats.map(|format| files::file(format, 24, 24));
    let samples = files::SAMPLES.map(|(_, bytes)| bytes.to_vec());
    made.into_iter().chain(samples).chain([files::with_gps(), files::deep()]).collect()
});

fuzz_target!(init: seeds::sow("picture", first()), |bytes: &[u8]| {
    tried(bytes);
    // One byte selects the picture; then each change is an offset of two bytes and a new value.
    let Some((which, changes)) = bytes.split_first() else { return };
    let mut changed = GOOD[usize::from(*which) % GOOD.len()].clone();
    let length = changed.len();
    for change in changes.chunks_exact(3) {
        changed[usize::from(u16::from_le_bytes([change[0], change[1]])) % length] = change[2];
    }
    tried(&changed);
    // A PNG decoder stops at a wrong checksum.
    if mend(&mut changed).is_some() {
        tried(&changed);
    }
});

/// Returns each valid picture, and the input that selects it without changes.
fn first() -> impl Iterator<Item = Vec<u8>> {
    let named = (0..).zip(&*GOOD).map(|(which, _)| vec![which]);
    GOOD.iter().cloned().chain(named)
}

/// Recomputes the checksums of a PNG's chunks; `None` for other files.
fn mend(bytes: &mut [u8]) -> Option<()> {
    if !bytes.starts_with(b"\x89PNG\r\n\x1a\n") {
        return None;
    }
    let mut rest = &mut bytes[8..];
    while !rest.is_empty() {
        let length = u32::from_be_bytes(*rest.first_chunk()?) as usize;
        let (chunk, after) = rest.split_at_mut_checked(length.checked_add(12)?)?;
        let (said, check) = chunk[4..].split_at_mut(length + 4);
        let mut sum = Crc::new();
        sum.update(said);
        check.copy_from_slice(&sum.sum().to_be_bytes());
        rest = after;
    }
    Some(())
}

fn tried(upload: &[u8]) {
    for shape in Shape::ALL {
        match decode(upload, shape) {
            Ok(picture) => {
                for (_, bytes) in picture.files() {
                    assert!(bytes.starts_with(&[0xff, 0xd8]));
                }
            }
            Err(error) => assert!(matches!(error, Error::Invalid { .. }), "{error:?}"),
        }
    }
}
