//! Parses a batch: one event in JSON per line.

use lodge_domain::{
    Error, Result,
    rides::{BatchKey, KeyedBatch, NewEvent, ResortCatalog, RideEventContent},
};
use serde::Deserialize;

use super::{
    app::{KEY_HEADER, event_id},
    number::{Number, SeasonNumber, Text},
};
use crate::{
    error::Problem,
    json::{self, not_null, required},
};

/// Lines in a batch: some tenths of a second of the store's time. Line numbers fit into an event's id.
const LINES_MAX: u16 = 10_000;

/// The longest line, in bytes: several times the size of a ride with the longest id.
const LINE_BYTES_MAX: usize = 1024;

/// The non-empty lines of a batch, and the events of the valid lines, in order.
#[derive(Debug, Default)]
pub(super) struct Batch {
    pub(super) lines: Vec<Line>,
    pub(super) events: Vec<NewEvent>,
    /// The batch's key and content hash, if it was sent with an idempotency key.
    pub(super) named: Option<KeyedBatch>,
}

/// A parsed line.
#[derive(Debug)]
pub(super) struct Line {
    /// The line's number; the first is 1.
    pub(super) number: u16,
    /// The name of the event's id in errors: a field of the line, or the header with the batch's key.
    pub(super) called: &'static str,
    /// Why the line was refused; `None` if its event is in the batch.
    pub(super) refused: Option<Box<Problem>>,
}

/// A line: a ride, or a void with the id of a wrong ride. A line has the fields of only one of them.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct EventJson<'a> {
    #[serde(borrow, default, deserialize_with = "not_null")]
    id: Option<Text<'a>>,
    #[serde(rename = "resortID", default, deserialize_with = "not_null")]
    resort: Option<Number>,
    #[serde(rename = "seasonID", default, deserialize_with = "not_null")]
    season: Option<SeasonNumber>,
    #[serde(rename = "dayID", default, deserialize_with = "not_null")]
    day: Option<Number>,
    #[serde(rename = "skierID", default, deserialize_with = "not_null")]
    skier: Option<Number>,
    #[serde(default, deserialize_with = "not_null")]
    time: Option<Number>,
    #[serde(rename = "liftID", default, deserialize_with = "not_null")]
    lift: Option<Number>,
    #[serde(borrow, default, deserialize_with = "not_null")]
    void: Option<Text<'a>>,
}

impl EventJson<'_> {
    fn event(self, catalog: &ResortCatalog) -> Result<NewEvent> {
        let id = self.id.as_ref().map(|id| event_id("id", &id.0)).transpose()?;
        let what = match &self.void {
            Some(_) if self.is_ride_too() => {
                let reason = "must be on a line of its own, with no field but an optional id";
                return Err(Error::invalid("void", reason));
            }
            Some(void) => RideEventContent::Void(event_id("void", &void.0)?),
            None => {
                let resort = required("resortID", self.resort)?.0;
                let season = required("seasonID", self.season)?.0;
                let on = catalog.resort_day(resort, season, required("dayID", self.day)?.0)?;
                let skier = catalog.skier(required("skierID", self.skier)?.0)?;
                let (time, lift) =
                    (required("time", self.time)?.0, required("liftID", self.lift)?.0);
                RideEventContent::Ride(catalog.ride(on, skier, time, lift)?)
            }
        };
        Ok(NewEvent { id, what })
    }

    fn is_ride_too(&self) -> bool {
        let numbers = [self.resort, self.day, self.skier, self.time, self.lift];
        self.season.is_some() || numbers.iter().any(Option::is_some)
    }
}

/// Numbers all lines, including empty ones.
fn numbered(body: &[u8]) -> impl Iterator<Item = (u16, &[u8])> {
    // After the last line break there is no further line.
    let body = body.strip_suffix(b"\n").unwrap_or(body);
    (1..=LINES_MAX + 1).zip(body.split(|byte| *byte == b'\n'))
}

/// Counts the non-empty lines; fails if the batch has too many lines.
pub(super) fn count(body: &[u8]) -> Result<u16> {
    let mut count = 0;
    for (number, line) in numbered(body) {
        if number > LINES_MAX {
            return Err(Error::invalid("body", format!("must be at most {LINES_MAX} lines")));
        }
        count += u16::from(!line.trim_ascii().is_empty());
    }
    Ok(count)
}

