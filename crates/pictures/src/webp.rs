//! A WebP before it is decoded: its decoder believes what chunks say of their lengths, and what frames say
//! of their sizes.

use crate::decode::is_too_large;

/// What of a file is WebP, without anything after it; `None` if it is not whole, or if a frame in it is
/// too large.
pub(crate) fn whole(bytes: &[u8]) -> Option<&[u8]> {
    let length = usize::try_from(number(bytes, 4)?).ok()?;
    let file = bytes.get(..length.checked_add(8)?)?;
    are_sound(file.get(12..)?).then_some(file)
}

/// Whether chunks are whole, and no frame in them too large.
fn are_sound(chunks: &[u8]) -> bool {
    all(chunks, |kind, content| match kind {
        // A frame of an animation: sixteen bytes of its own, then chunks, of which none is another.
        b"ANMF" => content.get(16..).is_some_and(|inner| all(inner, is_part_sound)),
        _ => is_part_sound(kind, content),
    })
}

/// Whether anything else is sound, alone or in a frame.
fn is_part_sound(kind: &[u8], content: &[u8]) -> bool {
    match kind {
        b"VP8 " => is_lossy_frame_sound(content),
        b"ANMF" => false,
        _ => true,
    }
}

/// Whether chunks are whole, and each of them is as it should be.
fn all(chunks: &[u8], is_sound: impl Fn(&[u8], &[u8]) -> bool) -> bool {
    let mut rest = chunks;
    while !rest.is_empty() {
        let Some((kind, content, after)) = split(rest) else { return false };
        if !is_sound(kind, content) {
            return false;
        }
        rest = after;
    }
    true
}

/// The first chunk's kind and content, and what comes after it and its padding.
fn split(chunks: &[u8]) -> Option<(&[u8], &[u8], &[u8])> {
    let length = usize::try_from(number(chunks, 4)?).ok()?;
    let end = length.checked_add(8)?;
    let padded = end + (length & 1);
    Some((chunks.get(..4)?, chunks.get(8..end)?, chunks.get(padded..).unwrap_or_default()))
}

/// After a tag of three bytes and three that begin a frame, its sides, of 14 bits (RFC 6386).
fn is_lossy_frame_sound(content: &[u8]) -> bool {
    let side = |at: usize| {
        let bytes = [*content.get(at)?, *content.get(at + 1)?];
        Some(u32::from(u16::from_le_bytes(bytes) & 0x3fff))
    };
    side(6).zip(side(8)).is_some_and(|(width, height)| !is_too_large(width, height))
}

fn number(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_le_bytes(*bytes.get(at..)?.first_chunk()?))
}
