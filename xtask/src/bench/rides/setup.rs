//! What every part needs: its options, and a Lodge with rides.

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
    /// Rides stored where the mountain is said to be full.
    #[arg(long, default_value_t = 10_000_000)]
    pub(super) rides: u64,
}

impl RidesOptions {
    /// Makes the mountain small if the runs are to be quick.
    pub(super) fn settle(&mut self) {
        if self.common.settle() {
            self.rides = 200_000;
        }
    }

    /// So many rides, or a few in a quick run.
    pub(super) fn events(&self, events: u64) -> u64 {
        self.common.or_quick(events, events / 20)
    }
}

/// Rides alone, on a folder of the scratch.
pub(super) fn with_rides(scratch: &Scratch) -> Lodge {
    Lodge::new(scratch).with("LODGE_APPS", "rides")
}
