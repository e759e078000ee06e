//! The record of all answers to the clients.

use std::{
    collections::BTreeMap,
    sync::{Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

use lodge_testbed::Member;
use serde::{Deserialize, Serialize};

use crate::http::Answer;

/// An answer that takes longer is trouble, even if it is right.
const SLOW: Duration = Duration::from_secs(1);

/// A kind of request.
#[derive(Debug, Clone, Copy)]
pub(crate) struct RequestKind {
    pub(crate) name: &'static str,
    pub(crate) wait: Wait,
}

/// How the wait for a kind of request is counted.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Wait {
    /// Reads of what the route has read before; the client sends nothing else.
    Known,
    /// Reads of something new; the client sends nothing else.
    New,
    /// Writes of a client that sends nothing else.
    SteadyWrite,
    /// Other requests.
    Write,
}

/// The outcome of a request.
#[derive(Debug)]
pub(crate) enum RequestOutcome {
    /// The expected answer.
    Good,
    /// Refused, interrupted, or without an answer.
    Unknown(String),
    /// A wrong answer.
    Wrong(String),
}

impl RequestOutcome {
    /// The outcome of a request whose answer must satisfy `good`.
    pub(crate) fn of_answer(answer: Option<&Answer>, good: impl FnOnce(&Answer) -> bool) -> Self {
        match answer {
            Some(answer) if good(answer) => Self::Good,
            Some(answer) if answer.status < 500 => Self::Wrong(answer.status.to_string()),
            Some(answer) => Self::Unknown(answer.status.to_string()),
            None => Self::Unknown("no answer".to_owned()),
        }
    }
}

/// The counts of all clients.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(crate) struct Tally {
    /// Acknowledged writes and right redirects, by kind of request.
    pub(crate) good: BTreeMap<String, u64>,
    /// Requests with an unknown outcome, by kind of request and answer, without those to victims of the
    /// fault.
    pub(crate) unknown: BTreeMap<String, u64>,
    /// Requests with an unknown outcome to victims of the fault.
    pub(crate) unknown_at_victims: u64,
    /// Wrong answers, by kind of request and answer.
    pub(crate) wrong: BTreeMap<String, u64>,
    pub(crate) false_404s: u64,
    /// Reads of an older version more than a second after an edit was acknowledged.
    pub(crate) late_edits: u64,
    /// Sessions that were accepted more than a second after their end was acknowledged.
    #[serde(default)]
    pub(crate) late_ends: u64,
    /// Repetitions that returned another link, or of two sign-ups for one name the second that succeeded.
    pub(crate) duplicated: u64,
    /// The longest time on one route without a read of what the route knows, without one of something new, and
    /// without a write.
    pub(crate) known_gap_ms: u64,
    pub(crate) new_gap_ms: u64,
    pub(crate) write_gap_ms: u64,
    /// The longest time until a refusal, or until a connection broke.
    #[serde(default)]
    pub(crate) refusal_ms: u64,
}

/// The counts and victims.
#[derive(Default)]
pub(crate) struct AnswerLog(Mutex<LogState>);

#[derive(Default)]
struct LogState {
    struck: Vec<Member>,
    tally: Tally,
    clients: BTreeMap<usize, ClientState>,
}

/// The state of one client.
struct ClientState {
    good: Instant,
    trouble: Option<Instant>,
    /// Whether it has sent a request to a victim since its last good answer.
    is_excused: bool,
}

impl AnswerLog {
    fn book(&self) -> MutexGuard<'_, LogState> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn add_client(&self, client: usize) {
        let heartbeat = ClientState { good: Instant::now(), trouble: None, is_excused: false };
        self.book().clients.insert(client, heartbeat);
    }

    pub(super) fn strike(&self, victims: &[Member]) {
        victims.clone_into(&mut self.book().struck);
    }

    pub(crate) fn is_struck(&self, member: Member) -> bool {
        self.book().struck.contains(&member)
    }

    /// Changes the counts.
    pub(crate) fn count(&self, change: impl FnOnce(&mut Tally)) {
        change(&mut self.book().tally);
    }

    /// Records the outcome of a request that `client` sent to `member`.
    pub(super) fn record(
        &self,
        client: usize,
        work: RequestKind,
        member: Member,
        began: Instant,
        fate: RequestOutcome,
    ) {
        let mut book = self.book();
        let (now, is_struck) = (Instant::now(), book.struck.contains(&member));
        let LogState { tally, clients, .. } = &mut *book;
        let Some(heartbeat) = clients.get_mut(&client) else { return };
        heartbeat.is_excused |= is_struck;
        if began.elapsed() > SLOW || !matches!(fate, RequestOutcome::Good) {
            heartbeat.trouble = Some(now);
        }
        match fate {
            RequestOutcome::Good => {
                *tally.good.entry(work.name.to_owned()).or_default() += 1;
                if !heartbeat.is_excused {
                    tally.record_wait(work.wait, now - heartbeat.good, now - began);
                }
                heartbeat.good = now;
                heartbeat.is_excused = is_struck;
            }
            RequestOutcome::Unknown(_) if is_struck => tally.unknown_at_victims += 1,
            RequestOutcome::Unknown(answer) => {
                tally.refusal_ms = tally.refusal_ms.max(ms(now - began));
                *tally.unknown.entry(format!("{}: {answer}", work.name)).or_default() += 1;
            }
            RequestOutcome::Wrong(answer) => {
                if answer == "404" {
                    tally.false_404s += 1;
                }
                *tally.wrong.entry(format!("{}: {answer}", work.name)).or_default() += 1;
            }
        }
    }

    /// Whether every client has had no trouble for `calm`.
    pub(super) fn is_calm(&self, calm: Duration) -> bool {
        let is_well = |heartbeat: &ClientState| {
            heartbeat.good.elapsed() < calm
                && heartbeat.trouble.is_none_or(|trouble| trouble.elapsed() > calm)
        };
        self.book().clients.values().all(is_well)
    }

    /// The time of the last trouble of any client.
    pub(super) fn last_trouble(&self) -> Option<Instant> {
        self.book().clients.values().filter_map(|heartbeat| heartbeat.trouble).max()
    }

    pub(super) fn take(&self) -> Tally {
        std::mem::take(&mut self.book().tally)
    }
}

fn ms(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}

impl Tally {
    /// Records the wait for a good answer: for clients with one kind of request since the last good answer on the
    /// route, for others since the request.
    fn record_wait(&mut self, wait: Wait, gap: Duration, answer: Duration) {
        let (longest, time) = match wait {
            Wait::Known => (&mut self.known_gap_ms, gap),
            Wait::New => (&mut self.new_gap_ms, gap),
            Wait::SteadyWrite => (&mut self.write_gap_ms, gap),
            Wait::Write => (&mut self.write_gap_ms, answer),
        };
        *longest = (*longest).max(ms(time));
    }

    /// The number of requests of a kind with the expected answer.
    pub(crate) fn good(&self, work: RequestKind) -> u64 {
        self.good.get(work.name).copied().unwrap_or_default()
    }

    /// The numbers of requests of a kind with an unknown outcome, by answer.
    pub(crate) fn unknown(&self, work: RequestKind) -> impl Iterator<Item = (&str, u64)> {
        self.unknown.iter().filter_map(move |(what, count)| {
            Some((what.strip_prefix(work.name)?.strip_prefix(": ")?, *count))
        })
    }
}
