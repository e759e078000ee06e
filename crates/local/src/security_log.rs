//! The security log: writes each event to the log at once, and keeps it until it is stored.

use std::{
    collections::{HashMap, VecDeque},
    sync::Arc,
};

use jiff::{SignedDuration, Timestamp};
use lodge_domain::{
    Clock, Random,
    accounts::AccountId,
    secret::InstallationSecret,
    security::{
        Addresses, NewSecurityEvent, SecurityActor, SecurityEvent, SecurityEventKind,
        SecurityRecorder,
    },
};
use parking_lot::Mutex;

/// Events that wait to be stored, and of those that may repeat those of the last minute; further ones are only logged.
pub const SECURITY_EVENTS_WAITING_MAX: usize = 4_096;

/// How long repetitions of an event are merged, from the first on.
const MERGED_FOR: SignedDuration = SignedDuration::from_mins(1);

/// What repeated events have in common.
type Repeated = (SecurityEventKind, SecurityActor, Option<AccountId>, String, String);

/// The [`SecurityRecorder`] of a process.
pub struct SecurityLog {
    addresses: Addresses,
    secret: InstallationSecret,
    clock: Arc<dyn Clock>,
    random: Arc<dyn Random>,
    waiting: Mutex<Waiting>,
}

#[derive(Default)]
struct Waiting {
    events: VecDeque<SecurityEvent>,
    repeatable: HashMap<Repeated, Repeatable>,
}

struct Repeatable {
    event: SecurityEvent,
    is_stored: bool,
}

impl SecurityLog {
    /// Creates an empty log, whose events name addresses as `addresses` says, hashed with a key of `secret`.
    pub fn new(
        addresses: Addresses,
        secret: InstallationSecret,
        clock: Arc<dyn Clock>,
        random: Arc<dyn Random>,
    ) -> Self {
        Self { addresses, secret, clock, random, waiting: Mutex::default() }
    }

    /// Takes at most `limit` events that are not stored as they are now.
    pub fn take(&self, limit: usize) -> Vec<SecurityEvent> {
        let mut waiting = self.waiting.lock();
        let acts = waiting.events.len().min(limit);
        let mut taken: Vec<_> = waiting.events.drain(..acts).collect();
        let now = self.clock.now();
        waiting.repeatable.retain(|_, first| {
            if !first.is_stored && taken.len() < limit {
                taken.push(first.event.clone());
                first.is_stored = true;
            }
            let is_over = now.duration_since(first.event.at) >= MERGED_FOR;
            if is_over && first.is_stored && first.event.repeats > 1 {
                write_line(&first.event);
            }
            !(is_over && first.is_stored)
        });
        taken
    }
}

impl SecurityRecorder for SecurityLog {
    fn record(&self, new: NewSecurityEvent) {
        let origin = new.address.map(|address| self.addresses.origin(address, &self.secret));
        let now = self.clock.now();
        let event = SecurityEvent::new(new, origin.unwrap_or_default(), now, &*self.random);
        let is_kept = {
            let mut waiting = self.waiting.lock();
            if event.may_repeat() && waiting.merge(&event, now) {
                return;
            }
            waiting.add(event.clone())
        };
        write_line(&event);
        if !is_kept {
            metrics::counter!("lodge_security_events_dropped_total").increment(1);
        }
    }
}

impl Waiting {
    /// Counts a repetition; returns false if there is no event to merge it with.
    fn merge(&mut self, event: &SecurityEvent, now: Timestamp) -> bool {
        let Some(first) = self.repeatable.get_mut(&repeated(event)) else { return false };
        if now.duration_since(first.event.at) >= MERGED_FOR {
            return false;
        }
        first.event.repeats = first.event.repeats.saturating_add(1);
        first.event.last_at = event.at;
        first.is_stored = false;
        true
    }

