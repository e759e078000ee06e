//! A compact list of stolen passwords: a binary fuse filter of the SHA-1 of each, in one file.
//!
//! The file has the magic, the version (u32), the CRC-32 of what follows (u32), the number of passwords (u64), seed
//! (u64), segment length, its mask and the length of all segments (u32 each), and the fingerprints (u16 each). All
//! numbers are little-endian.

use std::{
    fs::File,
    io::{self, BufRead, ErrorKind, Read, Write},
    iter,
    path::Path,
};

use bytes::{Buf, BufMut};
use crc32fast::Hasher;
use lodge_domain::{accounts::BreachedPasswords, passwords::Password};
use sha1::{Digest, Sha1};
use xorf::{BinaryFuse16, Descriptor, Filter};

const MAGIC: &[u8; 8] = b"LODGEPWD";
const VERSION: u32 = 1;

/// The bytes before the fingerprints, and those of them that the checksum does not cover.
const HEAD_BYTES: usize = 44;
const UNCHECKED_BYTES: usize = 16;

/// The maximum length of a line of a list, with its end: a hash, a colon, and a count of 20 digits.
const LINE_BYTES_MAX: u64 = 64;

/// The maximum passwords of a filter, which counts its fingerprints in 32 bits.
const PASSWORDS_MAX: usize = 3_000_000_000;

/// Fingerprints that are read or written at once.
const CHUNK: usize = 32 * 1024;

const MALFORMED: &str =
    "must be a SHA-1 of 40 hexadecimal digits, and may have a colon and a count";

/// A list of stolen passwords, about 2.25 bytes each. It also contains one in 65,536 of all other passwords.
pub struct BreachedFilter {
    filter: BinaryFuse16,
    passwords: u64,
}

impl BreachedFilter {
    /// Builds the filter of a published list: a line is `SHA1:COUNT` or a SHA-1 alone, in any order; empty lines are
    /// skipped. Passwords with a count below `count_min` are left out. Needs about 40 bytes of memory for each of the others.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::InvalidData`] with the number of a malformed line, or if no password is left.
    pub fn build(mut list: impl BufRead, count_min: u64) -> io::Result<Self> {
        let (mut keys, mut line) = (Vec::new(), Vec::new());
        for number in 1_u64.. {
            line.clear();
            if list.by_ref().take(LINE_BYTES_MAX).read_until(b'\n', &mut line)? == 0 {
                break;
            }
            let key = parse(line.trim_ascii_end(), count_min);
            keys.extend(key.map_err(|why| invalid(format!("line {number}: {why}")))?);
        }
        keys.sort_unstable();
        keys.dedup();
        if !(1..=PASSWORDS_MAX).contains(&keys.len()) {
            return Err(invalid(format!(
                "the list must have from 1 to {PASSWORDS_MAX} passwords with a count of at least {count_min}, not {}",
                keys.len()
            )));
        }
        let filter = BinaryFuse16::try_from(&keys).map_err(io::Error::other)?;
        Ok(Self { filter, passwords: keys.len() as u64 })
    }

    /// Returns the number of different passwords of the list.
    pub fn passwords(&self) -> u64 {
        self.passwords
    }

    /// Writes the filter.
    pub fn write(&self, mut to: impl Write) -> io::Result<()> {
        let mut checksum = Hasher::new();
        self.content().for_each(|part| checksum.update(&part));
        let mut head = MAGIC.to_vec();
        head.put_u32_le(VERSION);
        head.put_u32_le(checksum.finalize());
        iter::once(head).chain(self.content()).try_for_each(|part| to.write_all(&part))
    }

    /// Returns what the checksum covers, in parts.
    fn content(&self) -> impl Iterator<Item = Vec<u8>> {
        let Descriptor { seed, segment_length, segment_length_mask, segment_count_length } =
            self.filter.descriptor;
        let mut head = Vec::new();
        head.put_u64_le(self.passwords);
        head.put_u64_le(seed);
        for number in [segment_length, segment_length_mask, segment_count_length] {
            head.put_u32_le(number);
        }
        let chunks = self.filter.fingerprints.chunks(CHUNK);
        iter::once(head)
            .chain(chunks.map(|chunk| chunk.iter().copied().flat_map(u16::to_le_bytes).collect()))
    }

