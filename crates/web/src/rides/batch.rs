//! `POST /api/rides`: records many events at once, with an outcome for each.

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
    rides::{BatchKey, EventOutcome, Recorded, Sender},
};

use super::{
    app::{KEY_HEADER, RidesApp, is_duplicate},
    compression::ContentEncoding,
    dto::LineJson,
    lines::{self, Batch, Line},
};
use crate::{
    body::{BufferedBody, FullBody, LONGEST_BODY_BYTES},
    body_budget::BodyMemory,
    edge::{address::Client, idempotency},
    error::{HttpResult, Problem},
    json,
    request::{self, with_field_name},
    responses,
};

const KINDS: [&str; 4] =
    ["application/x-ndjson", "application/jsonl", "application/json-lines", "application/json"];

const ND_JSON: HeaderValue = HeaderValue::from_static("application/x-ndjson");

/// Memory for one line at most: its parsed form, its event and its answer, in bytes.
const LINE_BYTES: usize = 1024;

/// Memory for decompressing a batch: the decompressed body, and the used part of zstd's window, in bytes.
const UNPACKING_BYTES: usize = 8 << 20;

/// Largest batch that is parsed on the runtime's thread, in bytes and in lines: some tenths of a millisecond if all
/// lines are invalid. The longest batch would block the thread's other connections for some ten milliseconds.
const READ_AT_ONCE_BYTES_MAX: usize = 16 * 1024;
const READ_AT_ONCE_LINES_MAX: usize = 64;

/// Estimated bytes of the answer to one line.
const ANSWER_BYTES: usize = 80;

/// Bytes of a response that are passed to the connection at a time. The connection copies them, and takes more only
/// after the peer has read some.
const PART_BYTES: usize = 16 * 1024;

/// Record many rides.
///
/// The body has one line of JSON for each event: a ride, or in `void` the id of a wrong ride. Only the gate that
/// sent a ride can void it, with its key. `seasonID` may be a number. To send a file with curl, use
/// `--data-binary @rides.ndjson`: `-d` removes line breaks. Each line has its own answer, in order: 201 stored, 200
/// already stored, 400 invalid, 403 the gate key is for another resort, or a void without a gate key, 404 the gate
/// has no such ride to void, 409 already void, 503 not stored. Valid lines are stored beside invalid ones. With ids,
/// or with an `Idempotency-Key`, a retry is safe; a UUID is returned in lower case. An answer is a `LineOutcome`:
/// `line`, `status`, and `id` or `message`. At most 10,000 lines of 1 KiB, 2 MiB as sent, 4 MiB decompressed. Rate
/// limits can allow fewer valid lines; they admit all valid lines of a request or none.
#[utoipa::path(post, path = "/api/rides", operation_id = "recordRides", tag = "rides",
    request_body(content = String, content_type = "application/x-ndjson", example = "{\"id\":\"gate-4-16\",\"resortID\":1,\"seasonID\":\"2025\",\"dayID\":1,\"skierID\":7,\"time\":217,\"liftID\":20}\n{\"id\":\"gate-4-17\",\"resortID\":1,\"seasonID\":\"2025\",\"dayID\":1,\"skierID\":7,\"time\":217,\"liftID\":21}\n{\"void\":\"gate-4-16\"}\n"),
    params(("Content-Encoding" = Option<String>, Header, description = "gzip or zstd, if the body is compressed"),
        ("Idempotency-Key" = Option<String>, Header, description = "Permanent key of the batch: 1 to 128 printable ASCII characters. An event without an id gets one derived from the key and the line number, so that the same body can be sent again, and no other body under this key")),
    responses((status = 200, description = "Every line is stored", content_type = "application/x-ndjson", body = String),
        (status = 400, description = "Some lines are invalid, and their answers say why; or the body is invalid, or the Idempotency-Key was used for another body, and nothing is stored", content_type = "application/x-ndjson", body = String),
        (status = 401, description = "Unknown or revoked gate key; or this deployment requires a gate key"),
        (status = 429, description = "Too many events from this address without a gate key, or its other batches use its share of memory: send the batch again; see Retry-After"),
        (status = 503, description = "Valid lines, or the whole batch, were not stored: send the batch again; see Retry-After", content_type = "application/x-ndjson", body = String)),
    security(("gate" = []), ()))]
