//! Accounts: reads with a token, sign-ins, and what a sign-in tells by its time.

pub(super) mod reads;
mod seeded;
mod setup;
mod sign_ins;
mod timing;

use anyhow::{Context, Result, ensure};

pub(crate) use self::setup::AccountsOptions;
use self::setup::{settings, start};
use super::servers;
use crate::system::{self, FOR_BENCHES};

type Part = fn(&AccountsOptions) -> Result<()>;

/// Runs every part, or the one that is asked for.
pub(crate) fn run(options: &AccountsOptions) -> Result<()> {
    system::provide(FOR_BENCHES)?;
    servers::build_lodge()?;
    let options = options.settled();
    let parts: [(&str, Part); 7] = [
        ("size", seeded::size),
        ("reads", reads::open_loop),
        ("saturation", reads::saturation),
        ("busy", reads::busy),
        ("sign-ins", sign_ins::per_cpu_second),
        ("lookups", timing::lookups),
        ("timing", timing::kinds),
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
