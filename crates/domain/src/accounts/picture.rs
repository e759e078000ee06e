//! What an account's picture is: two squares, and a name that follows from them.

use std::{fmt, str::FromStr};

use async_trait::async_trait;
use bytes::Bytes;
use futures_util::stream::BoxStream;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::AccountId;
use crate::{Error, Random, Result};

/// The squares that every picture is kept as.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum PictureSize {
    /// For a page about somebody.
    Large,
    /// Beside a name.
    Small,
}

impl PictureSize {
    /// All of them.
    pub const ALL: [Self; 2] = [Self::Large, Self::Small];

    /// The length of a side, in pixels.
    pub const fn px(self) -> u32 {
        match self {
            Self::Large => 256,
            Self::Small => 64,
        }
    }

    /// The size of so many pixels, as a URL says it.
    pub fn parse(px: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|size| size.px().to_string() == px)
    }
}

/// A picture as it is kept: JPEG in each size, with nothing in it but what is to be seen.
#[derive(Clone, PartialEq, Eq)]
pub struct Squares {
    /// [`PictureSize::Large`].
    pub large: Bytes,
    /// [`PictureSize::Small`].
    pub small: Bytes,
}

impl Squares {
    /// The bytes of that size.
    pub fn of(&self, size: PictureSize) -> &Bytes {
        match size {
            PictureSize::Large => &self.large,
            PictureSize::Small => &self.small,
        }
    }
}

impl fmt::Debug for Squares {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Squares({} and {} bytes)", self.large.len(), self.small.len())
    }
}

/// A picture's name: SHA-256 of a number drawn for this one upload, whose it is, and its bytes. What has a
/// name never changes, and what had one never comes back: taking a picture away takes nothing else away, be
/// it another account's or the same picture, set again.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct PictureId([u8; 32]);

impl PictureId {
    /// A new name for an account's picture.
    pub fn draw(account: AccountId, squares: &Squares, random: &dyn Random) -> Self {
        let mut number = [0; 16];
        random.fill(&mut number);
        let mut hash = Sha256::new();
        hash.update(number);
        hash.update(account.0.to_be_bytes());
        for size in PictureSize::ALL {
            let bytes = squares.of(size);
            hash.update((bytes.len() as u64).to_be_bytes());
            hash.update(bytes);
        }
        Self(hash.finalize().into())
    }

    /// A name that the store has kept.
    pub fn stored(bytes: [u8; 32]) -> Self {
        Self(bytes)
    }

    /// Its bytes, for a store.
    pub fn bytes(&self) -> &[u8; 32] {
        &self.0
    }
}

impl FromStr for PictureId {
    type Err = Error;

    /// 64 hexadecimal digits, the letters small: one name has one form.
    fn from_str(text: &str) -> Result<Self> {
        let digit = |digit: u8| match digit {
            b'0'..=b'9' => Some(digit - b'0'),
            b'a'..=b'f' => Some(digit - b'a' + 10),
            _ => None,
        };
        let (pairs, rest) = text.as_bytes().as_chunks::<2>();
        let bytes = pairs.iter().map(|[high, low]| Some(digit(*high)? << 4 | digit(*low)?));
        let bytes = bytes.collect::<Option<Vec<u8>>>().filter(|_| rest.is_empty());
        let bytes = bytes.and_then(|bytes| bytes.try_into().ok());
        bytes.map(Self).ok_or_else(|| Error::invalid("picture", "is no name of a picture"))
    }
}

impl fmt::Display for PictureId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for PictureId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "PictureId({self})")
    }
}

impl TryFrom<String> for PictureId {
    type Error = Error;
    fn try_from(text: String) -> Result<Self> {
        text.parse()
    }
}

impl From<PictureId> for String {
    fn from(id: PictureId) -> Self {
        id.to_string()
    }
}

/// Makes squares of whatever somebody sends.
#[async_trait]
pub trait PictureDecoder: Send + Sync {
    /// The squares of a JPEG, PNG, WebP or GIF; [`Error::Invalid`] if it is none, damaged, or larger than
    /// can be taken, and [`Error::Unavailable`] at once if too many wait.
    async fn squares(&self, upload: Bytes) -> Result<Squares>;
}

/// Keeps pictures. Whatever a method answers with `Ok` survives the loss of the process.
#[async_trait]
pub trait PictureStore: Send + Sync {
    /// Keeps a picture, in all sizes or, if it fails, in any; the same again changes nothing.
    async fn put(&self, id: PictureId, squares: Squares) -> Result<()>;

    /// A picture in one size, if there is such a one.
    async fn get(&self, id: PictureId, size: PictureSize) -> Result<Option<Bytes>>;

    /// Removes a picture, if it is there.
    async fn remove(&self, id: PictureId) -> Result<()>;

    /// The pictures of which all that is there was put before `at`, in no order, some of them more than
    /// once.
    fn put_before(&self, at: Timestamp) -> BoxStream<'_, Result<PictureId>>;
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::OsRandom;

    fn squares(large: &'static str, small: &'static str) -> Squares {
        Squares { large: Bytes::from_static(large.as_bytes()), small: small.into() }
    }

    /// The same numbers again and again.
    struct Same;

    impl Random for Same {
        fn fill(&self, bytes: &mut [u8]) {
            bytes.fill(7);
        }
    }

    #[test]
    fn no_two_accounts_no_two_pictures_and_no_two_uploads_share_a_name() {
        let names = [
            PictureId::draw(AccountId(1), &squares("ab", "c"), &Same),
            PictureId::draw(AccountId(2), &squares("ab", "c"), &Same),
            PictureId::draw(AccountId(1), &squares("a", "bc"), &Same),
            PictureId::draw(AccountId(1), &squares("ab", "d"), &Same),
            PictureId::draw(AccountId(1), &squares("ab", "c"), &OsRandom),
            PictureId::draw(AccountId(1), &squares("ab", "c"), &OsRandom),
        ];
        for (index, name) in names.iter().enumerate() {
            assert!(!names[..index].contains(name));
        }
    }

    #[test]
    fn a_name_has_one_form() {
        let id = PictureId::draw(AccountId(1), &squares("large", "small"), &OsRandom);
        let text = id.to_string();
        assert_eq!(text.parse::<PictureId>().unwrap(), id);
        for text in [
            "",
            &text[1..],
            &text[2..],
            &format!("{text}00"),
            &format!("{}G", &text[1..]),
            &format!("A{}", &text[1..]),
            &format!("../{}", &text[3..]),
            &format!("é{}", &text[2..]),
        ] {
            assert!(text.parse::<PictureId>().is_err(), "{text:?}");
        }
    }

    #[test]
    fn a_size_is_named_by_its_pixels() {
        for size in PictureSize::ALL {
            assert_eq!(PictureSize::parse(&size.px().to_string()), Some(size));
        }
        for text in ["", "0", "064", "+64", "65", "large"] {
            assert_eq!(PictureSize::parse(text), None, "{text}");
        }
    }
}
