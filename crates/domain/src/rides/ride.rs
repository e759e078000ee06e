//! A ride and the numbers that identify its place, time and skier. Only a [`super::ResortCatalog`] turns the numbers of
//! a request into these, because it knows which are valid.

use serde::{Deserialize, Serialize};

macro_rules! number {
    ($($(#[$doc:meta])* $name:ident($inner:ty);)*) => {$(
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
        #[serde(transparent)]
        pub struct $name(pub $inner);

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                self.0.fmt(f)
            }
        }
    )*};
}

number! {
    /// A resort's number.
    ResortId(u16);
    /// A season, by its year.
    Season(u16);
    /// A day of a season, 1 or more.
    Day(u16);
    /// A skier's number, as printed on the pass.
    SkierId(u32);
    /// A minute of a day; 1 is the first.
    Minute(u16);
    /// An hour of a day, 0 to 23.
    Hour(u16);
    /// A lift's number at its resort.
    LiftId(u16);
}

impl Minute {
    /// Returns the hour of this minute.
    pub fn hour(self) -> Hour {
        Hour(self.0.saturating_sub(1) / 60)
    }
}

/// A day at a resort.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct ResortDay {
    /// The season.
    pub season: Season,
    /// The resort.
    pub resort: ResortId,
    /// The day.
    pub day: Day,
}

/// A day at a resort, or a whole season there.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Span {
    /// The season.
    pub season: Season,
    /// The resort.
    pub resort: ResortId,
    /// The day; `None` for the whole season.
    pub day: Option<Day>,
}

impl From<ResortDay> for Span {
    fn from(ResortDay { season, resort, day }: ResortDay) -> Self {
        Self { season, resort, day: Some(day) }
    }
}

/// One ride of a skier on a lift. It never changes; a wrong ride is voided.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Ride {
    /// The resort and the day.
    pub on: ResortDay,
    /// The skier.
    pub skier: SkierId,
    /// The minute of the day.
    pub minute: Minute,
    /// The lift.
    pub lift: LiftId,
    /// The vertical, from the resort's table when the ride arrived, in the table's unit.
    pub vertical: u32,
}

impl Ride {
    /// Whether both rides are equal in the fields that a sender states, all but the vertical.
    pub fn has_same_content(&self, other: &Self) -> bool {
        Self { vertical: 0, ..*self } == Self { vertical: 0, ..*other }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn minutes_1_to_60_are_the_first_hour() {
        let hours = [1, 60, 61, 1440].map(|minute| Minute(minute).hour().0);
        assert_eq!(hours, [0, 0, 1, 23]);
    }
}
