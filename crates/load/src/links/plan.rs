//! The plan of a run, made from the validated command line.

use std::time::Duration;

use anyhow::{Result, ensure};

use super::cli::{
    AccountsGetCommand, CommonArgs, LinkSetArgs, MixedCommand, RequestCommand, SignInCommand,
};
use super::set::{self, LinkSet};
use crate::accounts::{Choice, NAME_BYTES, SeededUsers, Tokens};
use crate::engine::client::Client;
use crate::engine::pace::{Flow, Until};
use crate::engine::times::float;
use crate::http::http1::Keep;
use crate::http::target::Target;
use crate::http::template::Template;

/// The largest number of connections outside the measurement.
const SIDE_CONNECTIONS_MAX: u32 = 64;
/// The default duration of a run.
const DURATION_DEFAULT: Duration = Duration::from_secs(10);
/// The paths for reading and writing a link, the same in both seeds.
const READ_PATH: &str = "/{short}";
const WRITE_PATH: &str = "/?short={short}&long={long}";
/// Statuses of a followed link.
const REDIRECTS: &[u16] = &[301, 302, 303, 307, 308];
const WRITTEN: &[u16] = &[200, 201];

/// Lodge's paths for the signed-in account, for signing in and for an account's public profile.
const ME_PATH: &str = "/api/me";
const SESSION_PATH: &str = "/api/session";
const USER_PATH: &str = "/api/users/{short}";

/// The two kinds of request, in the order of their records.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Get,
    Put,
}

/// Which kinds of request a group of connections makes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Mix {
    Only(Kind),
    /// Reads and writes at random, with this share of writes.
    WriteShare(f64),
}

/// Connections with one mix and one pace.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Lane {
    pub(crate) mix: Mix,
    pub(crate) flow: Flow,
}

/// How reads are made and judged.
#[derive(Debug)]
pub(crate) struct GetLoad {
    pub(crate) template: Template,
    pub(crate) set: LinkSet,
    pub(crate) expect: Vec<u16>,
    pub(crate) head: bool,
    pub(crate) choice: Choice,
    /// The template for users from this index on: those without a token.
    pub(crate) others: Option<(u64, Template)>,
}

impl GetLoad {
    fn links(
        set: &LinkSetArgs,
        path: &str,
        expect: &[u16],
        head: bool,
        target: &Target,
    ) -> Result<Self> {
        let template = Template::new(if head { "HEAD" } else { "GET" }, path, target)?;
        let set = match &set.shorts {
            _ if !template.names_short() => LinkSet::Fixed,
            Some(shorts) => LinkSet::given(shorts)?,
            None => LinkSet::Own { count: set.links },
        };
        let choice = Choice::Even;
        Ok(Self { template, set, expect: expect.to_vec(), head, choice, others: None })
    }

    fn people(command: &AccountsGetCommand, target: &Target) -> Result<Self> {
        let tokens = Tokens::read(&command.tokens, command.sessions)?;
        let people = SeededUsers::signed_in(tokens, command.users);
        let zipf = |exponent| Choice::zipf(people.count, exponent);
        Ok(Self {
            template: Template::with_token(ME_PATH, target)?,
            choice: command.zipf.map_or(Ok(Choice::Even), zipf)?,
            others: Some((people.signed_in_count(), Template::new("GET", USER_PATH, target)?)),
            set: LinkSet::Users(people),
            expect: command.expect.clone(),
            head: false,
        })
    }

    fn sign_ins(command: &SignInCommand, target: &Target) -> Result<Self> {
        let after = format!("\",\"password\":{}}}", serde_json::to_string(&command.password)?);
        let body = ("{\"username\":\"", NAME_BYTES, after.as_str());
        Ok(Self {
            template: Template::with_json(SESSION_PATH, body, target)?,
            set: LinkSet::Users(SeededUsers { tokens: Tokens::none(), count: command.users }),
            expect: command.expect.clone(),
            head: false,
            choice: Choice::Even,
            others: None,
        })
    }