pub(super) async fn record(State(app): State<RidesApp>, request: Request) -> HttpResult {
    let (parts, body) = request.into_parts();
    let whole = async {
        let head = Head::read(&app, &parts).await?;
        let memory = app.batch_budget.begin(RidesApp::body_sender(head.client, &head.sender));
        Ok((head, FullBody::up_to(LONGEST_BODY_BYTES, &app.site, body, memory).await?))
    };
    // The number of lines is unknown: one refusal is counted.
    let (head, sent) = whole.await.inspect_err(|_: &Problem| app.rides.refuse(1))?;
    let (gate, at_once) = (head.sender.id(), head.is_small(&sent.bytes));
    let worker = app.clone();
    let (batch, memory) = run(at_once, move || head.batch(&worker, &sent)).await??;
    let Batch { lines, events, named } = batch;
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
    Ok(responses::mark_replayed(told.into_response(memory), replayed))
}

/// Returns the error for a reused key: 400 in the rides API, 422 elsewhere.
fn key_reused() -> Problem {
    Problem { status: StatusCode::BAD_REQUEST, ..Error::KeyReused.into() }
}

/// Runs work here, or on a blocking thread.
async fn run<T: Send + 'static>(
    at_once: bool,
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, Problem> {
    if at_once {
        return Ok(work());
    }
    Ok(tokio::task::spawn_blocking(work).await.map_err(Error::internal)?)
}

/// The sender of a batch, its compression and its key.
struct Head {
    client: Client,
    sender: Sender,
    packing: ContentEncoding,
    key: Option<BatchKey>,
}

impl Head {
    async fn read(app: &RidesApp, parts: &Parts) -> Result<Self, Problem> {
        let client = request::client(&parts.extensions)?;
        let sender = app.sender(&parts.headers).await?;
        json::is_of_kind(&parts.headers, &KINDS)?;
        let packing = ContentEncoding::of(&parts.headers)?;
        let key = idempotency::key(&parts.headers)?.map(str::parse).transpose();
        let key = key.map_err(|error| with_field_name(KEY_HEADER, error))?;
        Ok(Self { client, sender, packing, key })
    }

    fn is_small(&self, body: &[u8]) -> bool {
        let most = READ_AT_ONCE_LINES_MAX;
        self.packing == ContentEncoding::Plain
            && body.len() <= READ_AT_ONCE_BYTES_MAX
            && body.split(|byte| *byte == b'\n').take(most + 1).count() <= most
    }

    /// Decompresses and parses a body and admits its events; also returns the memory of its lines.
    fn batch(&self, app: &RidesApp, sent: &BufferedBody) -> Result<(Batch, BodyMemory), Problem> {
        let (mut unpacking, mut memory) = (sent.memory.another(), sent.memory.another());
        let mut counted = || {
            if self.packing != ContentEncoding::Plain {
                unpacking.grow_to(UNPACKING_BYTES)?;
            }
            let body = self.packing.decompress(&sent.bytes)?;
            Ok((lines::count(&body)?, body))
        };
        let (count, body) = counted().inspect_err(|_: &Error| app.rides.refuse(1))?;
        let lines = memory.grow_to(usize::from(count) * LINE_BYTES);
        lines.inspect_err(|_| app.refuse_limited(count.into()))?;
        let check = |what: &_| self.sender.check(what);
        let batch = Batch::read(&body, app.rides.catalog(), self.key, check);
        app.rides.refuse(batch.refused());
        self.admit(app, &batch)?;
        Ok((batch, memory))
    }

    /// Admits the events of a parsed batch. Invalid lines do not count against the limits.
    fn admit(&self, app: &RidesApp, batch: &Batch) -> Result<(), Problem> {
        let events = u32::try_from(batch.events.len()).unwrap_or(u32::MAX);
        if events == 0 {
            return Ok(());
        }
        let admitted = app.admit(self.client, &self.sender, events);
        admitted.inspect_err(|_| app.refuse_limited(events))
    }
}

/// The answers to all lines, and what decides the status of the response.
struct Answers {
    text: Vec<u8>,
    refused: bool,
    /// Some lines are duplicates, and no line is new.
    nothing_new: bool,
    /// The first server error of a line.
    not_taken: Option<Problem>,
}

