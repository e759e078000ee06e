use proptest::prelude::*;

use super::*;

type Outcome = Result<Option<Answer>, Malformed>;

/// Feeds `pieces` one by one, then closes if `close`. Returns the decoder's result and the `Location`.
fn read(pieces: &[&[u8]], head_only: bool, close: bool) -> (Outcome, Option<Vec<u8>>) {
    let mut decoder = Decoder::new(Keep::Location);
    decoder.begin(head_only);
    for (index, piece) in pieces.iter().enumerate() {
        match decoder.feed(piece) {
            Ok(None) => {}
            Ok(Some(mut answer)) => {
                answer.keep_alive &= pieces[index + 1..].iter().all(|rest| rest.is_empty());
                return (Ok(Some(answer)), decoder.location().map(<[u8]>::to_vec));
            }
            Err(error) => return (Err(error), None),
        }
    }
    let outcome = if close { decoder.close().map(Some) } else { Ok(None) };
    (outcome, decoder.location().map(<[u8]>::to_vec))
}

fn whole(bytes: &[u8]) -> Outcome {
    read(&[bytes], false, false).0
}

#[expect(clippy::unnecessary_wraps, reason = "it is compared with outcomes")]
fn answer(status: u16, keep_alive: bool) -> Outcome {
    Ok(Some(Answer { status, keep_alive }))
}

/// A response with the status 200, these headers and this body.
fn ok(headers: &str, body: impl AsRef<[u8]>) -> Vec<u8> {
    [format!("HTTP/1.1 200 OK\r\n{headers}\r\n\r\n").as_bytes(), body.as_ref()].concat()
}

fn chunked(body: impl AsRef<[u8]>) -> Vec<u8> {
    ok("Transfer-Encoding: chunked", body)
}

const REDIRECT: &[u8] = b"HTTP/1.1 307 Temporary Redirect\r\nlocation: https://example.com/a\r\ncontent-length: 5\r\n\r\nhello";
const CHUNKED: &[u8] =
    b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5;x=\"y\"\r\nhello\r\n1A\r\nabcdefghijklmnopqrstuvwxyz\r\n0\r\nETag: x\r\nA: b\r\n\r\n";

#[test]
fn a_stream_is_drained_as_it_arrives_and_may_be_endless() {
    let read = |keep| {
        let mut decoder = Decoder::new(keep);
        decoder.begin(false);
        assert_eq!(decoder.status(), None);
        assert_eq!(decoder.feed(&chunked("3\r\nab")), Ok(None));
        assert_eq!((decoder.status(), decoder.body()), (Some(200), &b"ab"[..]));
        decoder.body_mut().clear();
        decoder.seen.body_bytes = BODY_BYTES_MAX;
        let fed = decoder.feed(b"c\r\n2\r\nde\r\n");
        (fed, decoder.body().to_vec())
    };
    assert_eq!(read(Keep::Stream), (Ok(None), b"cde".to_vec()));
    assert_eq!(read(Keep::Body).0, Err(Malformed::BodyTooLong));
}

#[test]
fn a_length_delimited_answer_keeps_the_connection() {
    let location = Some(b"https://example.com/a".to_vec());
    assert_eq!(read(&[REDIRECT], false, false), (answer(307, true), location));
    assert_eq!(whole(b"HTTP/1.1 201 Created\r\nContent-Length: 0\r\n\r\n"), answer(201, true));
    assert_eq!(whole(&REDIRECT[..REDIRECT.len() - 1]), Ok(None));
}

#[test]
fn a_chunked_answer_ends_after_its_trailers() {
    assert_eq!(whole(CHUNKED), answer(200, true));
    assert_eq!(whole(&CHUNKED[..CHUNKED.len() - 1]), Ok(None));
    assert_eq!(whole(&chunked("0\r\n\r\n")), answer(200, true));
}

