//! Decodes HTTP/1.1 responses from a byte stream, however it is split.
//!
//! Bodies are counted and dropped unless they are to be kept. Heads and bodies are bounded; broken framing
//! is an error, never a guess.

use httparse::{EMPTY_HEADER, Response, Status};

/// The longest status line and headers together, in bytes; also the bound on the framing lines of a chunked body.
const HEAD_BYTES_MAX: usize = 64 * 1024;
/// The longest body, in bytes.
const BODY_BYTES_MAX: u64 = 1 << 30;
/// The longest body that is kept, in bytes; the rest of a longer body is dropped.
const KEPT_BODY_BYTES_MAX: usize = 16 << 20;
/// The largest number of headers in one response.
const HEADERS_MAX: usize = 96;
/// The largest number of interim (1xx) responses before the final one.
const INTERIM_MAX: u32 = 8;

/// Why bytes are not an HTTP/1.1 response.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Malformed {
    #[error("not an HTTP/1.1 response")]
    Head,
    #[error("status line and headers longer than {HEAD_BYTES_MAX} bytes")]
    HeadTooLong,
    #[error("body longer than {BODY_BYTES_MAX} bytes")]
    BodyTooLong,
    #[error("Content-Length is not a number, or is repeated with another value")]
    Length,
    #[error("broken chunked framing")]
    Chunk,
    #[error("more than {INTERIM_MAX} interim (1xx) responses")]
    Interim,
    #[error("the connection closed in the middle of a response")]
    Truncated,
}

/// Which parts of a response are kept besides its status.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Keep {
    Nothing,
    /// `Location`.
    Location,
    /// The body, `Idempotency-Replayed` and `Retry-After`.
    Body,
    /// An endless body, which the caller drains, and `Retry-After`.
    Stream,
}

/// One complete response.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    /// Whether the connection may carry another request.
    pub(crate) keep_alive: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    Head,
    Length(u64),
    Chunked(Chunk),
    UntilClose,
    Done,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Chunk {
    /// Hex digits of the size; `digits`: how many so far.
    Size {
        size: u64,
        digits: u32,
    },
    /// An extension: ignored up to the end of the line.
    Extension {
        size: u64,
    },
    /// The line feed after the size line's carriage return.
    SizeEnd {
        size: u64,
    },
    Data(u64),
    DataCr,
    DataLf,
    /// A trailer line; `empty` until its first byte.
    Trailer {
        empty: bool,
    },
    TrailerEnd {
        empty: bool,
    },
}

/// The decoder of one connection; call `begin` before each request.
#[derive(Debug)]
pub(crate) struct Decoder {
    keep: Keep,
    phase: Phase,
    /// The beginning of an incomplete head.
    head: Vec<u8>,
    location: Vec<u8>,
    body: Vec<u8>,
    seen: Seen,
}

/// The state of the current response.
#[derive(Debug, Default)]
struct Seen {
    head_only: bool,
    answer: Answer,
    has_location: bool,
    replayed: bool,
    retry_after_s: Option<u64>,
    body_bytes: u64,
    framing_bytes: usize,
    interim: u32,
}

impl Decoder {
    /// Creates a decoder that keeps these parts of each response.
    pub(crate) fn new(keep: Keep) -> Self {
        let [head, location, body] = [const { Vec::new() }; 3];
        Self { keep, phase: Phase::Done, head, location, body, seen: Seen::default() }
    }

    /// Expects the response to a new request. `head_only`: the request is a HEAD, whose response has no body.
    pub(crate) fn begin(&mut self, head_only: bool) {
        self.phase = Phase::Head;
        self.head.clear();
        self.body.clear();
        self.seen = Seen { head_only, ..Seen::default() };
    }

    /// Returns the `Location` of the last response, if it had one.
    pub(crate) fn location(&self) -> Option<&[u8]> {
        self.seen.has_location.then_some(self.location.as_slice())
    }

    /// Returns the kept part of the last response's body.
    pub(crate) fn body(&self) -> &[u8] {
        &self.body
    }

    /// Returns the received part of the body that has not been drained.
    pub(crate) fn body_mut(&mut self) -> &mut Vec<u8> {
        &mut self.body
    }

    /// Returns the status, once the head is complete.
    pub(crate) fn status(&self) -> Option<u16> {
        (self.phase != Phase::Head).then_some(self.seen.answer.status)
    }

    /// Returns whether the last response had `Idempotency-Replayed: true`.
    pub(crate) fn replayed(&self) -> bool {
        self.seen.replayed
    }

    /// Returns the last response's `Retry-After` in seconds. Dates are ignored.
    pub(crate) fn retry_after_s(&self) -> Option<u64> {
        self.seen.retry_after_s
    }

    /// Decodes the next bytes; `Some` when the response is complete. If bytes follow it, `keep_alive` is false.
    pub(crate) fn feed(&mut self, bytes: &[u8]) -> Result<Option<Answer>, Malformed> {
        let mut rest = bytes;
        while self.phase == Phase::Head {
            match self.take_head(rest)? {
                None => return Ok(None),
                Some(used) => rest = &rest[used..],
            }
        }
        let used = self.take_body(rest)?;
        if self.phase != Phase::Done {
            return Ok(None);
        }
        self.seen.answer.keep_alive &= used == rest.len();
        Ok(Some(self.seen.answer))
    }