impl Batch {
    /// Parses all lines of a body that passed [`count`]. Events without an id get one derived from `key`, if given.
    /// `check` decides for each valid line whether the sender is allowed to send it.
    pub(super) fn read(
        body: &[u8],
        catalog: &ResortCatalog,
        key: Option<BatchKey>,
        check: impl Fn(&RideEventContent) -> Result<()>,
    ) -> Self {
        let named = key.map(|key| KeyedBatch::of(key, body));
        let mut batch = Self { named, ..Self::default() };
        for (number, line) in numbered(body).filter(|(_, line)| !line.trim_ascii().is_empty()) {
            let event = event(line, catalog).and_then(|event| check(&event.what).map(|()| event));
            let mut called = "id";
            let refused = event.map(|mut event| {
                if let (None, Some(key)) = (&event.id, key) {
                    event.id = Some(key.event(number));
                    called = KEY_HEADER;
                }
                batch.events.push(event);
            });
            let refused = refused.err().map(|error| Box::new(Problem::from(error)));
            batch.lines.push(Line { number, called, refused });
        }
        batch
    }

    /// Returns the number of refused lines.
    pub(super) fn refused(&self) -> u64 {
        (self.lines.len() - self.events.len()) as u64
    }
}

fn event(line: &[u8], catalog: &ResortCatalog) -> Result<NewEvent> {
    if line.len() > LINE_BYTES_MAX {
        let reason = format!("must be at most {LINE_BYTES_MAX} bytes long");
        return Err(Error::invalid("line", reason));
    }
    json::object::<EventJson<'_>>(line)?.event(catalog)
}

#[cfg(test)]
mod tests {
    use lodge_domain::rides::RideEventId;

    use super::*;
    use crate::rides::samples;

    fn read(body: &str) -> Batch {
        Batch::read(body.as_bytes(), &samples::catalog(), None, |_| Ok(()))
    }

    fn refusals(batch: &Batch) -> Vec<(u16, &str)> {
        let refusal = |line: &'_ Line| line.refused.as_ref().map(|_| line.number);
        let numbers = batch.lines.iter().filter_map(refusal);
        let texts = batch.lines.iter().filter_map(|line| Some(&*line.refused.as_ref()?.detail));
        numbers.zip(texts).collect()
    }

    const RIDE: &str =
        r#"{"resortID":1,"seasonID":"2025","dayID":2,"skierID":3,"time":4,"liftID":5}"#;

