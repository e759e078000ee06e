//! Reads server-sent events off the bytes of a stream, where they lie.

use std::io::BufRead;

/// One event.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Frame<'a> {
    /// Its name; empty where it has none.
    pub(crate) name: &'a [u8],
    /// What a reader who has it says to go on from there.
    pub(crate) id: Option<&'a [u8]>,
    /// Its first line of data. Events of a board have no more than one.
    pub(crate) data: Option<&'a [u8]>,
}

/// Hands every whole event at the beginning of `bytes` to `take`; how many bytes they were. What is left is
/// the beginning of an event of which the rest is yet to come.
pub(crate) fn frames<'a>(bytes: &'a [u8], mut take: impl FnMut(Frame<'a>)) -> usize {
    let (mut used, mut at) = (0, 0);
    let mut frame = Frame::default();
    while let Some(end) = line_end(&bytes[at..]) {
        let line = &bytes[at..at + end - 1];
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        at += end;
        if line.is_empty() {
            used = at;
            let whole = std::mem::take(&mut frame);
            if whole.data.is_some() {
                take(whole);
            }
        } else if let Some(value) = field(line, b"data") {
            frame.data = frame.data.or(Some(value));
        } else if let Some(value) = field(line, b"id") {
            frame.id = Some(value);
        } else if let Some(value) = field(line, b"event") {
            frame.name = value;
        }
    }
    used
}

/// The bytes up to the first end of a line, with it.
fn line_end(bytes: &[u8]) -> Option<usize> {
    let mut rest = bytes;
    // Reading what is in memory cannot fail, and is searched by the word and not by the byte.
    let end = rest.skip_until(b'\n').unwrap_or_default();
    (end > 0 && bytes[end - 1] == b'\n').then_some(end)
}

fn field<'a>(line: &'a [u8], name: &[u8]) -> Option<&'a [u8]> {
    let value = line.strip_prefix(name)?.strip_prefix(b":")?;
    Some(value.strip_prefix(b" ").unwrap_or(value))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    type Owned = (Vec<u8>, Option<Vec<u8>>, Vec<u8>);

    /// Reads `text` in pieces of these lengths, as a connection does.
    fn read(text: &[u8], pieces: &[usize]) -> (Vec<Owned>, usize) {
        let (mut found, mut buffer, mut rest) = (Vec::new(), Vec::new(), text);
        for length in pieces.iter().copied().cycle() {
            let (piece, after) = rest.split_at(length.min(rest.len()));
            buffer.extend_from_slice(piece);
            let used = frames(&buffer, |frame| {
                let Frame { name, id, data } = frame;
                found.push((name.to_vec(), id.map(<[u8]>::to_vec), data.unwrap().to_vec()));
            });
            buffer.drain(..used);
            rest = after;
            if rest.is_empty() {
                break;
            }
        }
        (found, buffer.len())
    }

    const TEXT: &[u8] = b"retry: 2000\n\n: hello\n\nevent: people\ndata: {}\n\nid: 7:1\r\ndata:{\"a\":1}\r\n\r\nid: 7:2\ndata: b\n\nid: 7:3\ndata: c\n";

    #[test]
    fn events_are_what_lies_between_empty_lines() {
        let (found, left) = read(TEXT, &[TEXT.len()]);
        let event = |name: &str, id: Option<&str>, data: &str| {
            (name.into(), id.map(|id| id.as_bytes().to_vec()), data.into())
        };
        let events = [
            event("people", None, "{}"),
            event("", Some("7:1"), "{\"a\":1}"),
            event("", Some("7:2"), "b"),
        ];
        assert_eq!((found.as_slice(), left), (&events[..], "id: 7:3\ndata: c\n".len()));
    }

    proptest! {
        #[test]
        fn events_are_the_same_in_whatever_pieces_they_come(
            pieces in prop::collection::vec(1_usize..40, 1..8),
        ) {
            prop_assert_eq!(read(TEXT, &pieces), read(TEXT, &[TEXT.len()]));
        }
    }
}
