//! `lodge admin gate`, `lodge admin ride`, `lodge admin pass` and `lodge admin rebuild`.

use std::{collections::HashMap, io::Write, process::ExitCode};

use anyhow::{Result, bail};
use clap::{Args, Subcommand};
use lodge_domain::{
    rides::{Day, Gate, GateId, Rebuilt, ResortDay, ResortId, Ride, Season, SkierId, StoredRide},
    secret::SecretText,
};

use crate::{
    admin::{
        Administrator, Command, CommandOutcome, EVENTS_MAX, RidesCommand, UNEXPECTED_RESPONSE,
    },
    commands::out::{Out, outln},
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
    /// One line per event, separated by tabs: id; gate, or - if sent without a key; skier; minute; lift;
    /// vertical; time of arrival; for a void, the id of the voided ride.
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
        CommandOutcome::Gates(gates) => gates.iter().for_each(print),
        CommandOutcome::GateRevoked(gate) => outln!("{} is revoked", gate.name),
        _ => bail!(UNEXPECTED_RESPONSE),
    }
    Ok(())
}

fn print(gate: &Gate) {
    let Gate { id, name, resort, created_at, revoked_at } = gate;
    let resort =
        resort.map_or_else(|| "all resorts".to_owned(), |resort| format!("resort {}", resort.0));
    let state = revoked_at.map_or_else(|| "live".to_owned(), |at| format!("revoked {at}"));
    outln!("{}\t{name}\t{resort}\t{created_at}\t{state}", id.0);
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
    let (mut after, mut out) = (None, Out::lock());
    loop {
        let command = Command::Rides(RidesCommand::FindEvents { on, skier, after });
        let events: Vec<StoredRide> = administrator.request(command)?;
        for StoredRide { gate, id, ride, voids, at, .. } in &events {
            let gate = names.get(gate).map_or("-", String::as_str);
            let Ride { skier, minute, lift, vertical, .. } = ride;
            write!(out, "{id}\t{gate}\t{skier}\t{minute}\t{lift}\t{vertical}\t{at}")?;
            match voids {
                Some(ride) => writeln!(out, "\tvoids {ride}")?,
                None => writeln!(out)?,
            }
        }
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
