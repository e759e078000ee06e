//! A ride, and the numbers that say where, when and whose it was. Which of them there are is for a
//! [`super::Mountain`] to say: it alone makes them of what a caller wrote.

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
    /// A skier's number, as on the pass.
    SkierId(u32);
    /// A minute of a day; 1 is the first.
    Minute(u16);
    /// An hour of a day, 0 to 23.
    Hour(u16);
    /// A lift's number at its resort.
    LiftId(u16);
}

impl Minute {
    /// The hour that it is in.
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
    /// The day; `None` for all of them.
    pub day: Option<Day>,
}

impl From<ResortDay> for Span {
    fn from(ResortDay { season, resort, day }: ResortDay) -> Self {
        Self { season, resort, day: Some(day) }
    }
}

/// Somebody was carried up once. It never changes; what was wrong is voided.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Ride {
    /// Where and on which day.
    pub on: ResortDay,
    /// Who.
    pub skier: SkierId,
    /// In which minute.
    pub minute: Minute,
    /// By which lift.
    pub lift: LiftId,
    /// How far up, in the unit of the resort's table, as that said when the ride came in.
    pub vertical: u32,
}

impl Ride {
    /// Whether a caller who said both said the same: the vertical is not theirs to say.
    pub fn says_the_same_as(&self, other: &Self) -> bool {
        Self { vertical: 0, ..*self } == Self { vertical: 0, ..*other }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sixty_minutes_are_an_hour_from_the_first_on() {
        let hours = [1, 60, 61, 1440].map(|minute| Minute(minute).hour().0);
        assert_eq!(hours, [0, 0, 1, 23]);
    }
}
