//! What a process that decodes says: two squares, or why there are none. A byte says which, and each part
//! follows its length.

use std::borrow::Cow;

use bytes::Bytes;
use lodge_domain::{Error, Result, accounts::Squares};

use crate::decode::refused;

/// The longest answer; two squares are a tenth of it.
pub(crate) const BYTES_MAX: usize = 1 << 20;

/// The longest reason.
const REASON_BYTES_MAX: usize = 200;

const SQUARES: u8 = 1;
const REFUSED: u8 = 2;

/// As bytes; `None` of a defect, which is for nobody to read.
pub(crate) fn said(answer: &Result<Squares>) -> Option<Vec<u8>> {
    match answer {
        Ok(Squares { large, small }) => written(SQUARES, &[&large[..], &small[..]]),
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

/// What these bytes say; `None` if that is nothing, or more than there is to say. Whoever says it has read
/// what a stranger sent, and may be theirs: it is believed no more than its form.
pub(crate) fn heard(mut bytes: Bytes) -> Option<Result<Squares>> {
    let kind = take(&mut bytes, 1)?[0];
    let answer = match kind {
        SQUARES => Ok(Squares { large: jpeg(&mut bytes)?, small: jpeg(&mut bytes)? }),
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

    fn squares() -> Squares {
        let jpeg = |middle: &[u8]| [&[0xff, 0xd8][..], middle, &[0xff, 0xd9]].concat().into();
        Squares { large: jpeg(b"large"), small: jpeg(b"small") }
    }

    #[test]
    fn what_is_said_is_heard() {
        let bytes = said(&Ok(squares())).unwrap();
        assert_eq!(heard(bytes.into()).unwrap().unwrap(), squares());
        let bytes = said(&Err(refused("is damaged"))).unwrap();
        let heard = heard(bytes.into()).unwrap().unwrap_err();
        assert_eq!(heard.to_string(), "picture: is damaged");
        assert_eq!(said(&Err(Error::internal("a defect"))), None);
    }

    #[test]
    fn what_is_not_whole_or_more_than_an_answer_is_none() {
        let good = said(&Ok(squares())).unwrap();
        for length in 0..good.len() {
            assert!(heard(good[..length].to_vec().into()).is_none(), "{length}");
        }
        let text = |text: &str| written(REFUSED, &[text.as_bytes()]).unwrap();
        let odd = [
            [&good[..], b"x"].concat(),
            [&[3][..], &good[1..]].concat(),
            written(SQUARES, &[b"<html>", b"<html>"]).unwrap(),
            written(REFUSED, &[b"\xff"]).unwrap(),
            text("is\r\nhere"),
            text(&"x".repeat(201)),
        ];
        for bytes in odd {
            assert!(heard(bytes.clone().into()).is_none(), "{bytes:?}");
        }
    }
}
