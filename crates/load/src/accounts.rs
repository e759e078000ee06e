//! Seeded accounts, whose names are derived from their numbers, and their session tokens.

use std::{fs, path::Path, sync::Arc};

use anyhow::{Context, Result, ensure};
use rand::{Rng, RngExt};
use rand_distr::{Distribution, Zipf};

/// The default password of seeded accounts.
pub const SEED_PASSWORD: &str = "a lift in the fog";

/// The largest number of accounts that can be seeded.
pub const SEEDED_MAX: u64 = 100_000_000;

/// Bits of a number that its name encodes, five to a syllable.
const BITS: u32 = 30;
/// The length of a name in bytes.
pub(crate) const NAME_BYTES: usize = 12;
const SYLLABLES: [&[u8; 2]; 32] = [
    b"ba", b"be", b"bi", b"bo", b"da", b"de", b"di", b"do", b"ka", b"ke", b"ki", b"ko", b"la",
    b"le", b"li", b"lo", b"ma", b"me", b"mi", b"mo", b"na", b"ne", b"ni", b"no", b"ra", b"re",
    b"ri", b"ro", b"ta", b"te", b"ti", b"to",
];

/// The largest accepted token file, in bytes.
const TOKENS_BYTES_MAX: u64 = 1 << 30;

/// Returns the name of seeded account `number` (below 2^30): twelve letters. Names of consecutive numbers
/// are far apart in the alphabet, like the names of users who sign up one after another.
#[must_use]
pub fn seeded_name(number: u64) -> String {
    let mut name = Vec::with_capacity(NAME_BYTES);
    push_name(number, &mut name);
    String::from_utf8_lossy(&name).into_owned()
}

fn push_name(number: u64, out: &mut Vec<u8>) {
    let spread = spread(number);
    for syllable in (0..BITS / 5).rev() {
        let index = usize::try_from(spread >> (5 * syllable) & 31).unwrap_or_default();
        out.extend_from_slice(SYLLABLES[index]);
    }
}

/// Permutes the numbers of `BITS` bits: every step is invertible, so no two numbers share a result.
fn spread(number: u64) -> u64 {
    const MASK: u64 = (1 << BITS) - 1;
    let mut bits = number & MASK;
    for odd in [0x2c1b_3c6d, 0x297a_2d39, 0x1b56_c4e9] {
        bits ^= bits >> (BITS / 2);
        bits = bits.wrapping_mul(odd) & MASK;
    }
    bits ^ bits >> (BITS / 2)
}

/// Session tokens of equal length.
#[derive(Clone, derive_more::Debug)]
pub(crate) struct Tokens {
    #[debug(skip)]
    lines: Arc<[u8]>,
    /// Bytes of a line, including its line feed.
    line_bytes: usize,
}

impl Tokens {
    pub(crate) fn none() -> Self {
        Self { lines: Arc::default(), line_bytes: 1 }
    }

    /// Reads the first `most` tokens of a file with one token a line.
    pub(crate) fn read(path: &Path, most: Option<u64>) -> Result<Self> {
        let named = || format!("--tokens {}", path.display());
        let length = fs::metadata(path).with_context(named)?.len();
        ensure!(length <= TOKENS_BYTES_MAX, "{} is larger than 1 GiB", named());
        let mut lines = fs::read(path).with_context(named)?;
        let line_bytes = lines.iter().position(|byte| *byte == b'\n').map_or(0, |end| end + 1);
        ensure!(line_bytes > 1, "{} has no token on its first line", named());
        if let Some(bytes) =
            most.and_then(|most| line_bytes.checked_mul(usize::try_from(most).ok()?))
        {
            let has = lines.len() / line_bytes;
            ensure!(lines.len() >= bytes, "{} has only {has} tokens; lower --sessions", named());
            lines.truncate(bytes);
        }
        let is_token = |line: &[u8]| {
            line.split_last().is_some_and(|(end, token)| {
                *end == b'\n' && line.len() == line_bytes && token.iter().all(u8::is_ascii_graphic)
            })
        };
        ensure!(
            lines.chunks(line_bytes).all(is_token),
            "{} must have one token a line, all of the same length",
            named()
        );
        Ok(Self { lines: lines.into(), line_bytes })
    }

    fn count(&self) -> u64 {
        (self.lines.len() / self.line_bytes) as u64
    }

    fn get(&self, index: u64) -> Option<&[u8]> {
        let from = usize::try_from(index).ok()?.checked_mul(self.line_bytes)?;
        self.lines.get(from..from + self.line_bytes - 1).filter(|token| !token.is_empty())
    }
}

/// Users by number: first those with a session token, then seeded accounts without one.
#[derive(Debug, Clone)]
pub(crate) struct SeededUsers {
    pub(crate) tokens: Tokens,
    /// All users, with and without a token.
    pub(crate) count: u64,
}

