//! A picture, of a profile or in a message: two sizes, and an id derived from them.

use std::{fmt, ops::RangeInclusive, str::FromStr};

use async_trait::async_trait;
use bytes::Bytes;
use futures_util::stream::BoxStream;
use jiff::Timestamp;
use serde_with::{DeserializeFromStr, SerializeDisplay};
use sha2::{Digest, Sha256};

use crate::{Error, Random, Result};

/// The maximum pictures in one call that asks which of them are assigned.
pub const PICTURES_PER_CALL_MAX: usize = 500;

/// The shape that an upload is converted to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Shape {
    /// A square cut from the middle, for profiles.
    Square,
    /// The whole picture, never enlarged, for messages.
    Whole,
}

impl Shape {
    /// All shapes.
    pub const ALL: [Self; 2] = [Self::Square, Self::Whole];

    /// Returns the stored sizes of this shape, the largest first.
    pub const fn sizes(self) -> [PictureSize; 2] {
        match self {
            Self::Square => [PictureSize::Large, PictureSize::Small],
            Self::Whole => [PictureSize::Full, PictureSize::Preview],
        }
    }
}

/// The stored sizes of pictures, each of one shape.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum PictureSize {
    /// A square for a profile page.
    Large,
    /// A square beside a name.
    Small,
    /// A whole picture, viewed alone.
    Full,
    /// A whole picture in its message.
    Preview,
}

impl PictureSize {
    /// All sizes.
    pub const ALL: [Self; 4] = [Self::Large, Self::Small, Self::Full, Self::Preview];

    /// Returns the side of a square, or the maximum of a whole picture's longer side, in pixels.
    pub const fn px(self) -> u32 {
        match self {
            Self::Large => 256,
            Self::Small => 64,
            Self::Full => 1024,
            Self::Preview => 320,
        }
    }

    /// Returns the size of `shape` with this number of pixels, as in a URL.
    pub fn parse(shape: Shape, px: &str) -> Option<Self> {
        shape.sizes().into_iter().find(|size| size.px().to_string() == px)
    }
}

/// A picture as stored: JPEG in each size of its shape, without metadata.
#[derive(Clone, PartialEq, Eq)]
pub struct Picture([(PictureSize, Bytes); 2]);

impl Picture {
    /// Creates a picture from files in the order of [`Shape::sizes`].
    pub fn new(shape: Shape, files: [Bytes; 2]) -> Self {
        let ([larger, smaller], [large, small]) = (shape.sizes(), files);
        Self([(larger, large), (smaller, small)])
    }

    /// Returns the files with their sizes.
    pub fn files(&self) -> &[(PictureSize, Bytes); 2] {
        &self.0
    }

    /// Returns the file of a size, if the picture's shape has it.
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

/// A picture's id: SHA-256 of a random number drawn for the upload, the owner's number and the files. An id never
/// changes its content and is never reused: removing a picture affects neither another owner's nor the same picture
/// uploaded again.
#[derive(
    derive_more::Debug, Clone, Copy, PartialEq, Eq, Hash, SerializeDisplay, DeserializeFromStr,
)]
#[debug("PictureId({self})")]
pub struct PictureId([u8; 32]);

impl PictureId {
    /// Draws an id for a picture of the account or bot numbered `owner`.
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

    /// Creates an id from its stored bytes.
    pub fn stored(bytes: [u8; 32]) -> Self {
        Self(bytes)
    }

    /// Returns the bytes, for a store.
    pub fn bytes(&self) -> &[u8; 32] {
        &self.0
    }
}

impl FromStr for PictureId {
    type Err = Error;

    /// Parses 64 lower-case hexadecimal digits: one id has one form.
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
        bytes.map(Self).ok_or_else(|| {
            Error::invalid("picture", "must be a picture id of 64 lower-case hexadecimal digits")
        })
    }
}

impl fmt::Display for PictureId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

/// Decodes untrusted uploads.
#[async_trait]
pub trait PictureDecoder: Send + Sync {
    /// Converts a JPEG, PNG, WebP or GIF to a picture of `shape`; [`Error::Invalid`] if it is of another format,
    /// damaged or too large, and [`Error::Unavailable`] at once if too many uploads wait.
    async fn decode(&self, upload: Bytes, shape: Shape) -> Result<Picture>;
}

/// A store of pictures. A change that is answered with `Ok` survives the loss of the process.
#[async_trait]
pub trait PictureStore: Send + Sync {
    /// Stores a picture in all sizes; a failed call may have stored some. Idempotent.
    async fn put(&self, id: PictureId, picture: Picture) -> Result<()>;

    /// Returns a picture in one size, if it exists.
    async fn get(&self, id: PictureId, size: PictureSize) -> Result<Option<Bytes>>;

    /// Removes a picture, if it exists.
    async fn remove(&self, id: PictureId) -> Result<()>;

    /// Records the beginning of a sweep; returns false instead if one began in the time `recent`, in any process that
    /// shares the store. Two that begin at the same moment may both get true.
    async fn begin_sweep(&self, recent: RangeInclusive<Timestamp>) -> Result<bool>;

    /// Removes the record of the last sweep, so that the next one may begin at any time.
    async fn forget_sweep(&self) -> Result<()>;

    /// Lists the pictures whose files were all stored before `at`, in no order, possibly with repetitions.
    fn put_before(&self, at: Timestamp) -> BoxStream<'_, Result<PictureId>>;
}

/// Knows which pictures are assigned, to accounts or otherwise.
#[async_trait]
pub trait PictureOwners: Send + Sync {
    /// Returns those of `pictures`, at most [`PICTURES_PER_CALL_MAX`], that are assigned.
    async fn assigned(&self, pictures: Vec<PictureId>) -> Result<Vec<PictureId>>;
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{OsRandom, random::OneByte};

    fn picture(large: &'static str, small: &'static str) -> Picture {
        Picture::new(Shape::Square, [large, small].map(Bytes::from))
    }

    #[test]
    fn every_owner_picture_and_upload_gets_an_id_of_its_own() {
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
    fn an_id_has_one_form() {
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
    fn a_size_parses_only_for_its_own_shape() {
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
