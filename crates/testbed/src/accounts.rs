//! Lodge's accounts processes.

use std::{path::Path, process::Command};

use crate::{layout::Layout, member::Member};

/// Returns the command that starts an accounts process.
pub(crate) fn server(layout: &Layout, member: Member, lodge: &Path) -> Command {
    let mut command = Command::new(lodge);
    command.arg("serve");
    command.arg("--ops-listen").arg(layout.ops(member).to_string());
    command.arg("--data").arg(layout.folder(member));
    command.env("LODGE_ACCOUNTS_LISTEN", layout.address(member).to_string());
    command.envs(layout.accounts_tier_settings());
    command
}
