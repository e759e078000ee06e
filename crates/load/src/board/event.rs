//! What an event of a board says, as far as it is looked at.

use std::borrow::Cow;
use std::fmt::{self, Display, from_fn};

use jiff::Timestamp;
use serde::Deserialize;

/// Where an event stands, for all readers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Place {
    /// When it happened: a later one is a larger number.
    pub(crate) at: i64,
    pub(crate) origin: u32,
    pub(crate) seq: u64,
}

impl Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.origin, self.seq)
    }
}

/// An event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Event {
    pub(crate) place: Place,
    pub(crate) says: Says,
}

/// Of what an event is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Says {
    /// The run's message of that number, as it was sent.
    Sent(u32),
    /// It calls itself one of the run's messages, and is none.
    Garbled,
    /// Somebody else's, or no message at all.
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
    /// What a page shows instead.
    #[serde(borrow, default)]
    html: Option<Cow<'a, str>>,
}

/// What the messages of one run are called, and what they say.
#[derive(Debug, Clone)]
pub(crate) struct Wording {
    /// The run's own, before the number.
    run: String,
}

/// What stands in every message behind its id; about as long as what people write.
const FILLER: &str = " the lift is open and the snow is good, see you at the top station";

impl Wording {
    /// Of a run that is like no other.
    pub(crate) fn new() -> Self {
        Self { run: format!("run{:012x}-", rand::random::<u64>() >> 16) }
    }

    /// A message's client id.
    pub(crate) fn client_id(&self, number: u32) -> impl Display {
        from_fn(move |f| write!(f, "{}{number}", self.run))
    }

    /// Its text, in which the id is.
    pub(crate) fn body(&self, number: u32) -> impl Display {
        from_fn(move |f| write!(f, "{}{number}{FILLER}", self.run))
    }

    fn says(&self, body: &str) -> Says {
        let Some(rest) = body.strip_prefix(&self.run) else { return Says::Other };
        let number = rest.strip_suffix(FILLER).filter(|digits| is_plain(digits));
        number.and_then(|digits| digits.parse().ok()).map_or(Says::Garbled, Says::Sent)
    }

    /// The same of a message that comes as a page shows it: between two tags, unchanged, because nothing in
    /// it means anything in HTML or in Markdown.
    fn shows(&self, html: &str) -> Says {
        let texts = html.split('>').map(|rest| rest.split('<').next().unwrap_or_default());
        let mut says = texts.map(|text| self.says(text));
        says.find(|says| *says != Says::Other).unwrap_or(Says::Other)
    }

    /// Reads an event; nothing of what is none.
    pub(crate) fn read(&self, json: &[u8]) -> Option<Event> {
        let wire: Wire<'_> = serde_json::from_slice(json).ok()?;
        let (origin, seq) = id(&wire.id)?;
        let says = match (&*wire.kind, wire.body, wire.html) {
            ("message", Some(body), _) => self.says(&body),
            ("message", None, Some(html)) => self.shows(&html),
            _ => Says::Other,
        };
        Some(Event { place: Place { at: instant(&wire.at)?, origin, seq }, says })
    }
}

fn is_plain(digits: &str) -> bool {
    digits.bytes().all(|byte| byte.is_ascii_digit()) && (digits == "0" || !digits.starts_with('0'))
}

/// The two numbers of `origin:seq`.
pub(crate) fn id(text: &str) -> Option<(u32, u64)> {
    let (origin, seq) = text.split_once(':').filter(|(one, two)| is_plain(one) && is_plain(two))?;
    Some((origin.parse().ok()?, seq.parse().ok()?))
}

/// `2026-01-01T00:00:00.000001Z`, and nothing that is written otherwise, in microseconds.
fn instant(text: &str) -> Option<i64> {
    let at: Timestamp = text.parse().ok()?;
    (format!("{at:.6}") == text).then(|| at.as_microsecond())
}

/// Events that were read last. Many streams bring the same ones at about the same time, and comparing bytes
/// is cheaper than reading them.
#[derive(Debug, Default)]
pub(crate) struct Recent {
    known: [(Vec<u8>, Option<Event>); 16],
    next: usize,
}

impl Recent {
    /// What `json` says.
    pub(crate) fn read(&mut self, json: &[u8], wording: &Wording) -> Option<Event> {
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
    fn a_message_is_known_by_its_whole_text() {
        let wording = Wording::new();
        let body = wording.body(17).to_string();
        let says = |body: &str| wording.read(&message(body)).unwrap().says;
        assert_eq!(says(&body), Says::Sent(17));
        for wrong in [format!("{body}."), body.replace("-17", "-017"), body.replace("snow", "ice")]
        {
            assert_eq!(says(&wrong), Says::Garbled, "{wrong}");
        }
        assert_eq!(says("hello"), Says::Other);
        assert_eq!(says(&body.replacen("run", "ran", 1)), Says::Other);
    }

    #[test]
    fn a_message_on_a_page_is_known_by_its_whole_text() {
        let wording = Wording::new();
        let body = wording.body(17).to_string();
        let says = |text: &str| {
            let mut event: serde_json::Value = serde_json::from_slice(&message("")).unwrap();
            event.as_object_mut().unwrap().remove("body");
            event["html"] = json!(format!(
                "<li id=\"m7:42\"><bdi>Ada</bdi> <div class=\"said\"><p>{text}</p></div></li>"
            ));
            wording.read(event.to_string().as_bytes()).unwrap().says
        };
        assert_eq!(says(&body), Says::Sent(17));
        for wrong in [format!("{body}."), body.replace("snow", "<em>snow</em>")] {
            assert_eq!(says(&wrong), Says::Garbled, "{wrong}");
        }
        assert_eq!(says("hello"), Says::Other);
    }

    #[test]
    fn what_cannot_be_told_is_no_event() {
        let wording = Wording::new();
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
    fn later_is_more() {
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
    fn an_event_that_is_known_is_not_read_again() {
        let (wording, mut recent) = (Wording::new(), Recent::default());
        let texts: Vec<_> = (0..40).map(|number| message(&number.to_string())).collect();
        for text in texts.iter().chain(&texts).flat_map(|text| [text, text]) {
            assert_eq!(recent.read(text, &wording), wording.read(text));
        }
    }
}
