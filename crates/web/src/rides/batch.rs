//! `POST /api/rides`: many events at once, and what came of each.

use std::{
    convert::Infallible,
    pin::Pin,
    task::{Context, Poll},
};

use axum::{
    body::Body,
    extract::{Request, State},
    response::{IntoResponse, Response},
};
use bytes::Bytes;
use http::{HeaderValue, StatusCode, header, request::Parts};
use hyper::body::{Frame, SizeHint};
use lodge_domain::{
    Error,
    rides::{BatchKey, Outcome, Recorded, Sender},
};
use tokio::sync::OwnedSemaphorePermit;

use super::{
    app::{KEY, RidesApp, kept},
    dto::LineJson,
    lines::{self, Batch, Line},
    packing::Packing,
};
use crate::{
    answers,
    body::{LONGEST_BODY_BYTES, Whole},
    edge::{address::Client, idempotency},
    error::{HttpResult, Problem},
    json,
    request::{self, called},
};

const KINDS: [&str; 4] =
    ["application/x-ndjson", "application/jsonl", "application/json-lines", "application/json"];

const ND_JSON: HeaderValue = HeaderValue::from_static("application/x-ndjson");

/// What a line takes of memory at most: what is read of it, its event and its answer, in KiB.
const LINE_KIB: u32 = 1;

/// What a batch takes while it is unpacked: what it unpacks to, and zstd's window as far as that fills it, in
/// KiB.
const UNPACKING_KIB: u32 = 8 * 1024;

/// What is read on the connection's own thread, in bytes and in lines: some tenths of a millisecond, if all of
/// the lines are wrong. The longest batch would hold up the thread's other connections for some ten
/// milliseconds.
const READ_AT_ONCE_BYTES_MAX: usize = 16 * 1024;
const READ_AT_ONCE_LINES_MAX: usize = 64;

/// Bytes of an answer to one line, about.
const ANSWER_BYTES: usize = 80;

/// What of an answer is handed to the connection at a time, in bytes. It copies that, and takes no more before
/// the peer has taken some.
const PART_BYTES: usize = 16 * 1024;

/// Record many rides.
///
/// A line of JSON for each event: a ride, or in `void` the id of a ride that was none, which only the gate that
/// sent the ride may say, with its key. From a file: `--data-binary @rides.ndjson`, for `-d` takes the ends of
/// lines away. Each line is answered on its
/// own, in order: 201 it is stored, 200 it was stored before, 400 it cannot be, 403 the gate's key is for another resort,
/// or there is none to void a ride with, 404 there is no such ride of the gate's to be void, 409 it is void already,
/// 503 it was not taken. Good lines are kept whatever stands beside them. With ids, or under an
/// `Idempotency-Key`, the same again is safe; a UUID is answered in lower case. An answer is a `LineOutcome`:
/// `line`, `status`, and `id` or `message`. At most 10,000 lines of 1 KiB, 2 MiB as sent, 4 MiB unpacked;
/// fewer good ones, where a limit lets in no more at once: they are let in together, or not at all.
#[utoipa::path(post, path = "/api/rides", operation_id = "recordRides", tag = "rides",
    request_body(content = String, content_type = "application/x-ndjson", example = "{\"id\":\"gate-4-16\",\"resortID\":1,\"seasonID\":\"2025\",\"dayID\":1,\"skierID\":7,\"time\":217,\"liftID\":20}\n{\"id\":\"gate-4-17\",\"resortID\":1,\"seasonID\":\"2025\",\"dayID\":1,\"skierID\":7,\"time\":217,\"liftID\":21}\n{\"void\":\"gate-4-16\"}\n"),
    params(("Content-Encoding" = Option<String>, Header, description = "gzip or zstd, if the body is packed"),
        ("Idempotency-Key" = Option<String>, Header, description = "What the batch is called, for ever: 1 to 128 printable ASCII characters. An event without an id gets one that is made of it and of the line's number: so that the batch can be sent again, whole, and nothing else under that key")),
    responses((status = 200, description = "Every line is kept", content_type = "application/x-ndjson", body = String),
        (status = 400, description = "Some lines are not, and their answers say why; or the whole cannot be read, or the Idempotency-Key was used for another body and nothing is kept", content_type = "application/x-ndjson", body = String),
        (status = 401, description = "The gate's key is not known, or was revoked; or this deployment takes rides from gates with a key alone"),
        (status = 429, description = "This address has sent too many without a gate's key: send the whole again, after Retry-After"),
        (status = 503, description = "Good lines, or the whole, were not taken: send it again, after Retry-After", content_type = "application/x-ndjson", body = String)),
    security(("gate" = []), ()))]