    /// Reads a file that [`Self::write`] has written. Blocks on the disk.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::InvalidData`] if the file is another one, truncated or damaged.
    pub fn open(path: &Path) -> io::Result<Self> {
        let mut file = File::open(path)?;
        let bytes = file.metadata()?.len();
        let mut head = [0; HEAD_BYTES];
        file.read_exact(&mut head).map_err(|error| match error.kind() {
            ErrorKind::UnexpectedEof => not_ours(),
            _ => error,
        })?;
        let mut checksum = Hasher::new();
        checksum.update(&head[UNCHECKED_BYTES..]);
        let mut head = head.strip_prefix(MAGIC).ok_or_else(not_ours)?;
        match head.get_u32_le() {
            VERSION => {}
            other => {
                return Err(invalid(format!(
                    "it has version {other} and not {VERSION}; build it again with this lodge"
                )));
            }
        }
        let expected = head.get_u32_le();
        let passwords = head.get_u64_le();
        let descriptor = Descriptor {
            seed: head.get_u64_le(),
            segment_length: head.get_u32_le(),
            segment_length_mask: head.get_u32_le(),
            segment_count_length: head.get_u32_le(),
        };
        let count = fingerprints_of(&descriptor).ok_or_else(damaged)?;
        if bytes != HEAD_BYTES as u64 + 2 * count {
            return Err(damaged());
        }
        let mut left = usize::try_from(count).map_err(io::Error::other)?;
        let (mut fingerprints, mut chunk) = (Vec::with_capacity(left), vec![0; 2 * CHUNK]);
        while left > 0 {
            let chunk = &mut chunk[..2 * left.min(CHUNK)];
            file.read_exact(chunk)?;
            checksum.update(chunk);
            let (pairs, _) = chunk.as_chunks();
            fingerprints.extend(pairs.iter().copied().map(u16::from_le_bytes));
            left -= pairs.len();
        }
        if checksum.finalize() != expected {
            return Err(damaged());
        }
        let filter = BinaryFuse16 { descriptor, fingerprints: fingerprints.into() };
        Ok(Self { filter, passwords })
    }
}

impl BreachedPasswords for BreachedFilter {
    fn contains(&self, password: &Password) -> bool {
        let mut hash = &Sha1::digest(password.as_bytes())[..];
        self.filter.contains(&hash.get_u64())
    }
}

/// Returns the first eight bytes of the hash on a line; `None` if the line is empty or its count is below `count_min`.
fn parse(line: &[u8], count_min: u64) -> Result<Option<u64>, &'static str> {
    let text = str::from_utf8(line).map_err(|_| MALFORMED)?;
    if text.is_empty() {
        return Ok(None);
    }
    let (hash, count) = match text.split_once(':') {
        Some((hash, count)) => (hash, count.parse().map_err(|_| MALFORMED)?),
        None if count_min > 1 => return Err("has no count, which --count-min above 1 needs"),
        None => (text, 1),
    };
    if hash.len() != 40 || !hash.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        return Err(MALFORMED);
    }
    let key = u64::from_str_radix(&hash[..16], 16).map_err(|_| MALFORMED)?;
    Ok((count >= count_min).then_some(key))
}

/// Returns the number of fingerprints that a lookup may read; `None` if no filter has such a descriptor.
fn fingerprints_of(descriptor: &Descriptor) -> Option<u64> {
    let (segment, all) = (descriptor.segment_length, descriptor.segment_count_length);
    let is_valid = segment.is_power_of_two()
        && descriptor.segment_length_mask == segment - 1
        && all > 0
        && all.is_multiple_of(segment);
    is_valid.then(|| u64::from(all) + 2 * u64::from(segment))
}

fn invalid(why: String) -> io::Error {
    io::Error::new(ErrorKind::InvalidData, why)
}

fn not_ours() -> io::Error {
    invalid("it is not a file of lodge breached-passwords".to_owned())
}

fn damaged() -> io::Error {
    invalid("it is truncated or damaged; build it again".to_owned())
}

#[cfg(test)]
mod tests {
    use std::{collections::HashSet, fmt::Write as _};

    use proptest::prelude::*;
    use tempfile::TempDir;

    use super::*;

    fn sha1(text: &str) -> String {
        Sha1::digest(text).iter().fold(String::new(), |mut hex, byte| {
            write!(hex, "{byte:02X}").unwrap();
            hex
        })
    }

