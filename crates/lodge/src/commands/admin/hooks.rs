//! `lodge admin hook`.

use anyhow::Result;
use clap::Subcommand;
use lodge_domain::{
    board::{DeliveryStatus, Hook, HookId, HookUrl, Slug},
    secret::SecretText,
};

use crate::{
    admin::{Administrator, Command, HookCommand},
    commands::{out::outln, table::Table},
};

#[derive(Debug, Subcommand)]
pub(super) enum HookOptions {
    /// Add a webhook, which receives a channel's events from now on, and print the secret that signs its
    /// deliveries. The secret is shown only once.
    Add {
        /// The channel.
        channel: String,
        /// The URL of the receiver: https, or http if `board.hooks_private` is true.
        url: String,
    },
    /// List the webhooks, each with the cursor of the last delivered event.
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
            let mut table = Table::new(["NUMBER", "CHANNEL", "URL", "CURSOR", "STATE"]);
            for hook in hooks {
                let Hook { id: HookId(id), channel, url, cursor, delivery, .. } = hook;
                let texts = [channel.to_string(), url.to_string(), cursor.to_string()];
                let [channel, url, cursor] = texts;
                table.add([id.to_string(), channel, url, cursor, describe_delivery(&delivery)]);
            }
            table.print();
        }
        HookOptions::Remove { id } => {
            let () =
                administrator.request(Command::Hook(HookCommand::Remove { id: HookId(id) }))?;
            outln!("webhook {id} is removed");
        }
    }
    Ok(())
}

fn describe_delivery(delivery: &DeliveryStatus) -> String {
    match delivery {
        DeliveryStatus::Healthy => "ok".to_owned(),
        DeliveryStatus::Failing { failures, since, next_try, why } => {
            format!("failing since {since}, failures: {failures}, next retry {next_try}: {why}")
        }
        DeliveryStatus::Disabled { at, why } => format!("disabled {at}: {why}"),
    }
}
