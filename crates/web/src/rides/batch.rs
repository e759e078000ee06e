//! `POST /api/rides`: many events at once, and what came of each.

use std::sync::Arc;

use axum::{
    extract::{Request, State},
    response::{IntoResponse, Response},
};
use bytes::Bytes;
use http::{HeaderMap, HeaderValue, StatusCode, header};
use lodge_domain::{
    Error,
    rides::{Outcome, Sender},
};
use tokio::sync::OwnedSemaphorePermit;

use super::{
    RidesApp,
    app::kept,
    dto::LineJson,
    json,
    lines::{Batch, Line},
    packing::Packing,
};
use crate::{
    error::{HttpResult, Problem},
    request::{LONGEST_BODY_BYTES, Whole},
};

const KINDS: [&str; 4] =
    ["application/x-ndjson", "application/jsonl", "application/json-lines", "application/json"];

const ND_JSON: HeaderValue = HeaderValue::from_static("application/x-ndjson");

/// What a batch takes of memory at most beside its body: lines, events and answers, in KiB.
const BATCH_KIB: u32 = 4 * 1024;

/// What it takes besides while it is unpacked: what it unpacks to, and zstd's window as far as that fills
/// it, in KiB.
const UNPACKING_KIB: u32 = 8 * 1024;

/// The longest body that is read on the connection's own thread, in bytes: some 100 lines, a tenth of a
/// millisecond. The longest would hold up the thread's other connections for some ten milliseconds.
const READ_AT_ONCE_BYTES_MAX: usize = 16 * 1024;

/// Bytes of an answer to one line, about.
const ANSWER_BYTES: usize = 80;

/// Record many rides.
///
/// A line of JSON for each event: a ride, or the id of a ride that was none. Each line is answered on its
/// own, in order: 201 it is stored, 200 it was stored before, 400 it cannot be, 403 the gate's key is for another resort,
/// or there is none to void a ride with, 404 there is no such ride of the gate's to be void, 409 it is void already,
/// 503 it was not taken. Good lines are kept whatever stands beside them. With ids, the same again is safe; a
/// UUID is answered in lower case. An answer is a `LineOutcome`: `line`, `status`, and `id` or `message`. At most
/// 10,000 lines of 1 KiB, 2 MiB as sent, 4 MiB unpacked.
#[utoipa::path(post, path = "/api/rides", operation_id = "recordRides", tag = "rides",
    request_body(content = String, content_type = "application/x-ndjson", example = "{\"id\":\"gate-4-17\",\"resortID\":1,\"seasonID\":\"2025\",\"dayID\":1,\"skierID\":7,\"time\":217,\"liftID\":21}\n{\"void\":\"gate-4-16\"}\n"),
    params(("Content-Encoding" = Option<String>, Header, description = "gzip or zstd, if the body is packed")),
    responses((status = 200, description = "Every line is kept", content_type = "application/x-ndjson", body = String),
        (status = 400, description = "Some lines are not, and their answers say why; or the whole cannot be read", content_type = "application/x-ndjson", body = String),
        (status = 401, description = "The gate's key is not known, or was revoked; or this deployment takes rides from gates with a key alone"),
        (status = 503, description = "Some lines were not taken: send those again, after Retry-After", content_type = "application/x-ndjson", body = String)),
    security((), ("gate" = [])))]
pub(super) async fn record(State(app): State<RidesApp>, request: Request) -> HttpResult {
    let (parts, body) = request.into_parts();
    let read = async {
        let sender = app.sender(&parts.headers).await?;
        json::is_of_kind(&parts.headers, &KINDS)?;
        let longest = usize::try_from(LONGEST_BODY_BYTES).unwrap_or(usize::MAX);
        let held = Whole::up_to(longest, &app.site, body, &app.site.body_room).await?;
        let batch = read(&app, &sender, &parts.headers, held.bytes.clone()).await?;
        Ok((sender.id(), batch))
    };
    // How many lines it would have been nobody knows.
    let read: Result<_, Problem> = read.await;
    let (gate, (batch, _room)) = read.inspect_err(|_| app.rides.refuse(1))?;
    app.rides.refuse(batch.refused());
    let outcomes = if batch.events.is_empty() {
        Ok(Vec::new())
    } else {
        app.rides.record(gate, batch.events).await
    };
    let outcomes = outcomes.map_err(|error| {
        let problem = Problem::from(error);
        tracing::warn!(cause = problem.cause.as_deref(), "a batch of rides was not stored");
        problem
    });
    Ok(Answers::to(&batch.lines, &outcomes).into_response())
}

