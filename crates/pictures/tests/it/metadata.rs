//! No metadata of an upload is stored.

use std::{io::Write, process::Command};

use lodge_contract::pictures::files::{self, SECRET};
use lodge_domain::accounts::{Picture, Shape};
use lodge_pictures::decode;
use tempfile::NamedTempFile;

fn contains(bytes: &[u8], part: &str) -> bool {
    bytes.windows(part.len()).any(|window| window == part.as_bytes())
}

/// Files that contain [`SECRET`] in metadata or trailing bytes.
fn telling() -> Vec<Vec<u8>> {
    let png = files::file(image::ImageFormat::Png, 300, 300);
    let text = [b"Comment\0", SECRET.as_bytes()].concat();
    vec![
        files::with_gps(),
        files::commented(&files::jpeg(), SECRET.as_bytes()),
        files::with_chunk(&png, *b"tEXt", &text),
        [png, SECRET.as_bytes().to_vec()].concat(),
        [files::jpeg(), SECRET.as_bytes().to_vec()].concat(),
        [files::animated(1), SECRET.as_bytes().to_vec()].concat(),
        [files::file(image::ImageFormat::WebP, 300, 300), SECRET.as_bytes().to_vec()].concat(),
    ]
}

#[test]
fn only_the_pixels_of_a_file_are_stored() {
    for upload in telling() {
        assert!(contains(&upload, SECRET));
        let pictures = Shape::ALL.map(|shape| decode(&upload, shape).unwrap());
        for (_, bytes) in pictures.iter().flat_map(Picture::files) {
            assert!(!contains(bytes, SECRET));
            assert_eq!(&bytes[..2], [0xff, 0xd8]);
            assert_eq!(&bytes[bytes.len() - 2..], [0xff, 0xd9]);
            // APP1 holds EXIF and XMP, APP2 profiles, APP13 IPTC; COM comments.
            let kept = markers(bytes);
            assert!(kept.iter().all(|marker| !matches!(marker, 0xe1..=0xef | 0xfe)), "{kept:x?}");
        }
    }
}

/// Returns the markers before the pixels.
fn markers(jpeg: &[u8]) -> Vec<u8> {
    let (mut at, mut markers) = (2, Vec::new());
    while jpeg[at + 1] != 0xda {
        assert_eq!(jpeg[at], 0xff);
        markers.push(jpeg[at + 1]);
        at += 2 + usize::from(u16::from_be_bytes([jpeg[at + 2], jpeg[at + 3]]));
    }
    markers
}

/// Returns the metadata that `exiftool` finds, a line each: group, name and value.
fn told(bytes: &[u8]) -> String {
    let mut file = NamedTempFile::new().unwrap();
    file.write_all(bytes).unwrap();
    let arguments = ["-a", "-G1", "-s", "-u"];
    let ran = Command::new("exiftool").args(arguments).arg(file.path()).output();
    let ran = ran.expect("exiftool is needed (on Debian: libimage-exiftool-perl)");
    assert!(ran.status.success(), "{ran:?}");
    String::from_utf8(ran.stdout).unwrap()
}

#[test]
fn exiftool_finds_no_metadata() {
    let upload = files::with_gps();
    let before = told(&upload);
    for group in ["GPSLatitude", "[IFD0]", "Orientation", "Comment", SECRET] {
        assert!(before.contains(group), "{group} in {before}");
    }
    let pictures = Shape::ALL.map(|shape| decode(&upload, shape).unwrap());
    for (_, bytes) in pictures.iter().flat_map(Picture::files) {
        let after = told(bytes);
        let strange = after.lines().filter(|line| {
            let groups = ["[ExifTool]", "[System]", "[File]", "[JFIF]", "[Composite]"];
            !groups.iter().any(|group| line.starts_with(group)) || line.contains("Comment")
        });
        assert_eq!(strange.collect::<Vec<_>>(), Vec::<&str>::new());
        assert!(!after.contains("GPS") && !after.contains(SECRET), "{after}");
    }
}
