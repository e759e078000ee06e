//! The results that a run expects of the server: sums for each skier's day, without the events themselves.

use std::collections::HashMap;
use std::ops::{AddAssign, RangeInclusive};

use uuid::Uuid;

use super::ride::{Ride, SkierDay, Verticals};
use crate::engine::outcome::{ErrorKind, Outcomes, WriteOutcome};

/// The largest number of events of unknown outcome kept by a thread, or by a run; about 50 MiB.
const UNKNOWN_EVENTS_MAX: usize = 1_000_000;

/// Verticals of one skier's day.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, derive_more::AddAssign)]
pub(crate) struct Sums {
    /// The vertical of acknowledged events.
    pub(crate) acknowledged: u64,
    /// The vertical of events of unknown outcome.
    pub(crate) unknown: u64,
    /// The number of acknowledged events; their vertical may be 0.
    pub(crate) rides: u64,
}

impl Sums {
    /// Returns the verticals that the server may report.
    pub(crate) fn bounds(self) -> RangeInclusive<u64> {
        self.acknowledged..=self.acknowledged + self.unknown
    }
}

/// Counts of events by outcome, as known to the client.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, derive_more::AddAssign, serde::Serialize)]
pub(crate) struct Events {
    #[serde(flatten)]
    pub(crate) outcomes: Outcomes,
    /// Tries after the first, of single events or of batches.
    pub(crate) retries: u64,
    /// New events whose first try was answered as replayed.
    pub(crate) new_as_replayed: u64,
    /// Repeats on purpose that were answered as replayed.
    pub(crate) repeats_replayed: u64,
    /// Repeats that were answered as new.
    pub(crate) repeats_as_new: u64,
    /// Repeats that were refused.
    pub(crate) repeats_refused: u64,
    /// Repeats without a response, or answered with 429 or 5xx.
    pub(crate) repeats_unanswered: u64,
}

impl Events {
    /// Returns whether new events were answered as new, and repeats as replayed.
    pub(crate) fn idempotency_holds(&self) -> bool {
        self.new_as_replayed + self.repeats_as_new + self.repeats_refused == 0
    }

    /// Counts a repeat. `came`: whether it was answered as replayed.
    pub(crate) fn count_repeat(&mut self, came: Result<bool, ErrorKind>) {
        *match came {
            Ok(true) => &mut self.repeats_replayed,
            Ok(false) => &mut self.repeats_as_new,
            Err(ErrorKind::Status(..=428 | 430..=499)) => &mut self.repeats_refused,
            Err(_) => &mut self.repeats_unanswered,
        } += 1;
    }
}

/// An event of unknown outcome.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct UnknownEvent {
    pub(crate) id: Uuid,
    pub(crate) ride: Ride,
    pub(crate) vertical: u64,
}

/// The counts and sums of one thread, or of a run. All but `events` are filled only if the run is to be
/// verified.
#[derive(Debug, Default)]
pub(crate) struct Tally {
    pub(crate) events: Events,
    pub(crate) days: HashMap<SkierDay, Sums>,
    /// Events of unknown outcome, at most `DOUBTFUL_MAX`.
    pub(crate) unknown_events: Vec<UnknownEvent>,
}

impl Tally {
    /// Counts an event, and adds its vertical if `verticals` is given.
    pub(crate) fn note(
        &mut self,
        (id, ride): (Uuid, Ride),
        outcome: WriteOutcome,
        verticals: Option<&Verticals>,
    ) {
        self.events.outcomes.count(outcome);
        let Some(verticals) = verticals.filter(|_| outcome != WriteOutcome::Refused) else {
            return;
        };
        let vertical = verticals.of(&ride);
        let sums = self.days.entry(ride.place).or_default();
        if outcome == WriteOutcome::Acknowledged {
            sums.acknowledged += vertical;
            sums.rides += 1;
        } else {
            sums.unknown += vertical;
            if self.unknown_events.len() < UNKNOWN_EVENTS_MAX {
                self.unknown_events.push(UnknownEvent { id, ride, vertical });
            }
        }
    }

    /// Settles an event of unknown outcome: it is stored, or never will be.
    pub(crate) fn resolve(&mut self, event: &UnknownEvent, stored: bool) {
        let sums = self.days.entry(event.ride.place).or_default();
        sums.unknown -= event.vertical;
        self.events.outcomes.unknown -= 1;
        if stored {
            sums.acknowledged += event.vertical;
            sums.rides += 1;
            self.events.outcomes.acknowledged += 1;
        } else {
            self.events.outcomes.refused += 1;
        }
    }

    /// Returns the smallest and the largest number of skiers that the server may report, by resort.
    pub(crate) fn skiers(&self, resorts: u32) -> HashMap<u32, (u64, u64)> {
        let mut skiers: HashMap<u32, (u64, u64)> = (1..=resorts).map(|at| (at, (0, 0))).collect();
        for (place, sums) in &self.days {
            let bounds = skiers.entry(place.resort).or_default();
            bounds.0 += u64::from(sums.rides > 0);
            bounds.1 += 1;
        }
        skiers
    }
}

impl AddAssign for Tally {
    fn add_assign(&mut self, other: Self) {
        self.events += other.events;
        let room = UNKNOWN_EVENTS_MAX - self.unknown_events.len();
        self.unknown_events.extend(other.unknown_events.into_iter().take(room));
        if self.days.is_empty() {
            self.days = other.days;
            return;
        }
        for (place, more) in other.days {
            *self.days.entry(place).or_default() += more;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A ride with a vertical of ten times its lift's number.
    const fn ride(resort: u32, skier: u32, lift: u32) -> Ride {
        Ride { place: SkierDay { resort, skier }, time: 1, lift }
    }

    #[test]
    fn an_unknown_outcome_widens_the_bounds_and_a_refusal_does_not() {
        use WriteOutcome::{Acknowledged, Refused, Unknown};
        let (mut one, mut other) = (Tally::default(), Tally::default());
        let verticals = Verticals::default();
        let note = |of: &mut Tally, ride, outcome| {
            of.note((Uuid::nil(), ride), outcome, Some(&verticals));
        };
        note(&mut one, ride(1, 1, 1), Acknowledged);
        note(&mut one, ride(1, 2, 3), Unknown);
        note(&mut other, ride(1, 1, 2), Acknowledged);
        note(&mut other, ride(1, 1, 4), Unknown);
        note(&mut other, ride(2, 9, 5), Refused);
        one += other;
        let bounds = |of: &Tally| {
            let places = [(1, 1), (1, 2), (2, 9)].map(|(resort, skier)| SkierDay { resort, skier });
            places.map(|place| of.days.get(&place).map(|day| day.bounds()))
        };
        assert_eq!(bounds(&one), [Some(30..=70), Some(0..=30), None]);
        let skiers = one.skiers(3);
        assert_eq!([skiers[&1], skiers[&2], skiers[&3]], [(1, 2), (0, 0), (0, 0)]);

        let [first, second] = one.unknown_events[..] else { panic!("{:?}", one.unknown_events) };
        one.resolve(&first, true);
        one.resolve(&second, false);
        assert_eq!(bounds(&one), [Some(30..=30), Some(30..=30), None]);
        assert_eq!(one.skiers(1)[&1], (2, 2));
        let Outcomes { acknowledged, refused, unknown } = one.events.outcomes;
        assert_eq!((acknowledged, refused, unknown), (3, 2, 0));
    }
}