pub(super) async fn record(State(app): State<RidesApp>, request: Request) -> HttpResult {
    let (parts, body) = request.into_parts();
    let whole = async {
        let head = Head::read(&app, &parts).await?;
        Ok((head, Whole::up_to(LONGEST_BODY_BYTES, &app.site, body, &app.batch_room).await?))
    };
    // How many lines it would have been nobody knows.
    let (head, sent) = whole.await.inspect_err(|_: &Problem| app.rides.refuse(1))?;
    let (gate, at_once) = (head.sender.id(), head.is_small(&sent.bytes));
    let (worker, bytes) = (app.clone(), sent.bytes.clone());
    let (batch, room) = run(at_once, move || head.batch(&worker, &bytes)).await??;
    let Batch { lines, events, named } = batch;
    drop(sent);
    let outcomes = if events.is_empty() {
        Ok(Vec::new())
    } else {
        app.rides.record(gate, named, events).await
    };
    if matches!(outcomes, Err(Error::KeyReused)) {
        return Err(key_reused());
    }
    let outcomes = outcomes.map_err(|error| {
        let problem = Problem::from(error);
        tracing::warn!(cause = problem.cause.as_deref(), "a batch of rides was not stored");
        problem
    });
    let told = run(at_once, move || Answers::to(&lines, &outcomes)).await?;
    let replayed = named.is_some() && told.nothing_new;
    Ok(answers::marked(told.into_response(room), replayed))
}

/// Where the others of this API say 422, those of rides say 400.
fn key_reused() -> Problem {
    Problem { status: StatusCode::BAD_REQUEST, ..Error::KeyReused.into() }
}

/// Runs work here, or on a thread for what takes longer.
async fn run<T: Send + 'static>(
    at_once: bool,
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, Problem> {
    if at_once {
        return Ok(work());
    }
    Ok(tokio::task::spawn_blocking(work).await.map_err(Error::internal)?)
}

/// Who sends a batch, and how.
struct Head {
    client: Client,
    sender: Sender,
    packing: Packing,
    key: Option<BatchKey>,
}

impl Head {
    async fn read(app: &RidesApp, parts: &Parts) -> Result<Self, Problem> {
        let client = request::client(parts)?;
        let sender = app.sender(&parts.headers).await?;
        json::is_of_kind(&parts.headers, &KINDS)?;
        let packing = Packing::of(&parts.headers)?;
        let key = idempotency::key(&parts.headers)?.map(str::parse).transpose();
        let key = key.map_err(|error| called(KEY, error))?;
        Ok(Self { client, sender, packing, key })
    }

    fn is_small(&self, body: &[u8]) -> bool {
        let most = READ_AT_ONCE_LINES_MAX;
        self.packing == Packing::Plain
            && body.len() <= READ_AT_ONCE_BYTES_MAX
            && body.split(|byte| *byte == b'\n').take(most + 1).count() <= most
    }

    /// Unpacks and reads a body, if all of its events are let in; with the room that its lines have.
    fn batch(&self, app: &RidesApp, body: &[u8]) -> Result<(Batch, OwnedSemaphorePermit), Problem> {
        let counted = || {
            let unpacking = if self.packing == Packing::Plain { 0 } else { UNPACKING_KIB };
            let unpacking = app.batch_room(unpacking)?;
            let body = self.packing.unpack(body)?;
            Ok((lines::count(&body)?, body, unpacking))
        };
        let (count, body, _unpacking) = counted().inspect_err(|_: &Error| app.rides.refuse(1))?;
        let room = app.batch_room(u32::from(count) * LINE_KIB);
        let room = room.inspect_err(|_| app.refuse_limited(count.into()))?;
        let check = |what: &_| self.sender.check(what);
        let batch = Batch::read(&body, app.rides.mountain(), self.key, check);
        app.rides.refuse(batch.refused());
        self.admit(app, &batch)?;
        Ok((batch, room))
    }

