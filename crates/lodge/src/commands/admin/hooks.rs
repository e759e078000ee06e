//! `lodge admin hook`.

use anyhow::Result;
use clap::Subcommand;
use lodge_domain::{
    board::{Hook, HookId, HookStanding, HookUrl, Slug},
    secret::Hidden,
};

use crate::{
    admin::{Administrator, Command, HookCommand},
    commands::out::say,
};

#[derive(Debug, Subcommand)]
pub(super) enum HookOptions {
    /// Have a URL told what happens in a channel from now on, and print the secret that deliveries are signed
    /// with, the only time that it can be had.
    Add {
        /// The channel.
        channel: String,
        /// Where to: https or http.
        url: String,
    },
    /// List the hooks.
    ///
    /// Of each, separated by tabs: its number, channel and URL, what its receiver has taken, and how it goes.
    List,
    /// Tell somebody nothing any more.
    Remove {
        /// The hook's number.
        id: i64,
    },
}

pub(super) fn carry_out(administrator: &mut Administrator, command: HookOptions) -> Result<()> {
    match command {
        HookOptions::Add { channel, url } => {
            let (channel, url) = (Slug::parse(&channel)?, HookUrl::parse(&url)?);
            let (_, secret): (Hook, Hidden) =
                administrator.ask(Command::Hook(HookCommand::Add { channel, url }))?;
            say!("{}", secret.reveal());
        }
        HookOptions::List => {
            let hooks: Vec<Hook> = administrator.ask(Command::Hook(HookCommand::List))?;
            for hook in hooks {
                let Hook { id: HookId(id), channel, url, cursor, standing, .. } = hook;
                say!("{id}\t{channel}\t{url}\t{cursor}\t{}", told(&standing));
            }
        }
        HookOptions::Remove { id } => {
            let () = administrator.ask(Command::Hook(HookCommand::Remove { id: HookId(id) }))?;
            say!("hook {id} is told nothing any more");
        }
    }
    Ok(())
}

fn told(standing: &HookStanding) -> String {
    match standing {
        HookStanding::Well => "well".to_owned(),
        HookStanding::Failing { failures, since, next_try, why } => {
            format!("failing since {since}, {failures} times, next try {next_try}: {why}")
        }
        HookStanding::Disabled { at, why } => format!("disabled {at}: {why}"),
    }
}
