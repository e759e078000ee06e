//! What a picture is, of somebody or in a message: files of two sizes, and a name that follows from them.

use std::{fmt, str::FromStr};

use async_trait::async_trait;
use bytes::Bytes;
use futures_util::stream::BoxStream;
use jiff::Timestamp;
use serde_with::{DeserializeFromStr, SerializeDisplay};
use sha2::{Digest, Sha256};

use crate::{Error, Random, Result};

/// Pictures that are asked for at once, whether they are somebody's.
pub const PICTURES_ASKED: usize = 500;

/// What a picture is made into.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Shape {
    /// A square, cut out of its middle: of somebody.
    Square,
    /// All of it, never larger than it was: in a message.
    Whole,
}

impl Shape {
    /// All of them.
    pub const ALL: [Self; 2] = [Self::Square, Self::Whole];

    /// The sizes that it is kept in, the largest first.
    pub const fn sizes(self) -> [PictureSize; 2] {
        match self {
            Self::Square => [PictureSize::Large, PictureSize::Small],
            Self::Whole => [PictureSize::Full, PictureSize::Preview],
        }
    }
}

/// The sizes that pictures are kept in, each of one shape.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum PictureSize {
    /// A square for a page about somebody.
    Large,
    /// A square beside a name.
    Small,
    /// A whole picture, looked at alone.
    Full,
    /// A whole picture in its message.
    Preview,
}

impl PictureSize {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Large, Self::Small, Self::Full, Self::Preview];

    /// The length of a square's side, or of a whole picture's longer one at most, in pixels.
    pub const fn px(self) -> u32 {
        match self {
            Self::Large => 256,
            Self::Small => 64,
            Self::Full => 1024,
            Self::Preview => 320,
        }
    }

    /// The size of this shape and of so many pixels, as a URL says it.
    pub fn parse(shape: Shape, px: &str) -> Option<Self> {
        shape.sizes().into_iter().find(|size| size.px().to_string() == px)
    }
}

/// A picture as it is kept: JPEG in each size of its shape, with nothing in it but what is to be seen.
#[derive(Clone, PartialEq, Eq)]
pub struct Picture([(PictureSize, Bytes); 2]);

impl Picture {
    /// One of these files, as [`Shape::sizes`] has them.
    pub fn new(shape: Shape, files: [Bytes; 2]) -> Self {
        let ([larger, smaller], [large, small]) = (shape.sizes(), files);
        Self([(larger, large), (smaller, small)])
    }

    /// Its files.
    pub fn files(&self) -> &[(PictureSize, Bytes); 2] {
        &self.0
    }

    /// The bytes of that size, if it is one of its shape.
    pub fn of(&self, size: PictureSize) -> Option<&Bytes> {
        self.0.iter().find(|(of, _)| *of == size).map(|(_, bytes)| bytes)
    }
}

impl fmt::Debug for Picture {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [(larger, large), (smaller, small)] = &self.0;
        write!(f, "Picture({larger:?} {} and {smaller:?} {} bytes)", large.len(), small.len())
    }
}

/// A picture's name: SHA-256 of a number drawn for this one upload, whose it is, and its bytes. What has a
/// name never changes, and what had one never comes back: taking a picture away takes nothing else away, be
/// it another account's or the same picture, set again.
#[derive(
    derive_more::Debug, Clone, Copy, PartialEq, Eq, Hash, SerializeDisplay, DeserializeFromStr,
)]
#[debug("PictureId({self})")]
pub struct PictureId([u8; 32]);

impl PictureId {
    /// A new name for a picture of the account, or the bot, of that number.
    pub fn draw(owner: i64, picture: &Picture, random: &dyn Random) -> Self {
        let mut number = [0; 16];
        random.fill(&mut number);
        let mut hash = Sha256::new();
        hash.update(number);
        hash.update(owner.to_be_bytes());
        for (_, bytes) in picture.files() {
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

/// Makes pictures of whatever somebody sends.
#[async_trait]
pub trait PictureDecoder: Send + Sync {
    /// Of a JPEG, PNG, WebP or GIF a picture of that shape; [`Error::Invalid`] if it is none, damaged, or larger
    /// than can be taken, and [`Error::Unavailable`] at once if too many wait.
    async fn decode(&self, upload: Bytes, shape: Shape) -> Result<Picture>;
}

/// Keeps pictures. Whatever a method answers with `Ok` survives the loss of the process.
#[async_trait]
pub trait PictureStore: Send + Sync {
    /// Keeps a picture, in all sizes or, if it fails, in any; the same again changes nothing.
    async fn put(&self, id: PictureId, picture: Picture) -> Result<()>;

    /// A picture in one size, if there is such a one.
    async fn get(&self, id: PictureId, size: PictureSize) -> Result<Option<Bytes>>;

    /// Removes a picture, if it is there.
    async fn remove(&self, id: PictureId) -> Result<()>;

    /// The pictures of which all that is there was put before `at`, in no order, some of them more than
    /// once.
    fn put_before(&self, at: Timestamp) -> BoxStream<'_, Result<PictureId>>;
}

/// Knows which pictures somebody, or something, has.
#[async_trait]
pub trait Pictured: Send + Sync {
    /// Those of these pictures, [`PICTURES_ASKED`] at most, that are had.
    async fn pictured(&self, pictures: Vec<PictureId>) -> Result<Vec<PictureId>>;
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{OsRandom, random::OneByte};

    fn picture(large: &'static str, small: &'static str) -> Picture {
        Picture::new(Shape::Square, [large, small].map(Bytes::from))
    }

    #[test]
    fn no_two_accounts_no_two_pictures_and_no_two_uploads_share_a_name() {
        let same = OneByte(7);
        let names = [
            PictureId::draw(1, &picture("ab", "c"), &same),
            PictureId::draw(2, &picture("ab", "c"), &same),
            PictureId::draw(1, &picture("a", "bc"), &same),
            PictureId::draw(1, &picture("ab", "d"), &same),
            PictureId::draw(1, &picture("ab", "c"), &OsRandom),
            PictureId::draw(1, &picture("ab", "c"), &OsRandom),
        ];
        for (index, name) in names.iter().enumerate() {
            assert!(!names[..index].contains(name));
        }
    }

    #[test]
    fn a_name_has_one_form() {
        let id = PictureId::draw(1, &picture("large", "small"), &OsRandom);
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
    fn a_size_is_named_by_its_pixels_among_those_of_its_shape() {
        for shape in Shape::ALL {
            for size in PictureSize::ALL {
                let is_its_own = shape.sizes().contains(&size);
                let found = PictureSize::parse(shape, &size.px().to_string());
                assert_eq!(found, is_its_own.then_some(size));
            }
            for text in ["", "0", "064", "+64", "65", "large"] {
                assert_eq!(PictureSize::parse(shape, text), None, "{text}");
            }
        }
    }
}