    /// Returns the template for link or user `index`.
    pub(crate) fn template_of(&self, index: u64) -> &Template {
        match &self.others {
            Some((from, template)) if index >= *from => template,
            _ => &self.template,
        }
    }
}

/// How writes are made and judged.
#[derive(Debug)]
pub(crate) struct PutLoad {
    pub(crate) template: Template,
    pub(crate) expect: Vec<u16>,
    /// Whether every write has the same short and target.
    pub(crate) same_pair: bool,
}

/// The plan of a `lodge load` of links or accounts.
#[derive(Debug)]
pub(crate) struct Plan {
    pub(crate) command: &'static str,
    pub(crate) args: CommonArgs,
    /// For requests outside the measurement.
    pub(crate) client: Client,
    pub(crate) lanes: Vec<Lane>,
    pub(crate) prefix: String,
    pub(crate) get: Option<GetLoad>,
    pub(crate) put: Option<PutLoad>,
    /// Creates the links that the run reads, by the seeds' API.
    pub(crate) create: SideRequest,
    /// Reads a link back, by the seeds' API.
    pub(crate) read_back: SideRequest,
}

/// A request outside the measurement, and the statuses that count as success.
#[derive(Debug)]
pub(crate) struct SideRequest {
    pub(crate) template: Template,
    pub(crate) expect: Vec<u16>,
}

impl SideRequest {
    fn new(method: &str, path: &str, expect: &[u16], target: &Target) -> Result<Self> {
        Ok(Self { template: Template::new(method, path, target)?, expect: expect.to_vec() })
    }
}

impl Plan {
    /// Checks the command, resolves its URL and tries one connection.
    pub(crate) fn new(command: &RequestCommand) -> Result<Self> {
        let (name, args) = command.common();
        let args = args.clone();
        let keep = !args.new_connections;
        let target = Target::resolve(&args.url, args.timeout, &args.headers, keep)?;
        let (read_path, redirects) = match command {
            RequestCommand::LinksMixed(mixed) => (&*mixed.get_path, &*mixed.get_expect),
            _ => (READ_PATH, REDIRECTS),
        };
        let (get, put) = loads(command, &target)?;
        let plan = Self {
            command: name,
            lanes: lanes(command)?,
            prefix: args.prefix.clone().unwrap_or_else(|| set::random_prefix(rand::random())),
            create: SideRequest::new("PUT", WRITE_PATH, WRITTEN, &target)?,
            read_back: SideRequest::new("GET", read_path, redirects, &target)?,
            get,
            put,
            client: Client {
                addresses: vec![target.address],
                keep,
                kept: Keep::Location,
                timeout: args.timeout,
                side_connections: args.connections.min(SIDE_CONNECTIONS_MAX),
            },
            args,
        };
        plan.check()?;
        Ok(plan)
    }

    fn check(&self) -> Result<()> {
        ensure!(
            !self.args.verify || self.command.starts_with("links-"),
            "--verify compares the targets of links; {} reads no links",
            self.command
        );
        if let (true, Some(get)) = (self.args.verify, &self.get) {
            ensure!(
                get.set.targets_known(),
                "--verify needs the targets: leave out --shorts, or give a file with \"short target\" on each line"
            );
        }
        if let (true, Some(put)) = (self.args.verify, &self.put) {
            ensure!(
                put.template.names_both(),
                "--verify needs {{short}} and {{long}} in the path of the writes"
            );
            ensure!(
                self.read_back.template.names_short(),
                "--verify needs {{short}} in the path of the reads"
            );
        }
        Ok(())
    }
}

