//! Accounts: reads with a token, sign-ins, and information leaks by the timing of sign-ins.

pub(super) mod reads;
mod setup;
mod sign_ins;
mod timing;

use anyhow::Result;

pub(crate) use self::setup::AccountsOptions;
use self::setup::Measured;
use super::lodge;
use crate::system::{self, FOR_BENCHES};

/// Runs the parts.
pub(crate) fn run(mut options: AccountsOptions) -> Result<()> {
    system::provide(FOR_BENCHES)?;
    lodge::build()?;
    options.settle();
    let all = Measured::open(&options)?;
    let measured = &all;
    let done = options.common.run(&[
        ("size", &|| measured.size()),
        ("reads", &|| reads::open_loop(measured)),
        ("saturation", &|| reads::saturation(measured)),
        ("busy", &|| reads::busy(measured)),
        ("sign-ins", &|| sign_ins::per_cpu_second(measured)),
        ("lookups", &|| timing::lookups(measured)),
        ("timing", &|| timing::kinds(measured)),
    ]);
    done.and(all.close())
}
