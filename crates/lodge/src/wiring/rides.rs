//! The mountain that the configuration describes.

use std::collections::BTreeMap;

use lodge_domain::rides::{Lift, LiftId, Mountain, Ranges, Resort, ResortId};

use crate::config::{LiftConfig, ResortConfig, RidesConfig};

/// The mountain.
pub(super) fn mountain(config: &RidesConfig) -> Mountain {
    let [first, last] = config.seasons;
    let ranges = Ranges {
        seasons: first..=last,
        days: 1..=config.days_max,
        minutes: 1..=config.minutes_max,
        skiers: 1..=config.skiers_max,
    };
    let resorts = config.resorts.iter();
    let resorts = resorts.map(|resort| (ResortId(resort.id), built(resort, config.lifts_max)));
    Mountain::new(resorts.collect(), ranges)
}

fn built(resort: &ResortConfig, lifts_max: u16) -> Resort {
    let name = resort.name.clone();
    if resort.lifts.is_empty() {
        return Resort::with_numbered_lifts(name, 1..=lifts_max);
    }
    let lift = |lift: &LiftConfig| {
        (LiftId(lift.id), Lift { name: lift.name.clone(), vertical: lift.vertical })
    };
    let lifts: BTreeMap<_, _> = resort.lifts.iter().map(lift).collect();
    Resort { name, lifts }
}