#[test]
fn an_answer_without_a_length_ends_with_the_connection() {
    let bytes = b"HTTP/1.1 200 OK\r\n\r\nuntil the end";
    assert_eq!(whole(bytes), Ok(None));
    assert_eq!(read(&[bytes], false, true).0, answer(200, false));
}

#[test]
fn a_connection_closed_inside_an_answer_is_no_answer() {
    let [redirect, chunked] = [REDIRECT.len() - 1, CHUNKED.len() - 2];
    for cut in [&REDIRECT[..0], &REDIRECT[..10], &REDIRECT[..redirect], &CHUNKED[..chunked]] {
        assert_eq!(read(&[cut], false, true).0, Err(Malformed::Truncated), "{}", cut.len());
    }
}

#[test]
fn answers_without_a_body_end_with_their_head() {
    assert_eq!(whole(b"HTTP/1.1 204 No Content\r\n\r\n"), answer(204, true));
    assert_eq!(whole(b"HTTP/1.1 304 X\r\nContent-Length: 99\r\n\r\n"), answer(304, true));
    let head = b"HTTP/1.1 307 X\r\nContent-Length: 99\r\n\r\n";
    assert_eq!(read(&[head], true, false).0, answer(307, true));
}

#[test]
fn interim_answers_are_skipped() {
    let bytes = b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early\r\nLink: x\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n";
    assert_eq!(whole(bytes), answer(200, true));
    assert_eq!(whole(&b"HTTP/1.1 100 C\r\n\r\n".repeat(9)), Err(Malformed::Interim));
}

#[test]
fn close_is_obeyed_and_old_http_closes_unless_it_says_otherwise() {
    for (head, keep_alive) in [
        ("HTTP/1.1 200 OK\r\nConnection: Close", false),
        ("HTTP/1.0 200 OK", false),
        ("HTTP/1.0 200 OK\r\nConnection: x, keep-alive", true),
    ] {
        let bytes = format!("{head}\r\nContent-Length: 0\r\n\r\n");
        assert_eq!(whole(bytes.as_bytes()), answer(200, keep_alive), "{head}");
    }
}

#[test]
fn bytes_after_an_answer_end_the_connection() {
    let mut bytes = REDIRECT.to_vec();
    bytes.push(b'!');
    assert_eq!(whole(&bytes), answer(307, false));
}

#[test]
fn garbage_is_refused() {
    assert_eq!(whole(b"SSH-2.0-OpenSSH_9.9\r\n"), Err(Malformed::Head));
    assert_eq!(whole(b"HTTP/1.1 099 Odd\r\n\r\n"), Err(Malformed::Head));
    assert_eq!(whole(b"HTTP/1.1 101 Switching\r\n\r\n"), Err(Malformed::Head));
    for length in ["", "-1", "x", "5, 5", "99999999999999999999"] {
        let bytes = ok(&format!("Content-Length: {length}"), "");
        assert_eq!(whole(&bytes), Err(Malformed::Length), "{length}");
    }
    let differing = ok("Content-Length: 1\r\nContent-Length: 2", "");
    assert_eq!(whole(&differing), Err(Malformed::Length));
    for body in ["\r\n", "x\r\n", "1\nX", "1\r\nab", "0000000000000000\r\n", "1 \n"] {
        assert_eq!(whole(&chunked(body)), Err(Malformed::Chunk), "{body:?}");
    }
}

#[test]
fn sizes_are_bounded() {
    let endless = [b"HTTP/1.1 200 OK\r\nX: ".to_vec(), vec![b'x'; HEAD_BYTES_MAX]].concat();
    assert_eq!(whole(&endless), Err(Malformed::HeadTooLong));
    let halves = endless.split_at(1000);
    assert_eq!(read(&[halves.0, halves.1], false, false).0, Err(Malformed::HeadTooLong));
    let many = ok("A: b\r\n".repeat(HEADERS_MAX + 1).trim_end(), "");
    assert_eq!(whole(&many), Err(Malformed::HeadTooLong));
    let huge = ok(&format!("Content-Length: {}", BODY_BYTES_MAX + 1), "");
    assert_eq!(whole(&huge), Err(Malformed::BodyTooLong));
    let extension = chunked(format!("1;{}", "x".repeat(HEAD_BYTES_MAX + 1)));
    assert_eq!(whole(&extension), Err(Malformed::HeadTooLong));
}

