//! `lodge admin hook`.

use anyhow::Result;
use clap::Subcommand;
use lodge_domain::{
    board::{Hook, HookId, HookStanding, HookUrl, Slug},
    secret::SecretText,
};

use crate::{
    admin::{Administrator, Command, HookCommand},
    commands::out::outln,
};

#[derive(Debug, Subcommand)]
pub(super) enum HookOptions {
    /// Add a webhook, which receives a channel's events from now on, and print the secret that signs its
    /// deliveries. The secret is shown only once.
    Add {
        /// The channel.
        channel: String,
        /// The URL to deliver to: https or http.
        url: String,
    },
    /// List the webhooks.
    ///
    /// One line per webhook, separated by tabs: number, channel, URL, cursor of the last delivered event, state.
    List,
    /// Remove a webhook.
    Remove {
        /// The number of the webhook.
        id: i64,
    },
}

pub(super) fn carry_out(administrator: &mut Administrator, command: HookOptions) -> Result<()> {
    match command {
        HookOptions::Add { channel, url } => {
            let (channel, url) = (Slug::parse(&channel)?, HookUrl::parse(&url)?);
            let (_, secret): (Hook, SecretText) =
                administrator.request(Command::Hook(HookCommand::Add { channel, url }))?;
            outln!("{}", secret.reveal());
        }
        HookOptions::List => {
            let hooks: Vec<Hook> = administrator.request(Command::Hook(HookCommand::List))?;
            for hook in hooks {
                let Hook { id: HookId(id), channel, url, cursor, standing, .. } = hook;
                outln!("{id}\t{channel}\t{url}\t{cursor}\t{}", describe_standing(&standing));
            }
        }
        HookOptions::Remove { id } => {
            let () =
                administrator.request(Command::Hook(HookCommand::Remove { id: HookId(id) }))?;
            outln!("webhook {id} is removed");
        }
    }
    Ok(())
}

fn describe_standing(standing: &HookStanding) -> String {
    match standing {
        HookStanding::Well => "ok".to_owned(),
        HookStanding::Failing { failures, since, next_try, why } => {
            format!("failing since {since}, {failures} failures, next retry {next_try}: {why}")
        }
        HookStanding::Disabled { at, why } => format!("disabled {at}: {why}"),
    }
}