    /// Handles the end of the stream: the response is complete only if its body lasts until then.
    pub(crate) fn close(&mut self) -> Result<Answer, Malformed> {
        if self.phase == Phase::UntilClose {
            self.phase = Phase::Done;
            return Ok(self.seen.answer);
        }
        Err(Malformed::Truncated)
    }

    /// Decodes a head. Returns how many of `bytes` it used; `None` if it is incomplete.
    fn take_head(&mut self, bytes: &[u8]) -> Result<Option<usize>, Malformed> {
        if self.head.is_empty() {
            // The usual case, a complete head in one read, is parsed without copying.
            let parsed = self.parse_head(bytes)?;
            if parsed.is_none() {
                self.keep_head(bytes)?;
            }
            return Ok(parsed);
        }
        let before = self.head.len();
        self.head.extend_from_slice(bytes);
        let whole = std::mem::take(&mut self.head);
        let parsed = self.parse_head(&whole)?;
        if let Some(end) = parsed {
            return Ok(Some(end - before));
        }
        self.head = whole;
        self.keep_head(&[])?;
        Ok(None)
    }

    fn keep_head(&mut self, bytes: &[u8]) -> Result<(), Malformed> {
        self.head.extend_from_slice(bytes);
        if self.head.len() > HEAD_BYTES_MAX { Err(Malformed::HeadTooLong) } else { Ok(()) }
    }

    fn parse_head(&mut self, bytes: &[u8]) -> Result<Option<usize>, Malformed> {
        let mut headers = [EMPTY_HEADER; HEADERS_MAX];
        let mut response = Response::new(&mut headers);
        let end = match response.parse(bytes) {
            Ok(Status::Complete(end)) => end,
            Ok(Status::Partial) => return Ok(None),
            Err(httparse::Error::TooManyHeaders) => return Err(Malformed::HeadTooLong),
            Err(_) => return Err(Malformed::Head),
        };
        if end > HEAD_BYTES_MAX {
            return Err(Malformed::HeadTooLong);
        }
        let status = response.code.ok_or(Malformed::Head)?;
        if !(100..=599).contains(&status) || status == 101 {
            return Err(Malformed::Head);
        }
        if status < 200 {
            self.seen.interim += 1;
            return if self.seen.interim > INTERIM_MAX {
                Err(Malformed::Interim)
            } else {
                Ok(Some(end))
            };
        }
        self.apply(status, response.version == Some(1), response.headers)?;
        Ok(Some(end))
    }