    /// Lets in the events of a batch that was read: lines that are wrong take nobody's share.
    fn admit(&self, app: &RidesApp, batch: &Batch) -> Result<(), Problem> {
        let events = u32::try_from(batch.events.len()).unwrap_or(u32::MAX);
        if events == 0 {
            return Ok(());
        }
        let admitted = app.admit(self.client, &self.sender, events);
        admitted.inspect_err(|_| app.refuse_limited(events))
    }
}

/// The answers to all lines, and what they come to together.
struct Answers {
    text: Vec<u8>,
    refused: bool,
    /// Some lines were kept before, and none is now.
    nothing_new: bool,
    /// Some lines were not taken.
    not_taken: Option<Problem>,
}

impl Answers {
    /// Answers the lines; those that were good in the order of their outcomes.
    fn to(lines: &[Line], outcomes: &Result<Vec<Outcome>, Problem>) -> Self {
        let text = Vec::with_capacity(lines.len() * ANSWER_BYTES);
        let came_to = |what| outcomes.iter().flatten().any(|outcome| outcome.recorded == what);
        let nothing_new = came_to(Recorded::Duplicate) && !came_to(Recorded::Stored);
        let mut answers = Self { text, refused: false, nothing_new, not_taken: None };
        let failed = outcomes.as_ref().err();
        let mut outcomes = outcomes.iter().flatten();
        for line in lines {
            match (&line.refused, failed) {
                (Some(problem), _) => answers.refuse(line.number, problem),
                (None, Some(problem)) => answers.refuse(line.number, problem),
                (None, None) => match outcomes.next() {
                    Some(outcome) => answers.tell(line, outcome),
                    None => answers.refuse(line.number, &no_outcome()),
                },
            }
        }
        answers
    }

    fn tell(&mut self, line: &Line, outcome: &Outcome) {
        match kept(outcome.recorded, line.called) {
            Ok(before) => {
                let status = if before { StatusCode::OK } else { StatusCode::CREATED };
                self.add(&LineJson::kept(line.number, status, &outcome.id));
            }
            Err(error) => self.refuse(line.number, &Problem::from(error)),
        }
    }

    fn refuse(&mut self, line: u16, problem: &Problem) {
        self.refused = true;
        if problem.status.is_server_error() && self.not_taken.is_none() {
            self.not_taken = Some(problem.clone());
        }
        self.add(&LineJson::refused(line, problem));
    }

    fn add(&mut self, line: &LineJson<'_>) {
        // Into memory, of what JSON can say: this does not fail.
        let _ = serde_json::to_writer(&mut self.text, line);
        self.text.push(b'\n');
    }
}

fn no_outcome() -> Problem {
    Error::internal("an event without an outcome").into()
}

impl Answers {
    /// The answer, which keeps as much of `room` as it takes until it was sent.
    fn into_response(self, mut room: OwnedSemaphorePermit) -> Response {
        let status = match (&self.not_taken, self.refused) {
            (Some(problem), _) => problem.status,
            (None, true) => StatusCode::BAD_REQUEST,
            (None, false) => StatusCode::OK,
        };
        let kib = self.text.capacity().div_ceil(1024);
        drop(room.split(room.num_permits().saturating_sub(kib)));
        let body = Body::new(InParts { text: self.text.into(), _room: room });
        let mut response = (status, [(header::CONTENT_TYPE, ND_JSON)], body).into_response();
        if let Some(problem) = self.not_taken {
            problem.say_when(response.headers_mut());
        }
        response
    }
}

/// A text that goes out in parts, and gives up its room with the last one.
struct InParts {
    text: Bytes,
    _room: OwnedSemaphorePermit,
}