    #[test]
    fn valid_lines_are_accepted_beside_invalid_ones() {
        let id = RIDE.replacen('{', r#"{"id":"a\u0031",  "#, 1);
        let batch = read(&format!(
            "{RIDE}\n\n  \r\nno json\n{id}\r\n{{\"void\":\"a1\",\"id\":\"b\"}}\n{{\"void\":\"b\"}}"
        ));
        let numbers: Vec<_> = batch.lines.iter().map(|line| line.number).collect();
        assert_eq!((numbers, batch.refused()), (vec![1, 4, 5, 6, 7], 1));
        assert_eq!(refusals(&batch), [(4, "body: must be a JSON object")]);
        let text = |text: &str| RideEventId::Text(text.into());
        let ids: Vec<_> = batch.events.iter().map(|event| event.id.clone()).collect();
        assert_eq!(ids, [None, Some(text("a1")), Some(text("b")), None]);
        assert_eq!(batch.events[3].what, RideEventContent::Void(text("b")));
        let RideEventContent::Ride(ride) = &batch.events[0].what else { panic!("no ride") };
        assert_eq!((ride.skier.0, ride.lift.0, ride.vertical), (3, 5, 50));
    }

    #[test]
    fn an_invalid_line_names_the_field_and_the_allowed_values() {
        let with = |from: &str, to: &str| RIDE.replace(from, to);
        for (line, words) in [
            (with("\"resortID\":1", "\"resortID\":11"), ["resortID", "from 1 to 10"]),
            (with("\"resortID\":1,", ""), ["resortID", "is missing"]),
            (with("\"seasonID\":\"2025\",", ""), ["seasonID", "is missing"]),
            (with("\"dayID\":2,", ""), ["dayID", "is missing"]),
            (with("\"skierID\":3,", ""), ["skierID", "is missing"]),
            (with("\"time\":4,", ""), ["time", "is missing"]),
            (with(",\"liftID\":5", ""), ["liftID", "is missing"]),
            (with("\"2025\"", "null"), ["seasonID", "from 1 to 9999"]),
            (with("\"2025\"", "\"+2025\""), ["seasonID", "from 1 to 9999"]),
            (with("\"dayID\":2", "\"dayID\":\"2\""), ["dayID", "from 1 to 366"]),
            (with("\"dayID\":2", "\"dayID\":null"), ["dayID", "from 1 to 366"]),
            (with("\"skierID\":3", "\"skierID\":3.0"), ["skierID", "from 1 to 100000"]),
            (with("\"skierID\":3", "\"skierID\":-3"), ["skierID", "from 1 to 100000"]),
            (with("\"time\":4", "\"time\":4e0"), ["time", "from 1 to 1440"]),
            (with("\"time\":4", "\"time\":1441"), ["time", "from 1 to 1440"]),
            (with("\"liftID\":5", "\"liftID\":[5]"), ["liftID", "from 1 to 40"]),
            (with("\"liftID\":5", "\"liftID\":99999999999999999999"), ["liftID", "from 1 to 40"]),
            (with("\"liftID\":5", "\"liftID\":5,\"lift\":5"), ["unknown field", "`lift`"]),
            (with("\"time\":4", "\"time\":4,\"time\":4"), ["duplicate field", "`time`"]),
            (with("{", "{\"id\":\"\","), ["id", "1 to 128"]),
            (with("{", "{\"id\":\"ä\","), ["id", "1 to 128"]),
            (with("{", "{\"id\":7,"), ["id: invalid type", "string"]),
            (with("{", "{\"id\":null,"), ["id: invalid type", "null"]),
            (with("{", "{\"void\":null,"), ["void: invalid type", "null"]),
            (with("{", "{\"id\":\"a\",\"id\":\"a\","), ["duplicate field", "`id`"]),
            (with("{", "{\"void\":\"x\","), ["void", "a line of its own"]),
            ("{\"void\":\"\"}".to_owned(), ["void", "1 to 128"]),
            ("{}".to_owned(), ["resortID", "is missing"]),
            (format!("[{RIDE}]"), ["body", "object"]),
            (format!("{RIDE} {RIDE}"), ["body", "trailing"]),
            (format!("{RIDE}{}", " ".repeat(1024)), ["line", "1024 bytes"]),
        ] {
            let batch = read(&line);
            let [(1, text)] = refusals(&batch)[..] else { panic!("{line} is accepted") };
            assert!(words.iter().all(|word| text.contains(word)), "{line}: {text}");
        }
        let not_utf_8 = Batch::read(b"{\"id\":\"\xff\"}", &samples::catalog(), None, |_| Ok(()));
        assert_eq!(not_utf_8.refused(), 1);
    }

    #[test]
    fn a_season_may_be_a_number() {
        let plain = RIDE.replace("\"2025\"", "2025");
        let batch = read(&format!("{RIDE}\n{plain}"));
        assert_eq!((batch.refused(), batch.events.len()), (0, 2));
        assert!(batch.events.iter().all(|event| event.what == batch.events[0].what));
    }

    #[test]
    fn ten_thousand_lines_are_a_batch_and_one_more_is_not() {
        let lines = |count| format!("{RIDE}\n").repeat(count);
        assert_eq!(count(lines(10_000).as_bytes()).unwrap(), 10_000);
        assert_eq!(read(&lines(10_000)).events.len(), 10_000);
        let too_many = count(lines(10_001).as_bytes()).unwrap_err().to_string();
        assert!(too_many.contains("10000 lines"), "{too_many}");
        assert!(count("\n".repeat(10_001).as_bytes()).is_err());
        assert_eq!(count(b"\n{}\n \r\nx\n\n").unwrap(), 2);
        assert!(read("").lines.is_empty() && read("\n\n").lines.is_empty());
    }

    #[test]
    fn an_event_that_the_sender_may_not_send_is_left_out() {
        let body = format!("{RIDE}\nbad\n{{\"void\":\"a\"}}\n{RIDE}");
        let check = |what: &RideEventContent| match what {
            RideEventContent::Ride(_) => Ok(()),
            RideEventContent::Void(_) => Err(Error::forbidden("no voids")),
        };
        let batch = Batch::read(body.as_bytes(), &samples::catalog(), None, check);
        assert_eq!((batch.events.len(), batch.refused()), (2, 2));
        let refused = batch.lines.iter().filter_map(|line| line.refused.as_ref());
        let statuses: Vec<_> = refused.map(|problem| problem.status.as_u16()).collect();
        assert_eq!(statuses, [400, 403]);
    }

    #[test]
    fn lines_without_an_id_get_one_from_the_key_and_their_number() {
        let named = RIDE.replacen('{', "{\"id\":\"a\",", 1);
        let body = format!("{RIDE}\n\n{named}\nbad\n{RIDE}\n");
        let ids = |key: &str| {
            let key = Some(key.parse().unwrap());
            let batch = Batch::read(body.as_bytes(), &samples::catalog(), key, |_| Ok(()));
            batch.events.into_iter().map(|event| event.id.unwrap()).collect::<Vec<_>>()
        };
        let key: BatchKey = "day 9".parse().unwrap();
        assert_eq!(ids("day 9"), [key.event(1), RideEventId::Text("a".into()), key.event(5)]);
        assert_ne!(ids("day 10")[0], ids("day 9")[0]);
        assert_eq!(ids("day 10")[1], ids("day 9")[1]);
    }
}