    fn build(list: &str, count_min: u64) -> io::Result<BreachedFilter> {
        BreachedFilter::build(list.as_bytes(), count_min)
    }

    fn contains(filter: &BreachedFilter, text: &str) -> bool {
        filter.contains(&Password::parse("password", text.to_owned()).unwrap())
    }

    /// Writes the filter to a file, and reads that.
    fn reopened(filter: &BreachedFilter) -> BreachedFilter {
        let folder = TempDir::new().unwrap();
        let file = folder.path().join("filter");
        filter.write(File::create_new(&file).unwrap()).unwrap();
        BreachedFilter::open(&file).unwrap()
    }

    #[test]
    fn lists_with_and_without_counts_are_read() {
        let [one, two] = ["hunter2", "correct horse"].map(sha1);
        let list = format!("{one}:17\r\n{}:3\r\n\r\n{one}:17\r\n", two.to_lowercase());
        let both = reopened(&build(&list, 1).unwrap());
        assert_eq!(both.passwords(), 2);
        assert!(contains(&both, "hunter2") && contains(&both, "correct horse"));
        assert!(!contains(&both, "Hunter2"));
        let often = build(&list, 4).unwrap();
        assert!(contains(&often, "hunter2") && !contains(&often, "correct horse"));
        let plain = build(&format!("{one}\n{two}"), 1).unwrap();
        assert!(contains(&plain, "hunter2") && contains(&plain, "correct horse"));
    }

    #[test]
    fn a_malformed_line_is_refused_with_its_number() {
        let good = sha1("hunter2");
        for bad in [
            "password",
            &good[1..],
            &format!("{good}0"),
            &format!("{good}:"),
            &format!("{good}:x"),
            &format!("{good}:1:1"),
            &format!("{}g", &good[1..]),
            &format!("{good} :1"),
            &"0".repeat(100),
            "ü",
        ] {
            let error = build(&format!("{good}:1\n{good}:1\n{bad}\n{good}:1\n"), 1).err().unwrap();
            assert!(error.to_string().starts_with("line 3: must be a SHA-1"), "{bad:?}: {error}");
        }
        let error = build(&format!("{good}\n"), 2).err().unwrap();
        assert!(error.to_string().starts_with("line 1: has no count"), "{error}");
        for (list, count_min) in [(String::new(), 1), (format!("{good}:4\n"), 5)] {
            let error = build(&list, count_min).err().unwrap();
            assert!(error.to_string().contains("must have from 1 to"), "{error}");
        }
    }

    #[test]
    fn a_truncated_or_changed_file_is_refused() {
        let mut good = Vec::new();
        build(&sha1("hunter2"), 1).unwrap().write(&mut good).unwrap();
        let folder = TempDir::new().unwrap();
        let file = folder.path().join("filter");
        let opens = |bytes: &[u8]| {
            std::fs::write(&file, bytes).unwrap();
            BreachedFilter::open(&file).map_err(|error| error.kind())
        };
        assert!(opens(&good).is_ok());
        for length in 0..good.len() {
            assert_eq!(opens(&good[..length]).err(), Some(ErrorKind::InvalidData), "{length}");
        }
        assert_eq!(opens(&[&good[..], b"\0"].concat()).err(), Some(ErrorKind::InvalidData));
        for place in 0..good.len() {
            for bit in 0..8 {
                let mut bad = good.clone();
                bad[place] ^= 1 << bit;
                assert_eq!(opens(&bad).err(), Some(ErrorKind::InvalidData), "{place}.{bit}");
            }
        }
    }

    #[test]
    fn few_other_passwords_are_refused() {
        let list: String =
            (0..10_000).map(|number| sha1(&format!("listed {number}")) + "\n").collect();
        let filter = build(&list, 1).unwrap();
        let refused = (0..65_536).filter(|number| contains(&filter, &format!("other {number}")));
        assert!(refused.count() < 10, "one is expected");
    }

    proptest! {
        #[test]
        fn each_listed_password_is_found(passwords in prop::collection::vec(".{1,12}", 1..300)) {
            let list: String = passwords.iter().map(|text| sha1(text) + ":1\n").collect();
            let filter = reopened(&build(&list, 1).unwrap());
            prop_assert_eq!(filter.passwords(), passwords.iter().collect::<HashSet<_>>().len() as u64);
            for text in &passwords {
                prop_assert!(contains(&filter, text), "{:?}", text);
            }
        }
    }
}
