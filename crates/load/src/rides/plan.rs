//! What will be done: the part of the command line that all commands of rides share, checked.

use anyhow::Result;

use super::cli::{RidesArgs, RidesCommand};
use super::request::Requests;
use super::ride::Verticals;
use crate::engine::client::Client;
use crate::engine::pace::Flow;
use crate::engine::run::Engine;
use crate::http::http1::Keep;
use crate::http::target::Target;

/// Connections of what is outside of the measurement.
const SIDE_CONNECTIONS: u32 = 64;

/// The whole of a `lodge load rides…`, but for what is its own.
#[derive(Debug)]
pub(crate) struct RidesPlan {
    pub(crate) command: &'static str,
    pub(crate) args: RidesArgs,
    pub(crate) client: Client,
    pub(crate) requests: Requests,
    /// Known when the run is to be verified.
    pub(crate) before: Option<Before>,
}

/// What was known before the run.
#[derive(Debug)]
pub(crate) struct Before {
    /// What rides are worth.
    pub(crate) verticals: Verticals,
    /// Rides stored for ever; `None`: no ledger.
    pub(crate) stored: Option<u64>,
}

impl RidesPlan {
    /// Checks the command, resolves its URL and tries one connection.
    pub(crate) fn new(command: &RidesCommand) -> Result<Self> {
        let (name, args) = command.common();
        let args = args.clone();
        let target = Target::resolve(&args.url, args.timeout, &args.headers, true)?;
        let client = Client {
            addresses: vec![target.address],
            keep: true,
            kept: Keep::Body,
            timeout: args.timeout,
            side_connections: SIDE_CONNECTIONS,
        };
        let requests = Requests::new(target, &args.ranges);
        Ok(Self { command: name, args, client, requests, before: None })
    }

    /// What rides are worth, where that is known.
    pub(crate) fn verticals(&self) -> Option<&Verticals> {
        self.before.as_ref().map(|before| &before.verticals)
    }

    /// Has connections do `work` at this pace. `stage` tells this part of the run from the others.
    pub(crate) fn engine<W>(&self, stage: u64, flow: Flow, work: W) -> Engine<W> {
        Engine {
            client: self.client.clone(),
            threads: self.args.workers,
            seed: self.args.seed,
            stage,
            flows: vec![flow],
            work,
        }
    }
}
