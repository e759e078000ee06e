//! Lift rides: recorded one by one and many at a time, and asked for.

mod growth;
mod overload;
mod reads;
mod writes;

use anyhow::Result;
use clap::Args;

use super::{
    Options,
    lodge::{self, Lodge, Scratch},
};

#[derive(Args)]
#[command(mut_arg("seconds", |seconds| seconds.default_value("10")))]
pub(crate) struct RidesOptions {
    #[command(flatten)]
    common: Options,
    /// Rides stored where the mountain is said to be full.
    #[arg(long, default_value_t = 10_000_000)]
    rides: u64,
}

impl RidesOptions {
    /// So many rides, or a few in a quick run.
    fn events(&self, events: u64) -> u64 {
        self.common.or_quick(events, events / 20)
    }
}

/// Runs the parts.
pub(crate) fn run(mut options: RidesOptions) -> Result<()> {
    lodge::build()?;
    if options.common.settle() {
        options.rides = 200_000;
    }
    let options = &options;
    options.common.run(&[
        ("single", &|| writes::single(options)),
        ("batches", &|| writes::batches(options)),
        ("open-loop", &|| writes::open_loop(options)),
        ("reads", &|| reads::alone(options)),
        ("busy-reads", &|| reads::beside_posting(options)),
        ("growth", &|| growth::grown(options)),
        ("overload", &|| overload::overload(options)),
    ])
}

/// Rides alone, on a folder of the scratch.
fn with_rides(scratch: &Scratch) -> Lodge {
    Lodge::new(scratch).with("LODGE_APPS", "rides")
}
