//! `lodge admin gate`, `lodge admin ride`, `lodge admin pass` and `lodge admin rebuild`.

use std::{collections::HashMap, io::Write, process::ExitCode};

use anyhow::{Result, bail};
use clap::{Args, Subcommand};
use lodge_domain::{
    rides::{Day, Gate, GateId, Rebuilt, ResortDay, ResortId, Ride, Season, SkierId, StoredRide},
    secret::SecretText,
};

use super::key_state;
use crate::{
    admin::{
        Administrator, Command, CommandOutcome, EVENTS_MAX, RidesCommand, UNEXPECTED_RESPONSE,
    },
    commands::{
        out::{Out, outln},
        table::Table,
    },
};

#[derive(Debug, Subcommand)]
pub(super) enum GateCommand {
    /// Create a gate and print its key. The key is shown only once.
    Create {
        /// The name of the gate.
        name: String,
        /// The only resort that the gate may send rides for. [default: all]
        #[arg(long, value_name = "NUMBER")]
        resort: Option<u64>,
    },
    /// List the gates.
    List,
    /// Revoke a gate's key immediately. Its rides stay.
    Revoke {
        /// The name of the gate.
        name: String,
    },
    /// Print a new key for a gate, even if it was revoked. The old key ends immediately; the gate keeps its
    /// rides.
    Renew {
        /// The name of the gate.
        name: String,
    },
}

#[derive(Debug, Subcommand)]
pub(super) enum RideCommand {
    /// List the ride events of a day in order of arrival, with the ids that `void` needs.
    ///
    /// GATE is - for an event that was sent without a key. VOIDS is the id of the ride that an event voids.
    Find(FindOptions),
    /// Void a wrong ride on behalf of the gate that sent it. Totals change immediately.
    ///
    /// Exits with 1 if there is no such ride, or if it is void already.
    Void {
        /// The event id of the ride.
        event: String,
        /// The gate that sent the ride. [default: sent without a key]
        #[arg(long, value_name = "NAME")]
        gate: Option<String>,
    },
}

/// `lodge admin ride find`.
#[derive(Debug, Args)]
pub(super) struct FindOptions {
    /// The season.
    #[arg(long, value_name = "YEAR")]
    season: u16,
    /// The resort.
    #[arg(long, value_name = "NUMBER")]
    resort: u16,
    /// The day of the season.
    #[arg(long, value_name = "NUMBER")]
    day: u16,
    /// The skier. [default: all]
    #[arg(long, value_name = "NUMBER")]
    skier: Option<u32>,
}

/// `lodge admin pass`.
#[derive(Debug, Args)]
pub(super) struct PassOptions {
    /// The skier, or the first skier of a range.
    skier: u64,
    /// The last skier of a range. [default: only one skier]
    #[arg(long, value_name = "LAST")]
    to: Option<u64>,
    /// Issue new codes; the old ones become invalid. A claimed pass stays with its account until it is claimed
    /// again.
    #[arg(long)]
    renew: bool,
}

#[derive(Debug, Subcommand)]
pub(super) enum RebuildCommand {
    /// Recompute all ride totals from the rides, and report which were wrong. The server may keep running.
    ///
    /// Exits with 0 if all totals were correct, 3 if any was corrected, 1 if the rebuild failed.
    Rides,
}

/// The exit code of [`rebuild`] when totals were wrong and have been corrected.
const CORRECTED_EXIT_CODE: u8 = 3;

pub(super) fn rebuild(
    administrator: &mut Administrator,
    command: &RebuildCommand,
) -> Result<ExitCode> {
    let RebuildCommand::Rides = command;
    let Rebuilt { events, differences } =
        administrator.request(Command::Rides(RidesCommand::Rebuild))?;
    outln!("{events} rides and voids read");
    if differences.is_empty() {
        outln!("all totals are correct");
        return Ok(ExitCode::SUCCESS);
    }
    for (what, rows) in differences {
        outln!("{what}: {rows} wrong, corrected");
    }
    Ok(ExitCode::from(CORRECTED_EXIT_CODE))
}