/// Answers of every framing, and broken ones.
fn any_answer() -> impl Strategy<Value = Vec<u8>> {
    let body = proptest::collection::vec(any::<u8>(), 0..200);
    let chunks = proptest::collection::vec(proptest::collection::vec(any::<u8>(), 1..40), 0..6);
    prop_oneof![
        Just(REDIRECT.to_vec()),
        Just(CHUNKED.to_vec()),
        body.clone().prop_map(|body| {
            ok(&format!("Content-Length: {}\r\nLocation: /x", body.len()), body)
        }),
        body.clone().prop_map(|body| [
            b"HTTP/1.1 100 C\r\n\r\nHTTP/1.0 404 No\r\n\r\n".to_vec(),
            body
        ]
        .concat()),
        chunks.prop_map(|chunks| {
            let mut bytes = chunked("");
            for chunk in chunks {
                bytes.extend_from_slice(format!("{:x}\r\n", chunk.len()).as_bytes());
                bytes.extend_from_slice(&chunk);
                bytes.extend_from_slice(b"\r\n");
            }
            bytes.extend_from_slice(b"0\r\n\r\n");
            bytes
        }),
        body.prop_map(chunked),
    ]
}

proptest! {
    #[test]
    fn any_split_of_the_bytes_gives_the_same_answer(
        bytes in any_answer(),
        mut cuts in proptest::collection::vec(any::<proptest::sample::Index>(), 0..12),
        close in any::<bool>(),
    ) {
        let at_once = read(&[&bytes], false, close);
        let mut cuts: Vec<usize> = cuts.drain(..).map(|cut| cut.index(bytes.len() + 1)).collect();
        cuts.push(bytes.len());
        cuts.sort_unstable();
        let mut from = 0;
        let pieces: Vec<&[u8]> = cuts.iter().map(|&to| { let piece = &bytes[from..to]; from = to; piece }).collect();
        prop_assert_eq!(read(&pieces, false, close), at_once.clone());
        let singles: Vec<&[u8]> = bytes.chunks(1).collect();
        prop_assert_eq!(read(&singles, false, close), at_once);
    }
}

#[test]
fn the_body_of_the_current_answer_is_kept_and_the_previous_one_dropped() {
    let mut decoder = Decoder::new(Keep::Body);
    let mut answer = |bytes: &[u8]| {
        decoder.begin(false);
        let mut whole = false;
        for byte in bytes {
            whole = decoder.feed(&[*byte]).unwrap().is_some();
        }
        assert!(whole || decoder.close().is_ok());
        let body = String::from_utf8(decoder.body().to_vec()).unwrap();
        (body, decoder.replayed(), decoder.retry_after_s())
    };
    let replayed = b"HTTP/1.1 201 X\r\nIdempotency-Replayed: true\r\nContent-Length: 3\r\n\r\nabc";
    assert_eq!(answer(replayed), ("abc".to_owned(), true, None));
    let overload = b"HTTP/1.1 503 X\r\nRetry-After: 2\r\nContent-Length: 0\r\n\r\n";
    assert_eq!(answer(overload), (String::new(), false, Some(2)));
    let chunked = chunked("2\r\nde\r\n1\r\nf\r\n0\r\n\r\n");
    assert_eq!(answer(&chunked), ("def".to_owned(), false, None));
    let until_close = b"HTTP/1.1 200 X\r\nRetry-After: Sun, 1 Jan\r\n\r\nghi";
    assert_eq!(answer(until_close), ("ghi".to_owned(), false, None));
}
