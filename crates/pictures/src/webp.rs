//! Checks of a WebP before it is decoded: the decoder trusts the lengths of chunks and the sizes of frames.

use crate::decode::is_too_large;

/// Returns the WebP part of a file, without trailing bytes; `None` if it is incomplete, or a frame is too large.
pub(crate) fn whole(bytes: &[u8]) -> Option<&[u8]> {
    let length = usize::try_from(number(bytes, 4)?).ok()?;
    let file = bytes.get(..length.checked_add(8)?)?;
    are_sound(file.get(12..)?).then_some(file)
}

/// Whether chunks are complete and no frame in them is too large.
fn are_sound(chunks: &[u8]) -> bool {
    all(chunks, |kind, content| match kind {
        // A frame of an animation: a header of sixteen bytes, then chunks without nested frames.
        b"ANMF" => content.get(16..).is_some_and(|inner| all(inner, is_part_sound)),
        _ => is_part_sound(kind, content),
    })
}

/// Whether a chunk that is not an animation frame is valid, at top level or in a frame.
fn is_part_sound(kind: &[u8], content: &[u8]) -> bool {
    match kind {
        b"VP8 " => is_lossy_frame_sound(content),
        b"ANMF" => false,
        _ => true,
    }
}

/// Whether chunks are complete and each of them passes `is_sound`.
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

/// Splits off the first chunk: its kind, its content, and the rest after its padding.
fn split(chunks: &[u8]) -> Option<(&[u8], &[u8], &[u8])> {
    let length = usize::try_from(number(chunks, 4)?).ok()?;
    let end = length.checked_add(8)?;
    let padded = end + (length & 1);
    Some((chunks.get(..4)?, chunks.get(8..end)?, chunks.get(padded..).unwrap_or_default()))
}

/// Checks the sides of a VP8 frame: 14 bits each, after a frame tag and a start code of three bytes each (RFC 6386).
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
