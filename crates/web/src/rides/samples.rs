//! Test data.

use lodge_domain::rides::{Ranges, Resort, ResortCatalog, ResortId};

/// Ten resorts of forty lifts.
pub(super) fn catalog() -> ResortCatalog {
    let resort = |number: u16| {
        (ResortId(number), Resort::with_numbered_lifts(format!("Resort {number}"), 1..=40))
    };
    let ranges =
        Ranges { seasons: 1..=9999, days: 1..=366, minutes: 1..=1440, skiers: 1..=100_000 };
    ResortCatalog::new((1..=10).map(resort).collect(), ranges)
}
