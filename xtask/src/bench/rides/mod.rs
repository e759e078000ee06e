//! Lift rides: recorded one by one and many at a time, and asked for.

mod growth;
mod overload;
mod reads;
mod setup;
mod writes;

use anyhow::{Context, Result, ensure};

pub(crate) use self::setup::RidesOptions;
use self::setup::{load_for, start, start_with};
use super::{links::load_to_its_end, servers};

type Part = fn(&RidesOptions) -> Result<()>;

/// Runs every part, or the one that is asked for.
pub(crate) fn run(options: &RidesOptions) -> Result<()> {
    servers::build_lodge()?;
    let options = options.settled();
    let parts: [(&str, Part); 7] = [
        ("single", writes::single),
        ("batches", writes::batches),
        ("open-loop", writes::open_loop),
        ("reads", reads::alone),
        ("busy-reads", reads::beside_posting),
        ("growth", growth::grown),
        ("overload", overload::overload),
    ];
    let mut not_kept = Vec::new();
    for (name, part) in parts {
        if options.only.as_deref().is_none_or(|only| only == name)
            && let Err(error) = part(&options).with_context(|| format!("the part {name}"))
        {
            eprintln!("{error:?}");
            not_kept.push(name);
        }
    }
    ensure!(not_kept.is_empty(), "not kept: {}", not_kept.join(", "));
    Ok(())
}