    /// Adds an event; returns false if it, or an earlier one like it, cannot be stored.
    fn add(&mut self, event: SecurityEvent) -> bool {
        let key = repeated(&event);
        let has_room = self.repeatable.len() < SECURITY_EVENTS_WAITING_MAX;
        if !event.may_repeat() || !has_room && !event.kind.is_failure() {
            return self.wait(event);
        }
        if !has_room && !self.repeatable.contains_key(&key) {
            return false;
        }
        match self.repeatable.insert(key, Repeatable { event, is_stored: false }) {
            Some(earlier) if !earlier.is_stored => self.wait(earlier.event),
            _ => true,
        }
    }

    fn wait(&mut self, event: SecurityEvent) -> bool {
        let has_room = self.events.len() < SECURITY_EVENTS_WAITING_MAX;
        if has_room {
            self.events.push_back(event);
        }
        has_room
    }
}

fn repeated(event: &SecurityEvent) -> Repeated {
    let SecurityEvent { kind, actor, account, origin, detail, .. } = event;
    (*kind, *actor, *account, origin.clone(), detail.clone())
}

fn write_line(event: &SecurityEvent) {
    let SecurityEvent { kind, actor, account, origin, detail, repeats, .. } = event;
    let (what, from, detail) = (kind.name(), origin.as_str(), detail.as_str());
    let account = account.map(|account| account.0);
    if *kind == SecurityEventKind::LockedOut {
        tracing::warn!(target: "lodge::security", what, who = %actor, account, from, detail, repeats, "security event");
    } else {
        tracing::info!(target: "lodge::security", what, who = %actor, account, from, detail, repeats, "security event");
    }
}

#[cfg(test)]
mod tests {
    use std::net::IpAddr;

    use lodge_domain::{OsRandom, clock::ManualClock};

    use super::*;

    const ADDRESS: IpAddr = IpAddr::V4(std::net::Ipv4Addr::new(192, 0, 2, 1));

    fn log() -> (SecurityLog, Arc<ManualClock>) {
        let clock = Arc::new(ManualClock::at(Timestamp::UNIX_EPOCH));
        let secret = InstallationSecret::new([7; 32]);
        let log =
            SecurityLog::new(Addresses::Hash, secret, Arc::clone(&clock) as _, Arc::new(OsRandom));
        (log, clock)
    }

    fn event(kind: SecurityEventKind, account: i64) -> NewSecurityEvent {
        NewSecurityEvent {
            kind,
            actor: SecurityActor::Visitor,
            account: Some(AccountId(account)),
            address: Some(ADDRESS),
            detail: String::new(),
        }
    }

    #[test]
    fn repeated_failures_within_a_minute_are_one_event_with_a_count() {
        let (log, clock) = log();
        for _ in 0..1_000 {
            log.record(event(SecurityEventKind::SignInFailed, 1));
        }
        let first = log.take(10);
        assert_eq!(first.iter().map(|event| event.repeats).collect::<Vec<_>>(), [1_000]);
        assert_eq!(log.take(10), []);
        log.record(event(SecurityEventKind::SignInFailed, 1));
        log.record(event(SecurityEventKind::SignInFailed, 2));
        let mut next = log.take(10);
        next.sort_by_key(|event| event.account.map(|account| account.0));
        assert_eq!(next.iter().map(|event| event.repeats).collect::<Vec<_>>(), [1_001, 1]);
        assert_eq!(next[0].id, first[0].id);
        clock.advance_seconds(60);
        log.record(event(SecurityEventKind::SignInFailed, 1));
        let later = log.take(10);
        assert!(later.len() == 1 && later[0].repeats == 1 && later[0].id != first[0].id);
    }

    #[test]
    fn acts_are_never_merged_and_a_flood_of_failures_leaves_room_for_them() {
        let (log, _clock) = log();
        for account in 0..=i64::try_from(SECURITY_EVENTS_WAITING_MAX).unwrap() {
            log.record(event(SecurityEventKind::SignInFailed, account));
        }
        log.record(event(SecurityEventKind::Banned, 1));
        log.record(event(SecurityEventKind::Banned, 1));
        let taken = log.take(usize::MAX);
        assert_eq!(taken.len(), 2 + SECURITY_EVENTS_WAITING_MAX);
        assert!(taken[..2].iter().all(|event| event.kind == SecurityEventKind::Banned));
        assert!(taken.iter().all(|event| !event.origin.contains("192.0.2")));
    }
}