impl Answers {
    /// Answers the lines. The outcomes are those of the valid lines, in order.
    fn to(lines: &[Line], outcomes: &Result<Vec<EventOutcome>, Problem>) -> Self {
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

    fn tell(&mut self, line: &Line, outcome: &EventOutcome) {
        match is_duplicate(outcome.recorded, line.called) {
            Ok(before) => {
                let status = if before { StatusCode::OK } else { StatusCode::CREATED };
                self.add(&LineJson::stored(line.number, status, &outcome.id));
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
        // Never fails: it writes to memory, and every value has a JSON form.
        let _ = serde_json::to_writer(&mut self.text, line);
        self.text.push(b'\n');
    }
}

fn no_outcome() -> Problem {
    Error::internal("an event without an outcome").into()
}

impl Answers {
    /// Returns the response, which keeps as much of `memory` as its text needs until it is sent.
    fn into_response(mut self, mut memory: BodyMemory) -> Response {
        let status = match (&self.not_taken, self.refused) {
            (Some(problem), _) => problem.status,
            (None, true) => StatusCode::BAD_REQUEST,
            (None, false) => StatusCode::OK,
        };
        self.text.shrink_to_fit();
        memory.shrink_to(self.text.capacity());
        let body = Body::new(InParts { text: self.text.into(), _memory: memory });
        let mut response = (status, [(header::CONTENT_TYPE, ND_JSON)], body).into_response();
        if let Some(problem) = self.not_taken {
            problem.say_when(response.headers_mut());
        }
        response
    }
}

/// A body that is sent in parts; its memory is returned with it.
struct InParts {
    text: Bytes,
    _memory: BodyMemory,
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

    use super::*;
    use crate::body_budget::{BodyBudget, BodySender, Shares};

    fn line(number: u16, refused: Option<Error>) -> Line {
        let refused = refused.map(|error| Box::new(error.into()));
        Line { number, called: "id", refused }
    }

    fn outcome(id: &str, recorded: Recorded) -> EventOutcome {
        EventOutcome { id: id.parse().unwrap(), recorded }
    }

    /// A budget of 8 MiB, and 8,000 KiB of it.
    fn budget() -> (Arc<BodyBudget>, BodyMemory) {
        let budget = BodyBudget::new(8_192, Shares::USUAL);
        let mut memory = budget.begin(BodySender::limited_elsewhere());
        memory.grow_to(8_000 << 10).unwrap();
        (budget, memory)
    }

    fn answered(answers: Answers) -> (u16, bool, String) {
        let text = String::from_utf8(answers.text.clone()).unwrap();
        let response = answers.into_response(budget().1);
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
            outcome("e", Recorded::AlreadyVoided),
        ];
        let expected = r#"{"line":1,"status":201,"id":"a\""}
{"line":2,"status":400,"message":"time: must be another"}
{"line":3,"status":200,"id":"b"}
{"line":5,"status":400,"message":"id: was already used for a different event"}
{"line":6,"status":404,"message":"there is no such ride to void"}
{"line":7,"status":409,"message":"this ride is already void"}
"#;
        assert_eq!(answered(Answers::to(&lines, &Ok(outcomes))), (400, false, expected.to_owned()));
    }

    #[test]
    fn the_response_has_the_status_of_the_worst_line() {
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
    async fn an_answer_keeps_its_memory_until_its_last_part_is_read() {
        let (budget, memory) = budget();
        let text = vec![b'x'; 40 << 10];
        let answers =
            Answers { text: text.clone(), refused: false, nothing_new: false, not_taken: None };
        let response = answers.into_response(memory);
        assert_eq!(budget.available_kib(), 8_192 - 40, "it keeps only what its text needs");
        let (mut body, mut sent) = (response.into_body(), Vec::new());
        assert_eq!(body.size_hint().exact(), Some(text.len() as u64));
        while !body.is_end_stream() {
            assert_eq!(budget.available_kib(), 8_192 - 40);
            let part = body.frame().await.unwrap().unwrap().into_data().unwrap();
            assert!(part.len() <= PART_BYTES);
            sent.extend(part);
        }
        drop(body);
        assert_eq!((budget.available_kib(), sent == text), (8_192, true));
    }

    #[test]
    fn only_a_short_batch_of_few_lines_is_parsed_on_the_runtimes_thread() {
        let (client, sender, key) = (Client::Local, Sender::Anonymous, None);
        let is_small = |packing, body: &str| {
            Head { client, sender: sender.clone(), packing, key }.is_small(body.as_bytes())
        };
        assert!(is_small(ContentEncoding::Plain, &"{}\n".repeat(60)));
        assert!(!is_small(ContentEncoding::Plain, &"{}\n".repeat(70)));
        assert!(!is_small(ContentEncoding::Plain, &" ".repeat(READ_AT_ONCE_BYTES_MAX + 1)));
        assert!(!is_small(ContentEncoding::Gzip, "{}\n"));
    }
}
