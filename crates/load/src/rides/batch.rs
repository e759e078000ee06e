//! Records rides in batches.

use std::cell::RefCell;
use std::io::{self, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use serde::Deserialize;
use uuid::Uuid;

use super::cli::Compress;
use super::plan::RidesPlan;
use super::ride::{Ids, Ride};
use super::tally::Tally;
use crate::engine::exchange::RETRIES;
use crate::engine::outcome::{ErrorKind, WriteOutcome, worth_retrying};
use crate::engine::run::{Connection, Iteration, Work};
use crate::engine::wire::SendResult;

/// The status of a batch whose lines were all stored.
const KEPT: u16 = 200;
/// The status of a line: of a new event, and of a replayed one.
const LINE_NEW: u16 = 201;
const LINE_REPLAYED: u16 = 200;

/// The numbers of new and of repeated lines in a batch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Share {
    pub(crate) new: u32,
    pub(crate) repeats: u32,
}

impl Share {
    /// Splits `lines` so that `percent` of them (0 to 90) are repeats; at least one line is new.
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a share of a count lies between 0 and the count"
    )]
    pub(crate) fn of(lines: u32, percent: f64) -> Self {
        let repeats = (f64::from(lines) * percent / 100.0) as u32;
        let new = (lines - repeats).max(1);
        Self { new, repeats }
    }

    /// Returns the number of batches for `events`.
    pub(crate) fn batches(self, events: u64) -> u64 {
        events.div_ceil(self.new.into())
    }
}

/// Records a batch each iteration.
#[derive(Debug)]
pub(crate) struct Batches {
    pub(crate) plan: Arc<RidesPlan>,
    pub(crate) share: Share,
    pub(crate) compress: Compress,
    /// Events that are not in a batch yet.
    pub(crate) left: AtomicU64,
}

/// The state of a connection.
#[derive(Debug, Default)]
pub(crate) struct ConnectionState {
    ids: Ids,
    lines: Vec<Line>,
    /// Acknowledged events of the previous batch.
    recent: Vec<(Uuid, Ride)>,
    body: Vec<u8>,
}

/// One line of a batch and its state.
#[derive(Debug)]
struct Line {
    id: Uuid,
    ride: Ride,
    /// A repeat of an acknowledged event, on purpose.
    repeat: bool,
    tries: u32,
    /// Whether the last try was answered as replayed, and the outcome of all tries.
    result: Result<bool, ErrorKind>,
    outcome: WriteOutcome,
}

impl Line {
    fn new((id, ride): (Uuid, Ride), repeat: bool) -> Self {
        let result = Err(ErrorKind::NotSent);
        Self { id, ride, repeat, tries: 0, result, outcome: WriteOutcome::Refused }
    }

    /// Returns whether the line must be sent or retried.
    fn open(&self) -> bool {
        worth_retrying(self.result.map(drop))
    }

    fn answer(&mut self, status: Result<u16, ErrorKind>, sent: bool) {
        self.tries += 1;
        self.result = status.and_then(|status| match status {
            LINE_NEW => Ok(false),
            LINE_REPLAYED => Ok(true),
            other => Err(ErrorKind::Status(other)),
        });
        self.outcome = self.outcome.max(WriteOutcome::of(self.result.map(drop), sent));
    }
}

/// One line of a response.
#[derive(Debug, Deserialize)]
struct LineAnswer {
    line: u64,
    status: u16,
    id: Option<Uuid>,
}

/// Assigns the lines of the response to the lines that were sent. A line without one gets the status of the
/// whole response, which is never an acknowledgement.
fn settle(lines: &mut [Line], asked: &SendResult, body: &[u8]) {
    let mut answers = body.split(|byte| *byte == b'\n').map(serde_json::from_slice::<LineAnswer>);
    let whole = match asked.status {
        Ok(200..=299) => Err(ErrorKind::Malformed),
        other => other,
    };
    let mut in_order = asked.status.is_ok();
    for (number, line) in (1..).zip(lines.iter_mut().filter(|line| line.open())) {
        let answer = if in_order { answers.next().and_then(Result::ok) } else { None };
        let answer = answer
            .filter(|answer| answer.line == number && answer.id.is_none_or(|id| id == line.id));
        in_order = answer.is_some();
        line.answer(answer.map_or(whole, |answer| Ok(answer.status)), asked.sent);
    }
}

