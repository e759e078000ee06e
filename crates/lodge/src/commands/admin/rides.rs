//! `lodge admin gate`, `lodge admin ride`, `lodge admin pass` and `lodge admin rebuild`.

use std::{collections::HashMap, io::Write, process::ExitCode};

use anyhow::{Result, bail};
use clap::{Args, Subcommand};
use lodge_domain::{
    rides::{Day, Gate, GateId, Rebuilt, ResortDay, ResortId, Ride, Season, SkierId, StoredRide},
    secret::Hidden,
};

use crate::{
    admin::{Administrator, Command, EVENTS_MAX, OTHER_ANSWER, Outcome, RidesCommand},
    commands::out::{Out, say},
};

#[derive(Debug, Subcommand)]
pub(super) enum GateCommand {
    /// Make a gate and print its key, the only time that it can be had.
    Create {
        /// What to call it.
        name: String,
        /// The number of the only resort whose rides it may send. [default: all]
        #[arg(long, value_name = "NUMBER")]
        resort: Option<u64>,
    },
    /// List the gates.
    List,
    /// End a gate's key at once. Its rides stay.
    Revoke {
        /// What it is called.
        name: String,
    },
    /// Print another key for a gate, also for one that was revoked. The older key ends at once; the gate's
    /// rides stay its own.
    Renew {
        /// What it is called.
        name: String,
    },
}

#[derive(Debug, Subcommand)]
pub(super) enum RideCommand {
    /// List a day's events, with the ids by which they can be taken back, in the order in which they came.
    ///
    /// Of each, separated by tabs: its id; its gate, or - for whoever has no key; skier, minute, lift and
    /// vertical; when it came in; and, of a void, the id of the ride that it took back.
    Find(FindOptions),
    /// Take back a ride, as the gate that sent it could. Sums follow at once.
    ///
    /// Exits with 1 if there is no such ride, or it is void already.
    Void {
        /// What the ride's event is called.
        event: String,
        /// The gate that sent it. [default: whoever has no key]
        #[arg(long, value_name = "NAME")]
        gate: Option<String>,
    },
}

/// Which day, and whose.
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
    /// The skier's number.
    skier: u64,
    /// The last one, to print those between as well.
    #[arg(long, value_name = "LAST")]
    to: Option<u64>,
    /// Print new codes, and make the older ones void. Whose a pass is, it stays until it is claimed anew.
    #[arg(long)]
    renew: bool,
}

#[derive(Debug, Subcommand)]
pub(super) enum RebuildCommand {
    /// Make all sums of rides anew of the rides, and say which were wrong. Rides are taken in meanwhile.
    ///
    /// Exits with 0 if none was wrong, with 3 if any was, and with 1 if it could not be done to the end.
    Rides,
}

/// What [`rebuild`] exits with when something was wrong, and is put right.
const DIFFERED: u8 = 3;

pub(super) fn rebuild(
    administrator: &mut Administrator,
    command: &RebuildCommand,
) -> Result<ExitCode> {
    let RebuildCommand::Rides = command;
    let Rebuilt { events, differences } =
        administrator.ask(Command::Rides(RidesCommand::Rebuild))?;
    say!("{events} rides and voids were read");
    if differences.is_empty() {
        say!("nothing differed");
        return Ok(ExitCode::SUCCESS);
    }
    for (what, rows) in differences {
        say!("{what}: {rows} were wrong, and are put right");
    }
    Ok(ExitCode::from(DIFFERED))
}

pub(super) fn gate(administrator: &mut Administrator, command: GateCommand) -> Result<()> {
    let command = match command {
        GateCommand::Create { name, resort } => RidesCommand::CreateGate { name, resort },
        GateCommand::List => RidesCommand::ListGates,
        GateCommand::Revoke { name } => RidesCommand::RevokeGate { name },
        GateCommand::Renew { name } => RidesCommand::RenewGate { name },
    };
    match administrator.carry_out(Command::Rides(command))? {
        Outcome::GateCreated { token, .. } => say!("{}", token.reveal()),
        Outcome::Gates(gates) => gates.iter().for_each(print),
        Outcome::GateRevoked(gate) => say!("{} sends nothing any more", gate.name),
        _ => bail!(OTHER_ANSWER),
    }
    Ok(())
}

fn print(gate: &Gate) {
    let Gate { id, name, resort, created_at, revoked_at } = gate;
    let resort =
        resort.map_or_else(|| "all resorts".to_owned(), |resort| format!("resort {}", resort.0));
    let state = revoked_at.map_or_else(|| "live".to_owned(), |at| format!("revoked {at}"));
    say!("{}\t{name}\t{resort}\t{created_at}\t{state}", id.0);
}

pub(super) fn ride(administrator: &mut Administrator, command: RideCommand) -> Result<()> {
    let (event, gate) = match command {
        RideCommand::Find(options) => return find(administrator, &options),
        RideCommand::Void { event, gate } => (event.parse()?, gate),
    };
    let command = Command::Rides(RidesCommand::VoidRide { event, gate });
    let Ride { on, skier, minute, lift, vertical } = administrator.ask(command)?;
    let ResortDay { season, resort, day } = on;
    say!(
        "took back the ride of skier {skier} at resort {resort} in season {season} on day {day}, minute {minute}, by lift {lift}, {vertical} up"
    );
    Ok(())
}

fn find(administrator: &mut Administrator, options: &FindOptions) -> Result<()> {
    let gates: Vec<Gate> = administrator.ask(Command::Rides(RidesCommand::ListGates))?;
    let names: HashMap<GateId, String> =
        gates.into_iter().map(|gate| (gate.id, gate.name)).collect();
    let (season, resort) = (Season(options.season), ResortId(options.resort));
    let on = ResortDay { season, resort, day: Day(options.day) };
    let skier = options.skier.map(SkierId);
    let (mut after, mut out) = (None, Out::lock());
    loop {
        let command = Command::Rides(RidesCommand::FindEvents { on, skier, after });
        let events: Vec<StoredRide> = administrator.ask(command)?;
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
        bail!("--to must be {} or more", options.skier);
    }
    let (mut first, mut out) = (options.skier, Out::lock());
    while first <= last {
        let command = if options.renew {
            RidesCommand::RenewPasses { first, last }
        } else {
            RidesCommand::PassCodes { first, last }
        };
        let codes: Vec<(SkierId, Hidden)> = administrator.ask(Command::Rides(command))?;
        let Some((SkierId(told), _)) = codes.last() else { bail!(OTHER_ANSWER) };
        first = u64::from(*told) + 1;
        for (SkierId(skier), code) in &codes {
            writeln!(out, "{skier},{}", code.reveal())?;
        }
    }
    Ok(())
}
