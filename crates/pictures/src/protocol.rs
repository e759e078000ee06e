//! The protocol with the decoder process. The request names the shape of the picture. The answer is the two files of
//! a picture, or the reason of a refusal: a byte for the kind, then each part after its length.

use std::borrow::Cow;

use bytes::Bytes;
use lodge_domain::{
    Error, Result,
    accounts::{Picture, Shape},
};

use crate::decode::refused;

/// The longest answer, in bytes: more than the largest picture of pure noise.
pub(crate) const BYTES_MAX: usize = 4 << 20;

/// The longest reason, in bytes.
const REASON_BYTES_MAX: usize = 200;

const PICTURE: u8 = 1;
const REFUSED: u8 = 2;

/// Returns the code of a shape.
pub(crate) fn shape_code(shape: Shape) -> u8 {
    match shape {
        Shape::Square => b's',
        Shape::Whole => b'w',
    }
}

/// Returns the shape of a code.
pub(crate) fn shape(asked: u8) -> Option<Shape> {
    Shape::ALL.into_iter().find(|shape| self::shape_code(*shape) == asked)
}

/// Encodes an answer; `None` for an internal error, which is not sent.
pub(crate) fn encode(answer: &Result<Picture>) -> Option<Vec<u8>> {
    match answer {
        Ok(picture) => written(PICTURE, &picture.files().each_ref().map(|(_, bytes)| &bytes[..])),
        Err(Error::Invalid { reason, .. }) => written(REFUSED, &[reason.as_bytes()]),
        Err(_) => None,
    }
}

fn written(kind: u8, parts: &[&[u8]]) -> Option<Vec<u8>> {
    let mut bytes = vec![kind];
    for part in parts {
        bytes.extend(u32::try_from(part.len()).ok()?.to_be_bytes());
        bytes.extend(*part);
    }
    Some(bytes)
}

/// Decodes an answer; `None` if it is malformed or has trailing bytes. The decoder has parsed an untrusted upload and
/// may be compromised, so only the form of its answer is checked and nothing else is trusted.
pub(crate) fn decode(mut bytes: Bytes, shape: Shape) -> Option<Result<Picture>> {
    let kind = take(&mut bytes, 1)?[0];
    let answer = match kind {
        PICTURE => Ok(Picture::new(shape, [jpeg(&mut bytes)?, jpeg(&mut bytes)?])),
        REFUSED => Err(refused(reason(&mut bytes)?)),
        _ => return None,
    };
    bytes.is_empty().then_some(answer)
}

fn jpeg(bytes: &mut Bytes) -> Option<Bytes> {
    let jpeg = part(bytes)?;
    (jpeg.starts_with(&[0xff, 0xd8]) && jpeg.ends_with(&[0xff, 0xd9])).then_some(jpeg)
}

fn reason(bytes: &mut Bytes) -> Option<Cow<'static, str>> {
    let text = String::from_utf8(part(bytes)?.into()).ok()?;
    let is_plain = text.len() <= REASON_BYTES_MAX && !text.chars().any(char::is_control);
    is_plain.then_some(text.into())
}

fn part(bytes: &mut Bytes) -> Option<Bytes> {
    let length = u32::from_be_bytes(*take(bytes, 4)?.first_chunk()?);
    take(bytes, usize::try_from(length).ok()?)
}

fn take(bytes: &mut Bytes, count: usize) -> Option<Bytes> {
    (count <= bytes.len()).then(|| bytes.split_to(count))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn picture() -> Picture {
        let jpeg = |middle: &str| [&[0xff, 0xd8][..], middle.as_bytes(), &[0xff, 0xd9]].concat();
        Picture::new(Shape::Whole, ["large", "small"].map(|middle| jpeg(middle).into()))
    }

    fn heard(bytes: Bytes) -> Option<Result<Picture>> {
        super::decode(bytes, Shape::Whole)
    }

    #[test]
    fn the_code_of_a_shape_is_read_back() {
        for of in Shape::ALL {
            assert_eq!(shape(shape_code(of)), Some(of));
        }
        assert_eq!(shape(0), None);
    }

    #[test]
    fn an_answer_is_read_back() {
        let bytes = encode(&Ok(picture())).unwrap();
        assert_eq!(heard(bytes.into()).unwrap().unwrap(), picture());
        let bytes = encode(&Err(refused("is damaged"))).unwrap();
        let heard = heard(bytes.into()).unwrap().unwrap_err();
        assert_eq!(heard.to_string(), "picture: is damaged");
        assert_eq!(encode(&Err(Error::internal("a defect"))), None);
    }

    #[test]
    fn an_incomplete_or_malformed_answer_is_refused() {
        let good = encode(&Ok(picture())).unwrap();
        for length in 0..good.len() {
            assert!(heard(good[..length].to_vec().into()).is_none(), "{length}");
        }
        let text = |text: &str| written(REFUSED, &[text.as_bytes()]).unwrap();
        let odd = [
            [&good[..], b"x"].concat(),
            [&[3][..], &good[1..]].concat(),
            written(PICTURE, &[b"<html>", b"<html>"]).unwrap(),
            written(REFUSED, &[b"\xff"]).unwrap(),
            text("is\r\nhere"),
            text(&"x".repeat(201)),
        ];
        for bytes in odd {
            assert!(heard(bytes.clone().into()).is_none(), "{bytes:?}");
        }
    }
}