/// Compresses the body. Returns its `Content-Encoding` too.
fn pack(compress: Compress, body: &[u8]) -> io::Result<(Option<&'static str>, Vec<u8>)> {
    match compress {
        Compress::None => Ok((None, body.to_vec())),
        Compress::Gzip => {
            let room = Vec::with_capacity(body.len() / 4);
            let mut packed = flate2::write::GzEncoder::new(room, flate2::Compression::fast());
            packed.write_all(body)?;
            Ok((Some("gzip"), packed.finish()?))
        }
        Compress::Zstd => Ok((Some("zstd"), zstd::encode_all(body, 0)?)),
    }
}

impl Batches {
    /// Takes the next new events. Returns how many; 0 if none are left.
    fn take(&self) -> u64 {
        let new = u64::from(self.share.new);
        let before = self.left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| {
            Some(left.saturating_sub(new))
        });
        before.unwrap_or_default().min(new)
    }

    /// Fills the batch with new events and repeats of the previous batch.
    fn fill(&self, seat: &mut Connection<ConnectionState>) {
        let own = &mut seat.state;
        own.lines.clear();
        for _ in 0..self.take() {
            let event = (own.ids.mint(), self.plan.args.ranges.draw(&mut seat.rng));
            own.lines.push(Line::new(event, false));
        }
        own.lines.extend(own.recent.drain(..).map(|event| Line::new(event, true)));
    }

    /// Renders the request from the open lines.
    fn render(&self, seat: &mut Connection<ConnectionState>) -> io::Result<()> {
        let own = &mut seat.state;
        own.body.clear();
        for line in own.lines.iter().filter(|line| line.open()) {
            self.plan.requests.line(line.id, &line.ride, &mut own.body);
        }
        let (coding, packed) = pack(self.compress, &own.body)?;
        self.plan.requests.batch(coding, &packed, &mut seat.wire.request);
        Ok(())
    }

    /// Sends the batch until every line is settled or given up. Returns the last result and the tries.
    async fn send(&self, seat: &mut Connection<ConnectionState>) -> (SendResult, u32) {
        let mut tries = 0;
        loop {
            tries += 1;
            let asked = seat.wire.send(Instant::now()).await;
            settle(&mut seat.state.lines, &asked, seat.wire.answered().body());
            let open = seat.state.lines.iter().any(Line::open);
            let again = open && tries <= RETRIES && seat.pause(tries, &asked).await;
            // The body was compressed without an error before.
            if !again || self.render(seat).is_err() {
                return (asked, tries);
            }
        }
    }

    fn note(&self, own: &mut ConnectionState, tally: &mut Tally) {
        for line in &own.lines {
            if line.repeat {
                tally.events.count_repeat(line.result);
                continue;
            }
            tally.note((line.id, line.ride), line.outcome, self.plan.verticals());
            tally.events.new_as_replayed += u64::from(line.result == Ok(true) && line.tries == 1);
        }
        let kept = own
            .lines
            .iter()
            .filter(|line| !line.repeat && line.outcome == WriteOutcome::Acknowledged);
        let repeats = self.share.repeats as usize;
        own.recent.extend(kept.map(|line| (line.id, line.ride)).take(repeats));
    }
}

/// Returns the result of the batch: the error of its first failed line, otherwise its own status.
fn result(lines: &[Line], asked: &SendResult) -> Result<(), ErrorKind> {
    match lines.iter().find_map(|line| line.result.err()) {
        Some(error) => Err(error),
        None => asked.expect(KEPT),
    }
}

impl Work for Batches {
    type State = ConnectionState;
    type Output = Tally;

