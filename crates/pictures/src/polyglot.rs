//! Detection of polyglots: files that are a picture and something else, too.

use std::sync::LazyLock;

use aho_corasick::{AhoCorasick, AhoCorasickKind};

/// Byte sequences that web pages, scripts, documents and archives need, matched without regard to case. All have
/// six characters or more: together they occur by chance in two of a million files of five megabytes of
/// compressed pixels; a sequence of four letters would in one of a hundred.
const MARKS: [&[u8]; 16] = [
    b"<html>",
    b"<html ",
    b"<!doctype",
    b"<head>",
    b"<body>",
    b"<body ",
    b"<script",
    b"<iframe",
    b"<a href=",
    b"<img src=",
    b"<svg xmlns",
    b"<?php ",
    b"<?php\n",
    b"%pdf-1.",
    b"rar!\x1a\x07",
    b"7z\xbc\xaf\x27\x1c",
];

/// The signatures of a ZIP archive's first entry and of the end of its directory.
const ZIP_ENTRY: &[u8] = b"PK\x03\x04";
const ZIP_END: &[u8] = b"PK\x05\x06";

/// The most bytes from the end of a ZIP directory to the end of the file: 22 bytes and a comment.
const ZIP_END_BYTES_MAX: usize = 22 + 0xffff;

static FINDER: LazyLock<Option<AhoCorasick>> = LazyLock::new(|| {
    let mut builder = AhoCorasick::builder();
    builder.ascii_case_insensitive(true).kind(Some(AhoCorasickKind::DFA)).build(MARKS).ok()
});

/// Whether a file could also be read as something else (a polyglot). None of its bytes would be stored, but such a
/// file is an attack and not a picture.
pub(crate) fn is_polyglot(bytes: &[u8]) -> bool {
    let tail = &bytes[bytes.len().saturating_sub(ZIP_END_BYTES_MAX)..];
    let is_archive = || contains(tail, ZIP_END) && contains(bytes, ZIP_ENTRY);
    FINDER.as_ref().is_none_or(|finder| finder.is_match(bytes)) || is_archive()
}

fn contains(bytes: &[u8], part: &[u8]) -> bool {
    bytes.windows(part.len()).any(|window| window == part)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_a_document_and_an_archive_are_found_anywhere_in_a_file() {
        let zip =
            [b"....PK\x03\x04".as_slice(), &vec![7; 90_000], b"PK\x05\x06", &[0; 18]].concat();
        assert!(is_polyglot(&zip));
        for mark in [&b"<ScRipt>"[..], b"<HTML ", b"%PDF-1.7", b"<?php\n", b"Rar!\x1a\x07"] {
            let rest = vec![0xff; 70_000];
            for bytes in [[&rest, mark].concat(), [mark, &rest].concat()] {
                assert!(is_polyglot(&bytes), "{mark:?}");
            }
        }
    }

    #[test]
    fn metadata_of_cameras_is_not_taken_for_a_page() {
        let packet = b"<?xpacket begin='' id='W5M0MpCehiHzreSzNTczkc9d'?><x:xmpmeta xmlns:x='adobe:ns:meta/'><rdf:RDF>";
        assert!(!is_polyglot(packet));
        assert!(!is_polyglot(b""));
        assert!(!is_polyglot(b"PK\x05\x06 alone"));
    }
}