/// Returns how reads and writes are made.
fn loads(command: &RequestCommand, target: &Target) -> Result<(Option<GetLoad>, Option<PutLoad>)> {
    let put = |path: &str, expect: &[u16], same_pair| -> Result<PutLoad> {
        let template = Template::new("PUT", path, target)?;
        Ok(PutLoad { template, expect: expect.to_vec(), same_pair })
    };
    Ok(match command {
        RequestCommand::LinksGet(get) => {
            (Some(GetLoad::links(&get.set, &get.path, &get.expect, get.head, target)?), None)
        }
        RequestCommand::LinksPut(command) => {
            (None, Some(put(&command.path, &command.expect, command.same_pair)?))
        }
        RequestCommand::LinksMixed(mixed) => {
            let (path, expect) = (&mixed.get_path, &mixed.get_expect);
            let get = GetLoad::links(&mixed.set, path, expect, false, target)?;
            (Some(get), Some(put(&mixed.put_path, &mixed.put_expect, false)?))
        }
        RequestCommand::AccountsGet(get) => (Some(GetLoad::people(get, target)?), None),
        RequestCommand::AccountsSignIn(sign_in) => {
            (Some(GetLoad::sign_ins(sign_in, target)?), None)
        }
    })
}

fn lanes(command: &RequestCommand) -> Result<Vec<Lane>> {
    let CommonArgs { requests, duration, connections, rate: rate_per_s, .. } = *command.common().1;
    let until =
        requests.map_or(Until::Duration(duration.unwrap_or(DURATION_DEFAULT)), Until::Requests);
    let mix = match command {
        RequestCommand::LinksMixed(mixed) => match (mixed.get_rate, mixed.put_rate) {
            (Some(get_rate), Some(put_rate)) => return two_lanes(mixed, until, get_rate, put_rate),
            _ => Mix::WriteShare(mixed.write_share),
        },
        RequestCommand::LinksPut(_) => Mix::Only(Kind::Put),
        RequestCommand::LinksGet(_)
        | RequestCommand::AccountsGet(_)
        | RequestCommand::AccountsSignIn(_) => Mix::Only(Kind::Get),
    };
    Ok(vec![Lane { mix, flow: Flow { connections, rate_per_s, until } }])
}

/// Returns separate lanes for reads and writes, each with its own connections and rate.
fn two_lanes(
    mixed: &MixedCommand,
    until: Until,
    get_rate: f64,
    put_rate: f64,
) -> Result<Vec<Lane>> {
    let all = mixed.common.connections;
    let puts = mixed.put_connections.unwrap_or((all / 4).max(1));
    ensure!(
        puts < all,
        "--connections must be more than --put-connections ({puts}), not {all}: reads need connections too"
    );
    let (gets_until, puts_until) = match until {
        Until::Duration(_) => (until, until),
        Until::Requests(count) => {
            let writes = portion(count, put_rate / (get_rate + put_rate));
            (Until::Requests(count - writes), Until::Requests(writes))
        }
    };
    let lane = |kind, connections, rate, until| Lane {
        mix: Mix::Only(kind),
        flow: Flow { connections, rate_per_s: Some(rate), until },
    };
    Ok(vec![
        lane(Kind::Get, all - puts, get_rate, gets_until),
        lane(Kind::Put, puts, put_rate, puts_until),
    ])
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a share of a count lies between 0 and the count"
)]
fn portion(count: u64, share: f64) -> u64 {
    ((float(count) * share).round() as u64).min(count)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::parse;

    fn lanes(line: &str) -> Result<Vec<Lane>> {
        super::lanes(&parse::<Box<RequestCommand>>(line).unwrap())
    }

    #[test]
    fn separate_rates_give_reads_and_writes_separate_connections() {
        let both = "links-mixed --url http://x --get-rate 20000 --put-rate 2000 -n 1100";
        let flows: Vec<Flow> = lanes(both).unwrap().iter().map(|lane| lane.flow).collect();
        let flow = |connections, rate, count| Flow {
            connections,
            rate_per_s: Some(rate),
            until: Until::Requests(count),
        };
        assert_eq!(flows, [flow(75, 20_000.0, 1000), flow(25, 2000.0, 100)]);
        let starved =
            "links-mixed --url http://x --get-rate 1 --put-rate 1 -c 4 --put-connections 4";
        assert!(lanes(starved).is_err());
    }

    #[test]
    fn a_run_lasts_ten_seconds_by_default() {
        let lanes = lanes("links-get --url http://x").unwrap();
        assert_eq!(lanes[0].flow.until, Until::Duration(Duration::from_secs(10)));
    }
}