    async fn iterate(
        &self,
        seat: &mut Connection<ConnectionState>,
        hand: &RefCell<Tally>,
    ) -> Iteration {
        self.fill(seat);
        let rendered = self.render(seat);
        let began = Instant::now();
        let (result, detail) = if let Err(error) = rendered {
            (Err(ErrorKind::NotSent), Some(error.to_string()))
        } else {
            let (asked, tries) = self.send(seat).await;
            hand.borrow_mut().events.retries += u64::from(tries - 1);
            (result(&seat.state.lines, &asked), asked.detail)
        };
        let turn = Iteration::ended(0, seat, result, detail);
        self.note(&mut seat.state, &mut hand.borrow_mut());
        Iteration { began: Some(began), ..turn }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rides::ride::SkierDay;

    fn lines(count: u128) -> Vec<Line> {
        let ride = Ride { place: SkierDay { resort: 1, skier: 1 }, time: 1, lift: 1 };
        (0..count).map(|id| Line::new((Uuid::from_u128(id), ride), false)).collect()
    }

    fn asked(status: Result<u16, ErrorKind>) -> SendResult {
        SendResult { status, detail: None, sent: true, retry_after_s: None }
    }

    fn outcomes(lines: &[Line]) -> Vec<WriteOutcome> {
        lines.iter().map(|line| line.outcome).collect()
    }

    fn answer(line: u64, status: u16, id: u128) -> String {
        format!("{{\"line\":{line},\"status\":{status},\"id\":\"{}\"}}\n", Uuid::from_u128(id))
    }

    #[test]
    fn each_line_has_its_own_answer_and_only_failed_lines_are_retried() {
        use WriteOutcome::{Acknowledged, Refused, Unknown};
        let mut lines = lines(4);
        let refusal = "{\"line\":3,\"status\":400,\"message\":\"no such lift\"}\n";
        let body = [answer(1, 201, 0), answer(2, 503, 1), refusal.to_owned(), answer(4, 200, 3)];
        settle(&mut lines, &asked(Ok(503)), body.concat().as_bytes());
        assert_eq!(outcomes(&lines), [Acknowledged, Unknown, Refused, Acknowledged]);
        assert_eq!(result(&lines, &asked(Ok(503))), Err(ErrorKind::Status(503)));
        settle(&mut lines, &asked(Ok(200)), answer(1, 201, 1).as_bytes());
        assert_eq!(outcomes(&lines), [Acknowledged, Acknowledged, Refused, Acknowledged]);
        assert_eq!(lines.iter().map(|line| line.tries).collect::<Vec<_>>(), [1, 2, 1, 1]);
    }

    #[test]
    fn lines_missing_or_out_of_order_in_an_answer_are_not_acknowledged() {
        use WriteOutcome::{Acknowledged, Refused, Unknown};
        for (status, body, expected) in [
            (Ok(200), answer(1, 201, 0), [Acknowledged, Unknown]),
            (Ok(200), answer(1, 201, 0) + &answer(2, 201, 7), [Acknowledged, Unknown]),
            (Ok(200), answer(2, 201, 1) + &answer(1, 201, 0), [Unknown, Unknown]),
            (Ok(200), "{}".to_owned(), [Unknown, Unknown]),
            (Ok(413), "{\"message\":\"too long\"}".to_owned(), [Refused, Refused]),
            (Ok(503), String::new(), [Unknown, Unknown]),
            (Err(ErrorKind::Timeout), answer(1, 201, 0), [Unknown, Unknown]),
        ] {
            let mut lines = lines(2);
            settle(&mut lines, &asked(status), body.as_bytes());
            assert_eq!(outcomes(&lines), expected, "{status:?} {body}");
        }
    }

    #[test]
    fn repeats_take_their_share_of_the_lines() {
        assert_eq!(Share::of(10_000, 0.0), Share { new: 10_000, repeats: 0 });
        assert_eq!(Share::of(10_000, 5.0), Share { new: 9500, repeats: 500 });
        assert_eq!(Share::of(1, 90.0), Share { new: 1, repeats: 0 });
        assert_eq!(Share::of(100, 50.0).batches(101), 3);
    }

    #[test]
    fn a_compressed_body_decompresses_to_the_same_bytes() {
        use std::io::Read;
        let body = b"a line\n".repeat(1000);
        let (coding, packed) = pack(Compress::Gzip, &body).unwrap();
        let mut unpacked = Vec::new();
        flate2::read::GzDecoder::new(packed.as_slice()).read_to_end(&mut unpacked).unwrap();
        assert!(coding == Some("gzip") && packed.len() < 200 && unpacked == body);
        let (coding, packed) = pack(Compress::Zstd, &body).unwrap();
        assert_eq!((coding, zstd::decode_all(packed.as_slice()).unwrap()), (Some("zstd"), body));
    }
}