impl hyper::body::Body for InParts {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        let part = self.text.len().min(PART_BYTES);
        let part = (part > 0).then(|| Ok(Frame::data(self.text.split_to(part))));
        Poll::Ready(part)
    }

    fn is_end_stream(&self) -> bool {
        self.text.is_empty()
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(self.text.len() as u64)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use http_body_util::BodyExt as _;
    use hyper::body::Body as _;
    use tokio::sync::Semaphore;

    use super::*;

    fn line(number: u16, refused: Option<Error>) -> Line {
        let refused = refused.map(|error| Box::new(error.into()));
        Line { number, called: "id", refused }
    }

    fn outcome(id: &str, recorded: Recorded) -> Outcome {
        Outcome { id: id.parse().unwrap(), recorded }
    }

    fn room(of: &Arc<Semaphore>) -> OwnedSemaphorePermit {
        Arc::clone(of).try_acquire_many_owned(8_000).unwrap()
    }

    fn answered(answers: Answers) -> (u16, bool, String) {
        let text = String::from_utf8(answers.text.clone()).unwrap();
        let response = answers.into_response(room(&Arc::new(Semaphore::new(8_192))));
        let says_when = response.headers().contains_key(header::RETRY_AFTER);
        (response.status().as_u16(), says_when, text)
    }

    #[test]
    fn every_line_is_answered_in_order_with_its_own_outcome() {
        let bad = line(2, Some(Error::invalid("time", "must be another")));
        let lines =
            [line(1, None), bad, line(3, None), line(5, None), line(6, None), line(7, None)];
        let outcomes = vec![
            outcome("a\"", Recorded::Stored),
            outcome("b", Recorded::Duplicate),
            outcome("c", Recorded::OtherEvent),
            outcome("d", Recorded::NothingToVoid),
            outcome("e", Recorded::VoidAlready),
        ];
        let expected = r#"{"line":1,"status":201,"id":"a\""}
{"line":2,"status":400,"message":"time: must be another"}
{"line":3,"status":200,"id":"b"}
{"line":5,"status":400,"message":"id: was given to another event before"}
{"line":6,"status":404,"message":"there is no such ride to be void"}
{"line":7,"status":409,"message":"this ride is void already"}
"#;
        assert_eq!(answered(Answers::to(&lines, &Ok(outcomes))), (400, false, expected.to_owned()));
    }

    #[test]
    fn the_whole_is_as_bad_as_its_worst_line() {
        let whole = |lines: &[Line], outcomes| {
            let (status, says_when, _) = answered(Answers::to(lines, &outcomes));
            (status, says_when)
        };
        let stored = || Ok(vec![outcome("a", Recorded::Stored)]);
        let bad = || line(1, Some(Error::invalid("time", "must be another")));
        let full = || line(2, Some(Error::unavailable("full")));
        assert_eq!(whole(&[], Ok(Vec::new())), (200, false));
        assert_eq!(whole(&[line(1, None)], stored()), (200, false));
        assert_eq!(whole(&[bad(), line(2, None)], stored()), (400, false));
        assert_eq!(whole(&[bad(), full(), line(3, None)], stored()), (503, true));
        let failed = || Err(Error::unavailable("no store").into());
        assert_eq!(whole(&[bad(), line(2, None)], failed()), (503, true));
        let (_, _, text) = answered(Answers::to(&[line(4, None)], &failed()));
        assert!(text.starts_with("{\"line\":4,\"status\":503,\"message\":"), "{text}");
    }

    #[tokio::test]
    async fn an_answer_keeps_its_room_until_the_last_of_it_is_taken() {
        let rooms = Arc::new(Semaphore::new(8_192));
        let text = vec![b'x'; 40 << 10];
        let answers =
            Answers { text: text.clone(), refused: false, nothing_new: false, not_taken: None };
        let response = answers.into_response(room(&rooms));
        assert_eq!(rooms.available_permits(), 8_192 - 40, "it keeps what it takes and no more");
        let (mut body, mut sent) = (response.into_body(), Vec::new());
        assert_eq!(body.size_hint().exact(), Some(text.len() as u64));
        while !body.is_end_stream() {
            assert_eq!(rooms.available_permits(), 8_192 - 40);
            let part = body.frame().await.unwrap().unwrap().into_data().unwrap();
            assert!(part.len() <= PART_BYTES);
            sent.extend(part);
        }
        drop(body);
        assert_eq!((rooms.available_permits(), sent == text), (8_192, true));
    }

    #[test]
    fn what_is_read_at_once_is_short_and_has_few_lines() {
        let (client, sender, key) = (Client::Local, Sender::Nobody, None);
        let is_small = |packing, body: &str| {
            Head { client, sender: sender.clone(), packing, key }.is_small(body.as_bytes())
        };
        assert!(is_small(Packing::Plain, &"{}\n".repeat(60)));
        assert!(!is_small(Packing::Plain, &"{}\n".repeat(70)));
        assert!(!is_small(Packing::Plain, &" ".repeat(READ_AT_ONCE_BYTES_MAX + 1)));
        assert!(!is_small(Packing::Gzip, "{}\n"));
    }
}
