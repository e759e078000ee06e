//! Options and server of all parts.

use clap::Args;

use super::super::{
    lodge::{Lodge, Scratch},
    options::Options,
};

#[derive(Args)]
#[command(mut_arg("seconds", |seconds| seconds.default_value("10")))]
pub(crate) struct RidesOptions {
    #[command(flatten)]
    pub(super) common: Options,
    /// Rides of the large data set.
    #[arg(long, default_value_t = 10_000_000)]
    pub(super) rides: u64,
}

impl RidesOptions {
    /// Makes the data set small for quick runs.
    pub(super) fn settle(&mut self) {
        if self.common.settle() {
            self.rides = 200_000;
        }
    }

    /// Returns `events`, or fewer in a quick run.
    pub(super) fn events(&self, events: u64) -> u64 {
        self.common.or_quick(events, events / 20)
    }
}

/// A Lodge with rides alone.
pub(super) fn with_rides(scratch: &Scratch) -> Lodge {
    Lodge::new(scratch).with("LODGE_APPS", "rides")
}
