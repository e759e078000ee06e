//! What the clients were told.

use std::{
    collections::BTreeMap,
    sync::{Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

use lodge_testbed::Member;
use serde::{Deserialize, Serialize};

use crate::http::Answer;

/// What the clients' requests are counted as.
pub(crate) const EDIT: &str = "edit";
/// Links that the route has led to before the fault.
pub(crate) const KNOWN: &str = "follow known";
pub(crate) const MAKE: &str = "put";
pub(crate) const NEW: &str = "follow new";
pub(crate) const REPEAT: &str = "repeat";

/// An answer that comes later than this is trouble, though it be good.
const SLOW: Duration = Duration::from_secs(1);

/// A link that was acknowledged.
#[derive(Debug, Clone)]
pub(crate) struct Expected {
    pub(crate) short: String,
    /// Where it may lead: to one place, or to two if the outcome of its last edit is unknown.
    pub(crate) targets: Vec<String>,
    /// Whether it was edited, so that every process is to be asked.
    pub(crate) is_edited: bool,
}

/// What became of a request.
#[derive(Debug)]
pub(crate) enum Fate {
    /// What it should.
    Good,
    /// Refused, broken off, or no answer at all.
    Unknown(String),
    /// An answer that must not be.
    Wrong(String),
}

impl Fate {
    /// What became of a request whose answer must be `good`.
    pub(crate) fn of(answer: Option<&Answer>, good: impl FnOnce(&Answer) -> bool) -> Self {
        match answer {
            Some(answer) if good(answer) => Self::Good,
            Some(answer) if answer.status < 500 => Self::Wrong(answer.status.to_string()),
            Some(answer) => Self::Unknown(answer.status.to_string()),
            None => Self::Unknown("no answer".to_owned()),
        }
    }
}

/// What is counted.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(crate) struct Tally {
    /// Writes that were acknowledged, and redirects that led where they should, by the kind of client.
    pub(crate) good: BTreeMap<String, u64>,
    /// Requests without a yes or a no, by the kind of client and the answer; those to a process that
    /// was struck itself are not among them.
    pub(crate) unknown: BTreeMap<String, u64>,
    /// The same for processes that were struck themselves.
    pub(crate) unknown_at_victims: u64,
    /// Answers that must not be, by the kind of client.
    pub(crate) wrong: BTreeMap<String, u64>,
    pub(crate) false_404s: u64,
    /// Edits that another process did not show a second after they were acknowledged.
    pub(crate) late_edits: u64,
    /// Repetitions that were answered with another link.
    pub(crate) duplicated: u64,
    /// The longest time on one route without a redirect of a link that it had led to before the fault,
    /// and of a new one; and without a write.
    pub(crate) known_gap_ms: u64,
    pub(crate) new_gap_ms: u64,
    pub(crate) write_gap_ms: u64,
}

/// All of it.
#[derive(Default)]
pub(crate) struct Ledger(Mutex<Book>);

#[derive(Default)]
struct Book {
    links: Vec<Expected>,
    struck: Vec<Member>,
    tally: Tally,
    pulses: BTreeMap<usize, Pulse>,
}

/// How one client fares.
struct Pulse {
    good: Instant,
    trouble: Option<Instant>,
    /// Whether it has asked a struck process since it fared well.
    is_excused: bool,
}

impl Ledger {
    fn book(&self) -> MutexGuard<'_, Book> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn enter(&self, client: usize) {
        let pulse = Pulse { good: Instant::now(), trouble: None, is_excused: false };
        self.book().pulses.insert(client, pulse);
    }

    pub(super) fn strike(&self, victims: &[Member]) {
        victims.clone_into(&mut self.book().struck);
    }

    pub(super) fn is_struck(&self, member: Member) -> bool {
        self.book().struck.contains(&member)
    }

    pub(super) fn links(&self) -> usize {
        self.book().links.len()
    }

    /// A link that was acknowledged, `back` before the newest.
    pub(super) fn newest(&self, back: usize) -> Option<Expected> {
        let book = self.book();
        let place = book.links.len().checked_sub(1 + back)?;
        Some(book.links[place].clone())
    }

    pub(super) fn expect(&self, link: Expected) {
        self.book().links.push(link);
    }

    pub(super) fn duplicated(&self) {
        self.book().tally.duplicated += 1;
    }

    pub(super) fn late_edit(&self) {
        self.book().tally.late_edits += 1;
    }

    /// Notes what became of a request that `client` sent to `member`.
    pub(super) fn note(
        &self,
        client: usize,
        work: &'static str,
        member: Member,
        began: Instant,
        fate: Fate,
    ) {
        let mut book = self.book();
        let (now, is_struck) = (Instant::now(), book.struck.contains(&member));
        let Book { tally, pulses, .. } = &mut *book;
        let Some(pulse) = pulses.get_mut(&client) else { return };
        pulse.is_excused |= is_struck;
        if began.elapsed() > SLOW || !matches!(fate, Fate::Good) {
            pulse.trouble = Some(now);
        }
        match fate {
            Fate::Good => {
                *tally.good.entry(work.to_owned()).or_default() += 1;
                if !pulse.is_excused {
                    tally.waited(work, now - pulse.good, now - began);
                }
                pulse.good = now;
                pulse.is_excused = is_struck;
            }
            Fate::Unknown(_) if is_struck => tally.unknown_at_victims += 1,
            Fate::Unknown(answer) => {
                *tally.unknown.entry(format!("{work}: {answer}")).or_default() += 1;
            }
            Fate::Wrong(answer) => {
                if answer == "404" {
                    tally.false_404s += 1;
                }
                *tally.wrong.entry(format!("{work}: {answer}")).or_default() += 1;
            }
        }
    }

    /// Whether every client has fared well for `calm`.
    pub(super) fn has_been_well(&self, calm: Duration) -> bool {
        let is_well = |pulse: &Pulse| {
            pulse.good.elapsed() < calm
                && pulse.trouble.is_none_or(|trouble| trouble.elapsed() > calm)
        };
        self.book().pulses.values().all(is_well)
    }

    /// When a client last did not fare well.
    pub(super) fn last_trouble(&self) -> Option<Instant> {
        self.book().pulses.values().filter_map(|pulse| pulse.trouble).max()
    }

    pub(super) fn take(&self) -> (Tally, Vec<Expected>) {
        let mut book = self.book();
        (std::mem::take(&mut book.tally), std::mem::take(&mut book.links))
    }
}

impl Tally {
    /// Notes how long something good was waited for: since the last time on that route by clients that
    /// do nothing else, since it was asked for by others.
    fn waited(&mut self, work: &str, gap: Duration, answer: Duration) {
        let ms = |time: Duration| u64::try_from(time.as_millis()).unwrap_or(u64::MAX);
        match work {
            KNOWN => self.known_gap_ms = self.known_gap_ms.max(ms(gap)),
            NEW => self.new_gap_ms = self.new_gap_ms.max(ms(gap)),
            MAKE => self.write_gap_ms = self.write_gap_ms.max(ms(gap)),
            _ => self.write_gap_ms = self.write_gap_ms.max(ms(answer)),
        }
    }

    /// How many of one kind of client's requests did what they should.
    pub(crate) fn good(&self, work: &str) -> u64 {
        self.good.get(work).copied().unwrap_or_default()
    }

    /// The requests without a yes or a no of one kind of client, by the answer.
    pub(crate) fn unknown<'a>(&'a self, work: &'a str) -> impl Iterator<Item = (&'a str, u64)> {
        self.unknown.iter().filter_map(move |(what, count)| {
            Some((what.strip_prefix(work)?.strip_prefix(": ")?, *count))
        })
    }
}
