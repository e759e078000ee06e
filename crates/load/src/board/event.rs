//! Board events, with the fields that a run checks.

use std::borrow::Cow;
use std::fmt::{self, Display, from_fn};

use jiff::Timestamp;
use serde::Deserialize;

/// The position of an event, the same for all readers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Position {
    /// Microseconds since 1970.
    pub(crate) at: i64,
    pub(crate) origin: u32,
    pub(crate) seq: u64,
}

impl Display for Position {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.origin, self.seq)
    }
}

/// A parsed event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Event {
    pub(crate) place: Position,
    pub(crate) says: Content,
}

/// The content of an event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Content {
    /// The run's message of that number, with the text that was sent.
    Sent(u32),
    /// A text that begins like a message of the run and differs from what was sent.
    Garbled,
    /// A message of another client, or another kind of event.
    Other,
}

#[derive(Deserialize)]
struct Wire<'a> {
    #[serde(borrow)]
    id: Cow<'a, str>,
    #[serde(borrow)]
    kind: Cow<'a, str>,
    #[serde(borrow)]
    at: Cow<'a, str>,
    #[serde(borrow, default)]
    body: Option<Cow<'a, str>>,
    /// On page streams, instead of the body.
    #[serde(borrow, default)]
    html: Option<Cow<'a, str>>,
}

/// The format of the client ids and texts of one run.
#[derive(Debug, Clone)]
pub(crate) struct MessageFormat {
    /// The random prefix of the run, before the number.
    run: String,
}

/// The text of every message after its id; about as long as a typical message.
const FILLER: &str = " the lift is open and the snow is good, see you at the top station";

impl MessageFormat {
    /// The format of a new run, with a random prefix.
    pub(crate) fn new() -> Self {
        Self { run: format!("run{:012x}-", rand::random::<u64>() >> 16) }
    }

    /// Returns a message's client id.
    pub(crate) fn client_id(&self, number: u32) -> impl Display {
        from_fn(move |f| write!(f, "{}{number}", self.run))
    }

    /// Returns a message's text, which begins with its client id.
    pub(crate) fn body(&self, number: u32) -> impl Display {
        from_fn(move |f| write!(f, "{}{number}{FILLER}", self.run))
    }

    fn says(&self, body: &str) -> Content {
        let Some(rest) = body.strip_prefix(&self.run) else { return Content::Other };
        let number = rest.strip_suffix(FILLER).filter(|digits| is_plain(digits));
        number.and_then(|digits| digits.parse().ok()).map_or(Content::Garbled, Content::Sent)
    }

    /// Finds the text in a message's HTML. It stands unchanged between two tags, because nothing in it is
    /// special in HTML or Markdown.
    fn shows(&self, html: &str) -> Content {
        let texts = html.split('>').map(|rest| rest.split('<').next().unwrap_or_default());
        let mut says = texts.map(|text| self.says(text));
        says.find(|says| *says != Content::Other).unwrap_or(Content::Other)
    }

    /// Parses an event; `None` if it is malformed.
    pub(crate) fn read(&self, json: &[u8]) -> Option<Event> {
        let wire: Wire<'_> = serde_json::from_slice(json).ok()?;
        let (origin, seq) = id(&wire.id)?;
        let says = match (&*wire.kind, wire.body, wire.html) {
            ("message", Some(body), _) => self.says(&body),
            ("message", None, Some(html)) => self.shows(&html),
            _ => Content::Other,
        };
        Some(Event { place: Position { at: instant(&wire.at)?, origin, seq }, says })
    }
}

fn is_plain(digits: &str) -> bool {
    digits.bytes().all(|byte| byte.is_ascii_digit()) && (digits == "0" || !digits.starts_with('0'))
}

/// Parses an event id, `origin:seq`.
pub(crate) fn id(text: &str) -> Option<(u32, u64)> {
    let (origin, seq) = text.split_once(':').filter(|(one, two)| is_plain(one) && is_plain(two))?;
    Some((origin.parse().ok()?, seq.parse().ok()?))
}

/// Parses a time in exactly the form `2026-01-01T00:00:00.000001Z` into microseconds since 1970.
fn instant(text: &str) -> Option<i64> {
    let at: Timestamp = text.parse().ok()?;
    (format!("{at:.6}") == text).then(|| at.as_microsecond())
}

