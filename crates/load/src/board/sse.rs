//! Parses server-sent events in the bytes of a stream, without copying.

use std::io::BufRead;

/// One event.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Frame<'a> {
    /// The event's name; empty if it has none.
    pub(crate) name: &'a [u8],
    /// The event's id, from which a stream resumes.
    pub(crate) id: Option<&'a [u8]>,
    /// The first data line; board events have at most one.
    pub(crate) data: Option<&'a [u8]>,
}

/// Passes every complete event at the beginning of `bytes` to `take`. Returns their length in bytes; the rest
/// is the beginning of an incomplete event.
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

/// Returns the length of the first line, with its line feed; `None` if it is incomplete.
fn line_end(bytes: &[u8]) -> Option<usize> {
    let mut rest = bytes;
    // Reading from memory cannot fail. `skip_until` searches by the word, not by the byte.
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
    fn empty_lines_separate_events() {
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
        fn events_are_the_same_however_the_bytes_are_split(
            pieces in prop::collection::vec(1_usize..40, 1..8),
        ) {
            prop_assert_eq!(read(TEXT, &pieces), read(TEXT, &[TEXT.len()]));
        }
    }
}
