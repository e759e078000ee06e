//! What a run may expect of the server: sums for each skier's day, never the events themselves.

use std::collections::HashMap;
use std::ops::{AddAssign, RangeInclusive};

use uuid::Uuid;

use super::ride::{Place, Ride, Verticals};
use crate::engine::outcome::{ErrorKind, Outcomes, WriteOutcome};

/// The most events of unknown outcome that one thread, or a run, remembers; about 50 MiB.
const DOUBTFUL_MAX: usize = 1_000_000;

/// Verticals of one skier's day.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, derive_more::AddAssign)]
pub(crate) struct Sums {
    /// Of acknowledged events.
    pub(crate) acknowledged: u64,
    /// Of events of which nobody knows whether they were stored.
    pub(crate) unknown: u64,
    /// How many were acknowledged; they may be worth nothing.
    pub(crate) rides: u64,
}

impl Sums {
    /// The least and the most that may be found.
    pub(crate) fn bounds(self) -> RangeInclusive<u64> {
        self.acknowledged..=self.acknowledged + self.unknown
    }
}

/// What became of events, as far as the client can know.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, derive_more::AddAssign, serde::Serialize)]
pub(crate) struct Events {
    #[serde(flatten)]
    pub(crate) outcomes: Outcomes,
    /// Tries after the first, of single events or of batches.
    pub(crate) retries: u64,
    /// Acknowledged at their first try, but as repetitions, which they are not.
    pub(crate) new_as_replayed: u64,
    /// Sent once more on purpose, and answered as repetitions.
    pub(crate) repeats_replayed: u64,
    /// The same, and answered as new.
    pub(crate) repeats_as_new: u64,
    /// The same, and refused.
    pub(crate) repeats_refused: u64,
    /// The same, without an answer, or not taken.
    pub(crate) repeats_unanswered: u64,
}

impl Events {
    /// Whether new events were answered as new ones, and repetitions as repetitions.
    pub(crate) fn told_apart(&self) -> bool {
        self.new_as_replayed + self.repeats_as_new + self.repeats_refused == 0
    }

    /// Counts an event that was sent once more on purpose. `came`: whether it was answered as a repetition.
    pub(crate) fn count_repeat(&mut self, came: Result<bool, ErrorKind>) {
        *match came {
            Ok(true) => &mut self.repeats_replayed,
            Ok(false) => &mut self.repeats_as_new,
            Err(ErrorKind::Status(..=428 | 430..=499)) => &mut self.repeats_refused,
            Err(_) => &mut self.repeats_unanswered,
        } += 1;
    }
}

/// An event of which nobody knows whether it was stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Doubtful {
    pub(crate) id: Uuid,
    pub(crate) ride: Ride,
    pub(crate) vertical: u64,
}

/// Everything that one thread, or a run, has to remember. All but the events is filled only when the run is to
/// be verified.
#[derive(Debug, Default)]
pub(crate) struct Tally {
    pub(crate) events: Events,
    pub(crate) days: HashMap<Place, Sums>,
    /// Those whose outcome is unknown, as far as there are not too many.
    pub(crate) doubtful: Vec<Doubtful>,
}

impl Tally {
    /// Counts an event, and remembers what it is worth if that is known.
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
            if self.doubtful.len() < DOUBTFUL_MAX {
                self.doubtful.push(Doubtful { id, ride, vertical });
            }
        }
    }

    /// Takes an event out of doubt: it is stored, or never was and never will be.
    pub(crate) fn resolve(&mut self, event: &Doubtful, stored: bool) {
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

    /// For each resort, the least and the most skiers that may be found.
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
        let room = DOUBTFUL_MAX - self.doubtful.len();
        self.doubtful.extend(other.doubtful.into_iter().take(room));
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

    /// A ride that is worth ten times its lift's number.
    const fn ride(resort: u32, skier: u32, lift: u32) -> Ride {
        Ride { place: Place { resort, skier }, time: 1, lift }
    }

    #[test]
    fn doubt_widens_the_bounds_and_a_refusal_does_not() {
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
            let places = [(1, 1), (1, 2), (2, 9)].map(|(resort, skier)| Place { resort, skier });
            places.map(|place| of.days.get(&place).map(|day| day.bounds()))
        };
        assert_eq!(bounds(&one), [Some(30..=70), Some(0..=30), None]);
        let skiers = one.skiers(3);
        assert_eq!([skiers[&1], skiers[&2], skiers[&3]], [(1, 2), (0, 0), (0, 0)]);

        let [first, second] = one.doubtful[..] else { panic!("{:?}", one.doubtful) };
        one.resolve(&first, true);
        one.resolve(&second, false);
        assert_eq!(bounds(&one), [Some(30..=30), Some(30..=30), None]);
        assert_eq!(one.skiers(1)[&1], (2, 2));
        let Outcomes { acknowledged, refused, unknown } = one.events.outcomes;
        assert_eq!((acknowledged, refused, unknown), (3, 2, 0));
    }
}