/// A cache of the events parsed last. Many streams deliver the same event at about the same time, and
/// comparing bytes is cheaper than parsing.
#[derive(Debug, Default)]
pub(crate) struct Recent {
    known: [(Vec<u8>, Option<Event>); 16],
    next: usize,
}

impl Recent {
    /// Parses `json`, or returns the cached event.
    pub(crate) fn read(&mut self, json: &[u8], wording: &MessageFormat) -> Option<Event> {
        if let Some((_, event)) = self.known.iter().find(|(known, _)| known == json) {
            return *event;
        }
        let event = wording.read(json);
        let (known, what) = &mut self.known[self.next];
        known.clear();
        known.extend_from_slice(json);
        *what = event;
        self.next = (self.next + 1) % self.known.len();
        event
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn message(body: &str) -> Vec<u8> {
        json!({ "id": "7:42", "kind": "message", "at": "2026-01-01T00:00:00.000001Z",
            "author": { "username": "ada", "nickname": "Ada", "body": "x" }, "body": body })
        .to_string()
        .into_bytes()
    }

    #[test]
    fn a_message_is_recognised_by_its_whole_text() {
        let wording = MessageFormat::new();
        let body = wording.body(17).to_string();
        let says = |body: &str| wording.read(&message(body)).unwrap().says;
        assert_eq!(says(&body), Content::Sent(17));
        for wrong in [format!("{body}."), body.replace("-17", "-017"), body.replace("snow", "ice")]
        {
            assert_eq!(says(&wrong), Content::Garbled, "{wrong}");
        }
        assert_eq!(says("hello"), Content::Other);
        assert_eq!(says(&body.replacen("run", "ran", 1)), Content::Other);
    }

    #[test]
    fn a_message_on_a_page_is_recognised_by_its_whole_text() {
        let wording = MessageFormat::new();
        let body = wording.body(17).to_string();
        let says = |text: &str| {
            let mut event: serde_json::Value = serde_json::from_slice(&message("")).unwrap();
            event.as_object_mut().unwrap().remove("body");
            event["html"] = json!(format!(
                "<li id=\"m7:42\"><bdi>Ada</bdi> <div class=\"said\"><p>{text}</p></div></li>"
            ));
            wording.read(event.to_string().as_bytes()).unwrap().says
        };
        assert_eq!(says(&body), Content::Sent(17));
        for wrong in [format!("{body}."), body.replace("snow", "<em>snow</em>")] {
            assert_eq!(says(&wrong), Content::Garbled, "{wrong}");
        }
        assert_eq!(says("hello"), Content::Other);
    }

    #[test]
    fn a_malformed_event_is_refused() {
        let wording = MessageFormat::new();
        let place = wording.read(&message("x")).unwrap().place;
        assert_eq!((place.origin, place.seq), (7, 42));
        for (is, becomes) in
            [("7:42", "7:042"), ("7:42", "742"), ("01Z", "01+"), (".000001", ""), ("kind", "sort")]
        {
            let text = String::from_utf8(message("x")).unwrap().replace(is, becomes);
            assert_eq!(wording.read(text.as_bytes()), None, "{text}");
        }
    }

    #[test]
    fn later_times_are_larger_numbers() {
        let texts = [
            "1999-12-31T23:59:59.999999Z",
            "2026-01-01T00:00:00.000000Z",
            "2026-01-01T00:00:00.000001Z",
            "2026-01-31T23:59:59.999999Z",
            "2026-02-01T00:00:00.000000Z",
            "2027-01-01T00:00:00.000000Z",
        ];
        let instants: Vec<_> = texts.iter().map(|text| instant(text).unwrap()).collect();
        assert!(instants.is_sorted_by(|a, b| a < b), "{instants:?}");
    }

    #[test]
    fn a_cached_event_equals_the_parsed_one() {
        let (wording, mut recent) = (MessageFormat::new(), Recent::default());
        let texts: Vec<_> = (0..40).map(|number| message(&number.to_string())).collect();
        for text in texts.iter().chain(&texts).flat_map(|text| [text, text]) {
            assert_eq!(recent.read(text, &wording), wording.read(text));
        }
    }
}
