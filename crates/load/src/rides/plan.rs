//! What will be done: the part of the command line that all commands of rides share, checked.

use std::path::PathBuf;
use std::time::Duration;

use anyhow::Result;

use super::cli::RidesCommand;
use super::request::Requests;
use super::ride::Ranges;
use crate::batch::Sending;
use crate::crew::Seating;
use crate::http1::Keep;
use crate::plan::header_lines;
use crate::target::Target;

/// Connections of what is outside of the measurement.
const SIDE_CONNECTIONS: u32 = 64;

/// The whole of a `lodge load rides…`, but for what is its own.
#[derive(Debug)]
pub(crate) struct RidesPlan {
    pub(crate) command: &'static str,
    pub(crate) url: String,
    pub(crate) target: Target,
    pub(crate) requests: Requests,
    pub(crate) ranges: Ranges,
    pub(crate) workers: Option<u32>,
    pub(crate) timeout: Duration,
    pub(crate) seed: u64,
    pub(crate) verify: bool,
    pub(crate) json: Option<PathBuf>,
}

impl RidesPlan {
    /// Checks the command, resolves its URL and tries one connection.
    pub(crate) fn new(command: &RidesCommand) -> Result<Self> {
        let args = command.args();
        let target = Target::resolve(&args.url, args.timeout)?;
        let ranges = Ranges {
            resorts: args.resorts,
            skiers: args.skiers,
            lifts: args.lifts,
            times: args.times,
            season: args.season.clone(),
            day: args.day,
        };
        Ok(Self {
            command: command.name(),
            url: args.url.clone(),
            requests: Requests::new(&target, &header_lines(&args.headers)?, &ranges),
            target,
            ranges,
            workers: args.workers,
            timeout: args.timeout,
            seed: args.seed,
            verify: command.verify(),
            json: args.json.clone(),
        })
    }

    /// How what is measured is sent.
    pub(crate) fn seating(&self) -> Seating {
        Seating {
            addresses: vec![self.target.address],
            workers: self.workers,
            timeout: self.timeout,
            seed: self.seed,
        }
    }

    /// How what is outside of the measurement is sent.
    pub(crate) fn sending(&self) -> Sending {
        Sending {
            address: self.target.address,
            connections: SIDE_CONNECTIONS,
            keep: true,
            kept: Keep::Body,
            timeout: self.timeout,
        }
    }
}
