//! The requests of a ride run.

use std::fmt::{Display, from_fn};

use uuid::Uuid;

use super::ride::{Ranges, Ride, SkierDay};
use crate::http::target::{Target, put};

/// The path of the ledger, the counts of accepted and stored rides.
pub(crate) const LEDGER_PATH: &str = "/api/rides/ledger";
/// The path of the resorts with the verticals of their lifts.
pub(crate) const RESORTS_PATH: &str = "/api/rides/resorts";
const BATCH_PATH: &str = "/api/rides";

/// The parameters that all requests of a run share.
#[derive(Debug, Clone)]
pub(crate) struct Requests {
    pub(crate) target: Target,
    season: String,
    day: u32,
}

impl Requests {
    pub(crate) fn new(target: Target, ranges: &Ranges) -> Self {
        Self { target, season: ranges.season.clone(), day: ranges.day }
    }

    /// Returns the path of a skier's day.
    pub(crate) fn skier_day_path(&self, SkierDay { resort, skier }: SkierDay) -> impl Display {
        let (season, day) = (&self.season, self.day);
        from_fn(move |f| write!(f, "/skiers/{resort}/seasons/{season}/days/{day}/skiers/{skier}"))
    }

    /// Returns the path of the number of skiers in a resort.
    pub(crate) fn day_path(&self, resort: u32) -> String {
        format!("/resorts/{resort}/seasons/{}/day/{}/skiers", self.season, self.day)
    }

    /// Returns the path of a skier's vertical in the season.
    pub(crate) fn skier_path(&self, place: SkierDay) -> String {
        let SkierDay { resort, skier } = place;
        format!("/skiers/{skier}/vertical?resort={resort}&season={}", self.season)
    }

    /// Replaces `out` with a POST of one ride.
    pub(crate) fn post(&self, id: Uuid, ride: &Ride, out: &mut Vec<u8>) {
        let Ride { place, time, lift } = ride;
        self.target.post_json(
            self.skier_day_path(*place),
            format_args!("Idempotency-Key: {id}\r\n"),
            format_args!("{{\"time\":{time},\"liftID\":{lift}}}"),
            out,
        );
    }

    /// Appends the line of one ride to a batch's body.
    pub(crate) fn line(&self, id: Uuid, ride: &Ride, body: &mut Vec<u8>) {
        let Ride { place: SkierDay { resort, skier }, time, lift } = ride;
        let (season, day) = (&self.season, self.day);
        put(
            body,
            format_args!(
                "{{\"id\":\"{id}\",\"resortID\":{resort},\"seasonID\":\"{season}\",\"dayID\":{day},\"skierID\":{skier},\"time\":{time},\"liftID\":{lift}}}\n"
            ),
        );
    }

    /// Replaces `out` with a POST of a batch. `coding`: its `Content-Encoding`.
    pub(crate) fn batch(&self, coding: Option<&str>, body: &[u8], out: &mut Vec<u8>) {
        let coding =
            coding.map_or_else(String::new, |name| format!("Content-Encoding: {name}\r\n"));
        let headers = format_args!("Content-Type: application/x-ndjson\r\n{coding}");
        self.target.post(BATCH_PATH, headers, body, out);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn requests() -> Requests {
        let ranges =
            Ranges { resorts: 1, skiers: 1, lifts: 1, times: 1, season: "2025".to_owned(), day: 7 };
        Requests::new(Target::for_tests(&["X-Key: 1".to_owned()], true), &ranges)
    }

    const RIDE: Ride = Ride { place: SkierDay { resort: 3, skier: 44 }, time: 217, lift: 21 };

    #[test]
    fn a_ride_is_posted_under_its_id_with_a_body_of_the_right_length() {
        let mut out = b"old".to_vec();
        requests().post(Uuid::nil(), &RIDE, &mut out);
        let text = String::from_utf8(out).unwrap();
        assert!(
            text.starts_with("POST /skiers/3/seasons/2025/days/7/skiers/44 HTTP/1.1\r\n"),
            "{text}"
        );
        let end = "\r\nX-Key: 1\r\nIdempotency-Key: 00000000-0000-0000-0000-000000000000\r\nContent-Type: application/json\r\nContent-Length: 24\r\n\r\n{\"time\":217,\"liftID\":21}";
        assert!(text.ends_with(end), "{text}");
    }

    #[test]
    fn a_batch_has_its_length_and_content_encoding() {
        let (mut body, mut out) = (Vec::new(), Vec::new());
        requests().line(Uuid::nil(), &RIDE, &mut body);
        requests().batch(Some("gzip"), &body, &mut out);
        let line = "{\"id\":\"00000000-0000-0000-0000-000000000000\",\"resortID\":3,\"seasonID\":\"2025\",\"dayID\":7,\"skierID\":44,\"time\":217,\"liftID\":21}\n";
        let text = String::from_utf8(out).unwrap();
        let end = format!(
            "Content-Type: application/x-ndjson\r\nContent-Encoding: gzip\r\nContent-Length: {}\r\n\r\n{line}",
            line.len()
        );
        assert!(text.starts_with("POST /api/rides HTTP/1.1\r\n") && text.ends_with(&end), "{text}");
    }

    #[test]
    fn each_kind_of_read_has_its_path() {
        let (requests, mut out) = (requests(), Vec::new());
        assert_eq!(requests.day_path(3), "/resorts/3/seasons/2025/day/7/skiers");
        let day = requests.skier_day_path(RIDE.place).to_string();
        assert_eq!(day, "/skiers/3/seasons/2025/days/7/skiers/44");
        requests.target.get(requests.skier_path(RIDE.place), "", &mut out);
        let text = String::from_utf8(out).unwrap();
        assert!(text.starts_with("GET /skiers/44/vertical?resort=3&season=2025 HTTP/1.1\r\n"));
        assert!(text.ends_with("X-Key: 1\r\n\r\n"), "{text}");
    }
}
