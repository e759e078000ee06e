//! The plan of a run: the validated options that the commands for rides share.

use anyhow::Result;

use super::cli::{RidesArgs, RidesCommand};
use super::request::Requests;
use super::ride::Verticals;
use crate::engine::client::Client;
use crate::engine::pace::Flow;
use crate::engine::run::Engine;
use crate::http::http1::Keep;
use crate::http::target::Target;

/// Connections for requests outside the measurement.
const SIDE_CONNECTIONS: u32 = 64;

/// The part of a `lodge load rides…` that the commands share.
#[derive(Debug)]
pub(crate) struct RidesPlan {
    pub(crate) command: &'static str,
    pub(crate) args: RidesArgs,
    pub(crate) client: Client,
    pub(crate) requests: Requests,
    /// `None` unless the run is to be verified.
    pub(crate) before: Option<Before>,
}

/// The server's state before the run.
#[derive(Debug)]
pub(crate) struct Before {
    /// The verticals of the lifts.
    pub(crate) verticals: Verticals,
    /// The ledger's total of stored rides; `None`: the server has no ledger.
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

    /// Returns the verticals of the lifts, if the run is to be verified.
    pub(crate) fn verticals(&self) -> Option<&Verticals> {
        self.before.as_ref().map(|before| &before.verticals)
    }

    /// Returns an engine that runs `work` at this pace. `stage` distinguishes the parts of the run.
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