pub(super) fn gate(administrator: &mut Administrator, command: GateCommand) -> Result<()> {
    let command = match command {
        GateCommand::Create { name, resort } => RidesCommand::CreateGate { name, resort },
        GateCommand::List => RidesCommand::ListGates,
        GateCommand::Revoke { name } => RidesCommand::RevokeGate { name },
        GateCommand::Renew { name } => RidesCommand::RenewGate { name },
    };
    match administrator.execute(Command::Rides(command))? {
        CommandOutcome::GateCreated { token, .. } => outln!("{}", token.reveal()),
        CommandOutcome::Gates(gates) => list(gates),
        CommandOutcome::GateRevoked(gate) => outln!("{} is revoked", gate.name),
        _ => bail!(UNEXPECTED_RESPONSE),
    }
    Ok(())
}

fn list(gates: Vec<Gate>) {
    let mut table = Table::new(["NUMBER", "NAME", "RESORT", "CREATED", "STATE"]);
    for Gate { id, name, resort, created_at, revoked_at } in gates {
        let resort = resort.map_or_else(|| "all".to_owned(), |resort| resort.0.to_string());
        let (id, created_at) = (id.0.to_string(), created_at.to_string());
        table.add([id, name, resort, created_at, key_state(revoked_at)]);
    }
    table.print();
}

pub(super) fn ride(administrator: &mut Administrator, command: RideCommand) -> Result<()> {
    let (event, gate) = match command {
        RideCommand::Find(options) => return find(administrator, &options),
        RideCommand::Void { event, gate } => (event.parse()?, gate),
    };
    let command = Command::Rides(RidesCommand::VoidRide { event, gate });
    let Ride { on, skier, minute, lift, vertical } = administrator.request(command)?;
    let ResortDay { season, resort, day } = on;
    outln!(
        "voided the ride of skier {skier} at resort {resort}, season {season}, day {day}, minute {minute}, \
         lift {lift}, vertical {vertical}"
    );
    Ok(())
}

fn find(administrator: &mut Administrator, options: &FindOptions) -> Result<()> {
    let gates: Vec<Gate> = administrator.request(Command::Rides(RidesCommand::ListGates))?;
    let names: HashMap<GateId, String> =
        gates.into_iter().map(|gate| (gate.id, gate.name)).collect();
    let (season, resort) = (Season(options.season), ResortId(options.resort));
    let on = ResortDay { season, resort, day: Day(options.day) };
    let skier = options.skier.map(SkierId);
    let titles = ["ID", "GATE", "SKIER", "MINUTE", "LIFT", "VERTICAL", "RECEIVED", "VOIDS"];
    let (mut after, mut table) = (None, Table::new(titles));
    loop {
        let command = Command::Rides(RidesCommand::FindEvents { on, skier, after });
        let events: Vec<StoredRide> = administrator.request(command)?;
        for StoredRide { gate, id, ride, voids, at, .. } in &events {
            let Ride { skier, minute, lift, vertical, .. } = ride;
            table.add([
                id.to_string(),
                names.get(gate).cloned().unwrap_or_default(),
                skier.to_string(),
                minute.to_string(),
                lift.to_string(),
                vertical.to_string(),
                at.to_string(),
                voids.as_ref().map(ToString::to_string).unwrap_or_default(),
            ]);
        }
        table.print();
        match events.last() {
            Some(last) if events.len() == EVENTS_MAX => after = Some(last.place),
            _ => return Ok(()),
        }
    }
}

pub(super) fn pass(administrator: &mut Administrator, options: &PassOptions) -> Result<()> {
    let last = options.to.unwrap_or(options.skier);
    if last < options.skier {
        bail!("--to must be at least {}, not {last}", options.skier);
    }
    let (mut first, mut out) = (options.skier, Out::lock());
    while first <= last {
        let command = if options.renew {
            RidesCommand::RenewPasses { first, last }
        } else {
            RidesCommand::PassCodes { first, last }
        };
        let codes: Vec<(SkierId, SecretText)> = administrator.request(Command::Rides(command))?;
        let Some((SkierId(told), _)) = codes.last() else { bail!(UNEXPECTED_RESPONSE) };
        first = u64::from(*told) + 1;
        for (SkierId(skier), code) in &codes {
            writeln!(out, "{skier},{}", code.reveal())?;
        }
    }
    Ok(())
}
