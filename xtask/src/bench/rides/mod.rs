//! Lift rides: recorded one by one and in batches, and read.

mod growth;
mod overload;
mod reads;
mod setup;
mod writes;

use anyhow::Result;

pub(crate) use self::setup::RidesOptions;
use self::setup::with_rides;
use super::lodge;

/// Runs the parts.
pub(crate) fn run(mut options: RidesOptions) -> Result<()> {
    lodge::build()?;
    options.settle();
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