impl SeededUsers {
    /// The users with a token; if `count` is larger, also seeded accounts up to that number.
    pub(crate) fn signed_in(tokens: Tokens, count: Option<u64>) -> Self {
        let known = tokens.count();
        Self { tokens, count: count.unwrap_or(known).max(known) }
    }

    /// Returns the number of users with a token.
    pub(crate) fn signed_in_count(&self) -> u64 {
        self.tokens.count()
    }

    /// Writes the token of user `index` into `out`, or the user's name if there is no token.
    pub(crate) fn write(&self, index: u64, out: &mut Vec<u8>) {
        out.clear();
        match self.tokens.get(index) {
            Some(token) => out.extend_from_slice(token),
            None => push_name(index, out),
        }
    }
}

/// The distribution that items are drawn from.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Choice {
    /// Uniform.
    Even,
    /// Zipf's law: the first items are the likeliest.
    Zipf(Zipf<f64>),
}

impl Choice {
    /// Zipf's law over `count` items.
    pub(crate) fn zipf(count: u64, exponent: f64) -> Result<Self> {
        Ok(Self::Zipf(Zipf::new(crate::engine::times::float(count), exponent)?))
    }

    /// Draws a number below `count`, which must not be 0.
    pub(crate) fn draw(self, rng: &mut impl Rng, count: u64) -> u64 {
        match self {
            Self::Even => rng.random_range(0..count),
            Self::Zipf(zipf) => rank(zipf.sample(rng)).min(count - 1),
        }
    }
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "it is whole, 1 or more, and at most a count"
)]
fn rank(drawn: f64) -> u64 {
    (drawn as u64).saturating_sub(1)
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use rand::{SeedableRng, rngs::SmallRng};

    use super::*;

    #[test]
    fn no_two_seeded_accounts_share_a_name_and_they_do_not_come_in_order() {
        let names: Vec<String> = (0..100_000).chain([(1 << BITS) - 1]).map(seeded_name).collect();
        assert_eq!(names.iter().collect::<HashSet<_>>().len(), names.len());
        assert!(names.iter().all(|name| name.len() == NAME_BYTES));
        let rising = names.windows(2).filter(|pair| pair[0] < pair[1]).count();
        assert!((45_000..55_000).contains(&rising), "{rising}");
        // An index by name is filled evenly: about as many names begin with each pair of letters.
        let mut first = std::collections::BTreeMap::<&str, usize>::new();
        for name in &names {
            *first.entry(&name[..2]).or_default() += 1;
        }
        assert!(first.len() == 32 && first.values().all(|count| (2_500..3_800).contains(count)));
    }

    #[test]
    fn exactly_the_wanted_number_of_tokens_is_read_and_bad_files_are_refused() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("tokens");
        let read = |text: &str, most| {
            fs::write(&path, text).unwrap();
            Tokens::read(&path, most)
        };
        let tokens = read("aa\nbb\ncc\n", Some(2)).unwrap();
        assert_eq!((tokens.count(), tokens.get(1), tokens.get(2)), (2, Some(&b"bb"[..]), None));
        assert!(!format!("{tokens:?}").contains("bb"));
        assert!(read("aa\nbb\ncc\n", Some(4)).is_err(), "the file has only three");
        for bad in ["", "\n", "aa", "aa\nb\n", "aa\nbbb\n", "aa\n b\n", "aa\nbb"] {
            assert!(read(bad, None).is_err(), "{bad:?}");
        }
    }

    #[test]
    fn a_user_without_a_token_is_addressed_by_name() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("tokens");
        fs::write(&path, "aa\nbb\n").unwrap();
        let people = SeededUsers::signed_in(Tokens::read(&path, None).unwrap(), Some(10));
        let mut who = Vec::new();
        people.write(1, &mut who);
        assert_eq!((people.count, people.signed_in_count(), who.as_slice()), (10, 2, &b"bb"[..]));
        people.write(2, &mut who);
        assert_eq!(who, seeded_name(2).as_bytes());
        SeededUsers { tokens: Tokens::none(), count: 10 }.write(0, &mut who);
        assert_eq!(who, seeded_name(0).as_bytes());
    }

    #[test]
    fn by_zipf_the_first_of_ten_million_is_drawn_every_seventeenth_time() {
        let (mut rng, count) = (SmallRng::seed_from_u64(1), 10_000_000);
        let choice = Choice::zipf(count, 1.0).unwrap();
        let drawn: Vec<u64> = (0..100_000).map(|_| choice.draw(&mut rng, count)).collect();
        let first = drawn.iter().filter(|index| **index == 0).count();
        // 1 / H(10^7) = 1 / 16.7
        assert!((5_500..6_500).contains(&first), "{first}");
        assert!(drawn.iter().any(|index| *index > 5_000_000));
        assert!(drawn.iter().all(|index| *index < count));
    }
}