    /// Determines from the headers how the body is framed and whether the connection is kept alive.
    fn apply(
        &mut self,
        status: u16,
        http11: bool,
        headers: &[httparse::Header<'_>],
    ) -> Result<(), Malformed> {
        let mut keep_alive = http11;
        let mut length = None;
        let mut coding = None;
        for header in headers {
            let name = header.name;
            if name.eq_ignore_ascii_case("content-length") {
                length = Some(one_length(length, header.value)?);
            } else if name.eq_ignore_ascii_case("transfer-encoding") {
                coding = Some(has_token(header.value, b"chunked"));
            } else if name.eq_ignore_ascii_case("connection") {
                keep_alive = (keep_alive || has_token(header.value, b"keep-alive"))
                    && !has_token(header.value, b"close");
            } else {
                self.keep_header(name, header.value);
            }
        }
        self.phase = match (coding, length) {
            _ if self.seen.head_only || status == 204 || status == 304 => Phase::Done,
            (Some(true), _) => Phase::Chunked(Chunk::Size { size: 0, digits: 0 }),
            (Some(false), _) | (None, None) => Phase::UntilClose,
            (None, Some(0)) => Phase::Done,
            (None, Some(length)) if length > BODY_BYTES_MAX => return Err(Malformed::BodyTooLong),
            (None, Some(length)) => Phase::Length(length),
        };
        self.seen.answer =
            Answer { status, keep_alive: keep_alive && self.phase != Phase::UntilClose };
        Ok(())
    }

    fn keep_header(&mut self, name: &str, value: &[u8]) {
        match self.keep {
            Keep::Location if name.eq_ignore_ascii_case("location") => {
                self.location.clear();
                self.location.extend_from_slice(value);
                self.seen.has_location = true;
            }
            Keep::Body if name.eq_ignore_ascii_case("idempotency-replayed") => {
                self.seen.replayed = value.eq_ignore_ascii_case(b"true");
            }
            Keep::Body | Keep::Stream if name.eq_ignore_ascii_case("retry-after") => {
                self.seen.retry_after_s =
                    std::str::from_utf8(value).ok().and_then(|text| text.trim().parse().ok());
            }
            _ => {}
        }
    }

    fn keep_body(&mut self, bytes: &[u8]) {
        if matches!(self.keep, Keep::Body | Keep::Stream) {
            let room = KEPT_BODY_BYTES_MAX - self.body.len();
            self.body.extend_from_slice(&bytes[..bytes.len().min(room)]);
        }
    }

    /// Decodes body bytes. Returns how many of `bytes` belong to this response.
    fn take_body(&mut self, bytes: &[u8]) -> Result<usize, Malformed> {
        let mut at = 0;
        while at < bytes.len() {
            let left = &bytes[at..];
            match self.phase {
                Phase::Head | Phase::Done => break,
                Phase::UntilClose => {
                    self.keep_body(left);
                    at += self.count_body(left.len())?;
                }
                Phase::Length(length) => {
                    let used = shorter(left.len(), length);
                    self.keep_body(&left[..used]);
                    self.phase = match length - used as u64 {
                        0 => Phase::Done,
                        more => Phase::Length(more),
                    };
                    at += used;
                }
                Phase::Chunked(Chunk::Data(length)) => {
                    let used = self.count_body(shorter(left.len(), length))?;
                    self.keep_body(&left[..used]);
                    self.phase = Phase::Chunked(match length - used as u64 {
                        0 => Chunk::DataCr,
                        more => Chunk::Data(more),
                    });
                    at += used;
                }
                Phase::Chunked(chunk) => {
                    self.seen.framing_bytes += 1;
                    if self.seen.framing_bytes > HEAD_BYTES_MAX
                        && !matches!(chunk, Chunk::Size { .. })
                    {
                        return Err(Malformed::HeadTooLong);
                    }
                    self.phase = chunk_step(chunk, left[0])?;
                    at += 1;
                }
            }
        }
        Ok(at)
    }

    fn count_body(&mut self, bytes: usize) -> Result<usize, Malformed> {
        if self.keep != Keep::Stream {
            self.seen.body_bytes += bytes as u64;
        }
        if matches!(self.phase, Phase::Chunked(_)) {
            // Data resets the count: only framing without data is bounded.
            self.seen.framing_bytes = 0;
        }
        if self.seen.body_bytes > BODY_BYTES_MAX { Err(Malformed::BodyTooLong) } else { Ok(bytes) }
    }
}

fn shorter(have: usize, want: u64) -> usize {
    usize::try_from(want).map_or(have, |want| have.min(want))
}

/// Handles one framing byte of a chunked body.
fn chunk_step(chunk: Chunk, byte: u8) -> Result<Phase, Malformed> {
    let next = match (chunk, byte) {
        (Chunk::Size { size, digits }, _) if byte.is_ascii_hexdigit() => {
            if digits == 15 {
                return Err(Malformed::Chunk);
            }
            let digit = u64::from((byte as char).to_digit(16).unwrap_or_default());
            Chunk::Size { size: size * 16 + digit, digits: digits + 1 }
        }
        (Chunk::Size { digits: 0, .. }, _) => return Err(Malformed::Chunk),
        (Chunk::Size { size, .. } | Chunk::Extension { size }, b'\r') => Chunk::SizeEnd { size },
        (Chunk::Size { size, .. }, b';' | b' ' | b'\t') => Chunk::Extension { size },
        (Chunk::Extension { size }, byte) if byte != b'\n' => Chunk::Extension { size },
        (Chunk::DataCr, b'\r') => Chunk::DataLf,
        (Chunk::DataLf, b'\n') => Chunk::Size { size: 0, digits: 0 },
        (Chunk::Trailer { empty }, b'\r') => Chunk::TrailerEnd { empty },
        (Chunk::Trailer { .. }, byte) if byte != b'\n' => Chunk::Trailer { empty: false },
        (Chunk::TrailerEnd { empty: true }, b'\n') => return Ok(Phase::Done),
        (Chunk::SizeEnd { size: 0 } | Chunk::TrailerEnd { empty: false }, b'\n') => {
            Chunk::Trailer { empty: true }
        }
        (Chunk::SizeEnd { size }, b'\n') => Chunk::Data(size),
        _ => return Err(Malformed::Chunk),
    };
    Ok(Phase::Chunked(next))
}

/// Parses a `Content-Length`, which may be repeated with the same value.
fn one_length(seen: Option<u64>, value: &[u8]) -> Result<u64, Malformed> {
    let digits = !value.is_empty() && value.len() <= 19 && value.iter().all(u8::is_ascii_digit);
    let length = value
        .iter()
        .fold(0, |sum: u64, digit| sum.wrapping_mul(10).wrapping_add(u64::from(digit & 0x0f)));
    if digits && seen.is_none_or(|seen| seen == length) {
        Ok(length)
    } else {
        Err(Malformed::Length)
    }
}

/// Returns whether a comma-separated header contains `token`, ignoring case.
fn has_token(value: &[u8], token: &[u8]) -> bool {
    value.split(|&byte| byte == b',').any(|part| part.trim_ascii().eq_ignore_ascii_case(token))
}

#[cfg(test)]
#[path = "http1_tests.rs"]
mod tests;
