//! Accounts: reads with a token, sign-ins, and information leaks by the timing of sign-ins.

pub(super) mod reads;
mod setup;
mod sign_ins;
mod timing;

use anyhow::Result;

pub(crate) use self::setup::AccountsOptions;
use self::setup::{start, with_seeded};
use super::lodge;
use crate::system::{self, FOR_BENCHES};

/// Runs the parts.
pub(crate) fn run(mut options: AccountsOptions) -> Result<()> {
    system::provide(FOR_BENCHES)?;
    lodge::build()?;
    options.settle();
    let options = &options;
    options.common.run(&[
        ("size", &|| setup::size(options)),
        ("reads", &|| reads::open_loop(options)),
        ("saturation", &|| reads::saturation(options)),
        ("busy", &|| reads::busy(options)),
        ("sign-ins", &|| sign_ins::per_cpu_second(options)),
        ("lookups", &|| timing::lookups(options)),
        ("timing", &|| timing::kinds(options)),
    ])
}