/// Unpacks and reads a body. The wait for room ends with the request's time.
async fn read(
    app: &RidesApp,
    sender: &Sender,
    headers: &HeaderMap,
    body: Bytes,
) -> Result<(Batch, OwnedSemaphorePermit), Problem> {
    let packing = Packing::of(headers)?;
    let at_once = packing == Packing::Plain && body.len() <= READ_AT_ONCE_BYTES_MAX;
    let unpacking = if packing == Packing::Plain { 0 } else { UNPACKING_KIB };
    let room = Arc::clone(&app.batch_room).acquire_many_owned(BATCH_KIB + unpacking);
    let mut room = room.await.map_err(Error::internal)?;
    let (worker, sender) = (app.clone(), sender.clone());
    let read = move || {
        let lines = packing.unpack(&body)?;
        let batch =
            Batch::read(&lines, &worker.rides.mountain, |what| worker.admit(&sender, what))?;
        drop(lines);
        drop(room.split(unpacking as usize));
        Ok((batch, room))
    };
    if at_once {
        return read();
    }
    tokio::task::spawn_blocking(read).await.map_err(Error::internal)?
}

/// The answers to all lines, and what they come to together.
struct Answers {
    text: Vec<u8>,
    refused: bool,
    /// Some lines were not taken.
    not_taken: Option<Problem>,
}

impl Answers {
    /// Answers the lines; those that were good in the order of their outcomes.
    fn to(lines: &[Line], outcomes: &Result<Vec<Outcome>, Problem>) -> Self {
        let text = Vec::with_capacity(lines.len() * ANSWER_BYTES);
        let mut answers = Self { text, refused: false, not_taken: None };
        let failed = outcomes.as_ref().err();
        let mut outcomes = outcomes.iter().flatten();
        for line in lines {
            match (&line.refused, failed) {
                (Some(problem), _) => answers.refuse(line.number, problem),
                (None, Some(problem)) => answers.refuse(line.number, problem),
                (None, None) => match outcomes.next() {
                    Some(outcome) => answers.tell(line.number, outcome),
                    None => answers.refuse(line.number, &no_outcome()),
                },
            }
        }
        answers
    }

    fn tell(&mut self, line: usize, outcome: &Outcome) {
        match kept(outcome.recorded, "id") {
            Ok(before) => {
                let status = if before { StatusCode::OK } else { StatusCode::CREATED };
                self.add(&LineJson::kept(line, status, &outcome.id));
            }
            Err(error) => self.refuse(line, &Problem::from(error)),
        }
    }

    fn refuse(&mut self, line: usize, problem: &Problem) {
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

impl IntoResponse for Answers {
    fn into_response(self) -> Response {
        let status = match (&self.not_taken, self.refused) {
            (Some(problem), _) => problem.status,
            (None, true) => StatusCode::BAD_REQUEST,
            (None, false) => StatusCode::OK,
        };
        let mut response = (status, [(header::CONTENT_TYPE, ND_JSON)], self.text).into_response();
        if let Some(problem) = self.not_taken {
            problem.say_when(response.headers_mut());
        }
        response
    }
}

#[cfg(test)]
mod tests {
    use lodge_domain::rides::Recorded;

    use super::*;

    fn line(number: usize, refused: Option<Error>) -> Line {
        Line { number, refused: refused.map(|error| Box::new(error.into())) }
    }

    fn outcome(id: &str, recorded: Recorded) -> Outcome {
        Outcome { id: id.parse().unwrap(), recorded }
    }

    fn answered(answers: Answers) -> (u16, bool, String) {
        let text = String::from_utf8(answers.text.clone()).unwrap();
        let response = answers.into_response();
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
}
