//! The plan of a run: the validated command line.

use std::time::Duration;

use anyhow::{Result, ensure};

use super::cli::BoardArgs;
use super::messages::MESSAGES_MAX;
use super::request::{Site, Streams};
use crate::engine::client::Client;
use crate::engine::pace::{Flow, Until};
use crate::engine::run::Engine;
use crate::engine::times::float;
use crate::http::http1::Keep;
use crate::http::target::Target;

/// The largest number of streams of a run.
const STREAMS_MAX: u64 = 60_000;
/// Connections outside the measurement; few, because the server hashes a password for each request.
const SIDE_CONNECTIONS: u32 = 8;
/// Defaults of an open loop.
const RATE_DEFAULT: f64 = 20.0;
const DURATION_DEFAULT: Duration = Duration::from_mins(1);

/// The plan of a `lodge load board`.
#[derive(Debug)]
pub(crate) struct BoardPlan {
    pub(crate) args: BoardArgs,
    pub(crate) sites: Vec<Site>,
    pub(crate) client: Client,
    pub(crate) streams: u32,
    pub(crate) flow: Flow,
    /// An upper bound of the messages sent.
    pub(crate) messages: u32,
}

impl BoardPlan {
    /// Checks the command, resolves its URLs and tries one connection to each.
    pub(crate) fn new(args: &BoardArgs) -> Result<Self> {
        let streams = u64::from(args.users) * u64::from(args.streams_per_user);
        ensure!(
            streams <= STREAMS_MAX,
            "--users × --streams-per-user must be at most {STREAMS_MAX}, not {streams}"
        );
        ensure!(
            streams > 0 || !args.verify,
            "--verify needs streams: --streams-per-user must be at least 1, not 0"
        );
        let (flow, messages) = flow(args);
        ensure!(
            messages <= MESSAGES_MAX,
            "a run can send at most {MESSAGES_MAX} messages, not {messages}"
        );
        let streams_of = if args.pages { Streams::Pages } else { Streams::Api };
        let site = |url: &String| {
            let target = Target::resolve(url, args.timeout, &args.headers, true)?;
            Ok(Site { target, channel: args.channel.clone(), streams: streams_of })
        };
        let sites = args.servers.iter().map(site).collect::<Result<Vec<_>>>()?;
        Ok(Self {
            client: Client {
                addresses: sites.iter().map(|site| site.target.address).collect(),
                keep: true,
                kept: Keep::Body,
                timeout: args.timeout,
                side_connections: SIDE_CONNECTIONS,
            },
            sites,
            streams: u32::try_from(streams)?,
            flow,
            messages: u32::try_from(messages)?,
            args: args.clone(),
        })
    }

    /// Returns the server for `number`, round-robin.
    pub(crate) fn site(&self, number: u64) -> &Site {
        &self.sites[usize::try_from(number % self.sites.len() as u64).unwrap_or_default()]
    }

    /// Returns an engine that runs `work` on connections to all servers.
    pub(crate) fn engine<W>(&self, work: W) -> Engine<W> {
        Engine {
            client: self.client.clone(),
            threads: self.args.workers,
            seed: self.args.seed,
            stage: 0,
            flows: vec![self.flow],
            work,
        }
    }
}

/// Returns the pace, and an upper bound of the messages.
fn flow(args: &BoardArgs) -> (Flow, u64) {
    if let Some(each) = args.messages {
        let count = each * u64::from(args.users);
        let until = Until::Requests(count);
        return (Flow { connections: args.users, rate_per_s: None, until }, count);
    }
    let (rate, duration) =
        (args.rate.unwrap_or(RATE_DEFAULT), args.duration.unwrap_or(DURATION_DEFAULT));
    let until = Until::Duration(duration);
    let flow = Flow { connections: args.connections, rate_per_s: Some(rate), until };
    // Each thread may round up.
    (flow, whole(rate * duration.as_secs_f64()) + u64::from(args.workers.unwrap_or(64)) + 1)
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "it is checked after")]
fn whole(count: f64) -> u64 {
    count.min(float(u64::from(u32::MAX))) as u64
}
