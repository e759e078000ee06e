//! The links that are read and written, by number; names are derived, not stored.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result, bail, ensure};

use crate::accounts::SeededUsers;

/// The largest number of shorts in `--shorts`.
const GIVEN_MAX: usize = 10_000_000;

/// A short and its target, in reusable buffers.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Pair {
    pub(crate) short: Vec<u8>,
    pub(crate) long: Vec<u8>,
}

impl Pair {
    /// Composes a short of these parts, and a target that ends with it.
    fn set(&mut self, prefix: &str, class: u8, numbers: &[(u64, usize)]) {
        self.short.clear();
        self.short.extend_from_slice(prefix.as_bytes());
        self.short.push(class);
        for &(number, width) in numbers {
            push_base36(number, width, &mut self.short);
        }
        self.long.clear();
        self.long.extend_from_slice(b"https://example.com/");
        self.long.extend_from_slice(&self.short);
    }

    /// Sets link `index` of those that a run creates to read them.
    pub(crate) fn for_reading(&mut self, prefix: &str, index: u64) {
        self.set(prefix, b'g', &[(index, 1)]);
    }

    /// Sets the link of a write; no two runs, threads or writes share a short.
    pub(crate) fn for_writing(&mut self, prefix: &str, write: Write) {
        self.set(
            prefix,
            b'p',
            &[(write.run.into(), 2), (write.thread.into(), 2), (write.number, 1)],
        );
    }
}

/// The identity of one write.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Write {
    pub(crate) run: u32,
    pub(crate) thread: u32,
    pub(crate) number: u64,
}

/// Appends a number in base 36, padded to at least `width` digits.
fn push_base36(number: u64, width: usize, out: &mut Vec<u8>) {
    let mut digits = [b'0'; 13];
    let mut at = digits.len();
    let mut rest = number;
    while rest > 0 {
        at -= 1;
        digits[at] =
            b"0123456789abcdefghijklmnopqrstuvwxyz"[usize::try_from(rest % 36).unwrap_or_default()];
        rest /= 36;
    }
    out.extend_from_slice(&digits[at.min(digits.len() - width)..]);
}

/// Returns a prefix of eight characters from 64 random bits.
pub(crate) fn random_prefix(bits: u64) -> String {
    let mut prefix = Vec::with_capacity(8);
    push_base36(bits % 36_u64.pow(8), 8, &mut prefix);
    String::from_utf8_lossy(&prefix).into_owned()
}

/// The links that GETs go to.
#[derive(Debug, Clone)]
pub(crate) enum LinkSet {
    /// One path, without a short.
    Fixed,
    /// Links that the run creates first.
    Own { count: u64 },
    /// Existing links from `--shorts`: percent-encoded shorts with their targets, empty if unknown.
    Given(Vec<Pair>),
    /// Users instead of links: a token or a name takes the short's place.
    Users(SeededUsers),
}

impl LinkSet {
    /// Reads `--shorts`: a file if one of that name exists, otherwise a comma-separated list.
    pub(crate) fn given(text: &str) -> Result<Self> {
        let path = Path::new(text);
        let links: Vec<Pair> = if path.is_file() {
            let content =
                fs::read_to_string(path).with_context(|| format!("cannot read {text}"))?;
            content
                .lines()
                .filter(|line| !line.trim().is_empty())
                .take(GIVEN_MAX + 1)
                .map(given_link)
                .collect()
        } else {
            ensure!(!text.contains('/'), "--shorts: no such file {text}");
            text.split(',').filter(|short| !short.is_empty()).map(given_link).collect()
        };
        ensure!(!links.is_empty(), "--shorts has no shorts");
        if links.len() > GIVEN_MAX {
            bail!("--shorts must have at most {GIVEN_MAX} links");
        }
        Ok(Self::Given(links))
    }

    /// Returns the size of the set.
    pub(crate) fn count(&self) -> u64 {
        match self {
            Self::Fixed => 1,
            Self::Own { count } => *count,
            Self::Given(links) => links.len() as u64,
            Self::Users(people) => people.count,
        }
    }

    /// Returns whether the target of every link is known.
    pub(crate) fn targets_known(&self) -> bool {
        match self {
            Self::Fixed | Self::Users(_) => false,
            Self::Own { .. } => true,
            Self::Given(links) => links.iter().all(|link| !link.long.is_empty()),
        }
    }

    /// Writes link `index` into `pair`; a missing or unknown target is empty.
    pub(crate) fn pair(&self, prefix: &str, index: u64, pair: &mut Pair) {
        match self {
            Self::Fixed => {}
            Self::Own { .. } => pair.for_reading(prefix, index),
            Self::Users(people) => {
                people.write(index, &mut pair.short);
                pair.long.clear();
            }
            Self::Given(links) => {
                if let Some(link) = usize::try_from(index).ok().and_then(|index| links.get(index)) {
                    pair.short.clone_from(&link.short);
                    pair.long.clone_from(&link.long);
                }
            }
        }
    }
}

/// Parses a line of a short and an optional target.
fn given_link(line: &str) -> Pair {
    let mut words = line.split_ascii_whitespace();
    let (short, target) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
    Pair { short: percent_encode(short), long: target.as_bytes().to_vec() }
}

/// Percent-encodes a path segment; a `%` is taken as already encoded.
fn percent_encode(text: &str) -> Vec<u8> {
    let mut encoded = Vec::with_capacity(text.len());
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~!$&'()*+,;=:@%".contains(&byte) {
            encoded.push(byte);
        } else {
            encoded.extend_from_slice(format!("%{byte:02X}").as_bytes());
        }
    }
    encoded
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn no_two_writes_share_a_short() {
        let mut seen = HashSet::new();
        let mut pair = Pair::default();
        for run in [0, 1, 35, 36, 999] {
            for thread in [0, 1, 63] {
                for number in [0, 1, 35, 36, 1296, u64::MAX] {
                    pair.for_writing("abc", Write { run, thread, number });
                    assert!(seen.insert(pair.short.clone()), "{run} {thread} {number}");
                    assert!(pair.long.ends_with(&pair.short));
                }
            }
        }
        pair.for_reading("abc", 0);
        assert_eq!(pair.short, b"abcg0");
        assert!(seen.insert(pair.short));
    }

    #[test]
    fn given_links_come_from_a_list_or_a_file() {
        let mut pair = Pair::default();
        let list = LinkSet::given("gg,é").unwrap();
        list.pair("", 1, &mut pair);
        assert_eq!(
            (list.count(), list.targets_known(), pair.short.as_slice()),
            (2, false, b"%C3%A9".as_slice())
        );

        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("shorts");
        fs::write(&path, "gg https://google.com/\n\nxx\thttps://example.com/\n").unwrap();
        let file = LinkSet::given(path.to_str().unwrap()).unwrap();
        file.pair("", 1, &mut pair);
        assert_eq!((file.count(), file.targets_known()), (2, true));
        assert_eq!(
            (pair.short.as_slice(), pair.long.as_slice()),
            (b"xx".as_slice(), b"https://example.com/".as_slice())
        );

        assert!(LinkSet::given("").is_err() && LinkSet::given("/no/such/file").is_err());
    }

    #[test]
    fn a_random_prefix_has_eight_characters() {
        for bits in [0, 1, u64::MAX] {
            assert_eq!(random_prefix(bits).len(), 8);
        }
    }
}
