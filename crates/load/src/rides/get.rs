//! Reads recorded rides.

use std::cell::RefCell;
use std::sync::Arc;
use std::time::Instant;

use rand::RngExt;

use super::plan::RidesPlan;
use crate::engine::outcome::ErrorKind;
use crate::engine::run::{Connection, Iteration, Work};

/// The kinds of reads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ReadKind {
    /// The number of skiers in a resort on the day.
    DaySkiers,
    /// The vertical of a skier's day.
    SkierDay,
    /// The vertical of a skier's season.
    SkierVertical,
}

impl ReadKind {
    pub(crate) const ALL: [Self; 3] = [Self::DaySkiers, Self::SkierDay, Self::SkierVertical];

    /// Returns the name in reports.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::DaySkiers => "day skiers",
            Self::SkierDay => "skier's day",
            Self::SkierVertical => "skier vertical",
        }
    }
}

/// Makes one read of these kinds each iteration, at random.
#[derive(Debug)]
pub(crate) struct Questions {
    pub(crate) plan: Arc<RidesPlan>,
    pub(crate) asked: Vec<ReadKind>,
}

impl Questions {
    fn draw(&self, seat: &mut Connection<()>) -> usize {
        seat.rng.random_range(0..self.asked.len())
    }
}

impl Work for Questions {
    type State = ();
    /// 404 responses: the skier has no rides.
    type Output = u64;

    fn parts(&self) -> usize {
        self.asked.len()
    }

    async fn iterate(&self, seat: &mut Connection<()>, hand: &RefCell<u64>) -> Iteration {
        let part = self.draw(seat);
        let place = self.plan.args.ranges.draw_place(&mut seat.rng);
        let requests = &self.plan.requests;
        let path = match self.asked[part] {
            ReadKind::DaySkiers => requests.day_path(place.resort),
            ReadKind::SkierDay => requests.skier_day_path(place).to_string(),
            ReadKind::SkierVertical => requests.skier_path(place),
        };
        requests.target.get(path, "", &mut seat.wire.request);
        let asked = seat.wire.send(Instant::now()).await;
        let result = match asked.expect(200) {
            Err(ErrorKind::Status(404)) if self.asked[part] != ReadKind::DaySkiers => {
                *hand.borrow_mut() += 1;
                Ok(())
            }
            other => other,
        };
        Iteration::ended(part, seat, result, asked.detail)
    }

    fn missed(&self, seat: &mut Connection<()>, _hand: &RefCell<u64>) -> usize {
        self.draw(seat)
    }
}
