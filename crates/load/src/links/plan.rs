//! What will be done: the command line, checked and turned into parts that fit together.

use std::time::Duration;

use anyhow::{Result, ensure};

use super::cli::{
    AccountsGetCommand, CommonArgs, LinkSetArgs, MixedCommand, RequestCommand, SignInCommand,
};
use super::set::{self, LinkSet};
use crate::accounts::{Choice, NAME_BYTES, People, Tokens};
use crate::engine::batch::Batch;
use crate::engine::pace::{Flow, Until};
use crate::engine::times::float;
use crate::http::http1::Keep;
use crate::http::target::Target;
use crate::http::template::{Template, header_lines};

/// The most connections outside of the measurement.
const SIDE_CONNECTIONS_MAX: u32 = 64;
/// How long a run lasts when nothing is said.
const DURATION_DEFAULT: Duration = Duration::from_secs(10);
/// The path that reads a link, and the one that writes it, in both seeds.
pub(crate) const READ_PATH: &str = "/{short}";
const WRITE_PATH: &str = "/?short={short}&long={long}";
/// What answers a followed link.
pub(crate) const REDIRECTS: [u16; 5] = [301, 302, 303, 307, 308];
const WRITTEN: [u16; 2] = [200, 201];

/// Who is signed in, how one signs in, and the public part of an account, in Lodge.
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
    /// Reads and writes at random; the part that are writes.
    WriteShare(f64),
}

/// Connections with one mix and one pace.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Lane {
    pub(crate) mix: Mix,
    pub(crate) flow: Flow,
}

/// How reads are made and judged.
#[derive(Debug, Clone)]
pub(crate) struct GetLoad {
    pub(crate) template: Template,
    pub(crate) set: LinkSet,
    pub(crate) expect: Vec<u16>,
    pub(crate) head: bool,
    pub(crate) choice: Choice,
    /// How those are asked for who come after so many.
    pub(crate) others: Option<(u64, Template)>,
}

impl GetLoad {
    /// How link or person `index` is asked for.
    pub(crate) fn template_of(&self, index: u64) -> &Template {
        match &self.others {
            Some((from, template)) if index >= *from => template,
            _ => &self.template,
        }
    }
}

/// How writes are made and judged.
#[derive(Debug, Clone)]
pub(crate) struct PutLoad {
    pub(crate) template: Template,
    pub(crate) expect: Vec<u16>,
    /// Every write is of the same link.
    pub(crate) same_pair: bool,
}

/// The whole of a `lodge load` of links or accounts.
#[derive(Debug, Clone)]
pub(crate) struct Plan {
    pub(crate) command: &'static str,
    pub(crate) args: CommonArgs,
    pub(crate) target: Target,
    pub(crate) lanes: Vec<Lane>,
    pub(crate) prefix: String,
    pub(crate) get: Option<GetLoad>,
    pub(crate) put: Option<PutLoad>,
    /// The seeds' way to write a link, for the links that the run reads.
    pub(crate) create: Side,
    /// The seeds' way to read a link back.
    pub(crate) read_back: Side,
}

/// A request outside of the measurement, and which answers to it are success.
#[derive(Debug, Clone)]
pub(crate) struct Side {
    pub(crate) template: Template,
    pub(crate) expect: Vec<u16>,
}

impl Plan {
    /// Checks the command, resolves its URL and tries one connection.
    pub(crate) fn new(command: &RequestCommand) -> Result<Self> {
        let common = command.common();
        let target = Target::resolve(&common.url, common.timeout)?;
        let maker = Maker { common, target: &target, headers: header_lines(&common.headers)? };
        let (get, put) = maker.loads(command)?;
        let plan = Self {
            command: command.name(),
            args: common.clone(),
            lanes: lanes(command)?,
            prefix: common.prefix.clone().unwrap_or_else(|| set::random_prefix(rand::random())),
            create: maker.create()?,
            read_back: maker.read_back(command)?,
            get,
            put,
            target,
        };
        plan.check()?;
        Ok(plan)
    }

    /// How what is outside of the measurement is sent.
    pub(crate) fn batch(&self) -> Batch {
        Batch {
            address: self.target.address,
            connections: self.args.connections.min(SIDE_CONNECTIONS_MAX),
            keep: !self.args.new_connections,
            kept: Keep::Location,
            timeout: self.args.timeout,
        }
    }

    fn check(&self) -> Result<()> {
        ensure!(
            !self.args.verify || self.command.starts_with("links-"),
            "--verify compares where links lead; {} follows none",
            self.command
        );
        if let (true, Some(get)) = (self.args.verify, &self.get) {
            ensure!(
                get.set.targets_known(),
                "--verify must know the right answers: leave --shorts away, or give a file with \"short target\" on each line"
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

/// What the requests are made from.
struct Maker<'a> {
    common: &'a CommonArgs,
    target: &'a Target,
    headers: Vec<String>,
}

impl Maker<'_> {
    fn template(&self, method: &str, path: &str) -> Result<Template> {
        Template::new(method, path, self.target, &self.headers, !self.common.new_connections)
    }

    fn loads(&self, command: &RequestCommand) -> Result<(Option<GetLoad>, Option<PutLoad>)> {
        Ok(match command {
            RequestCommand::LinksGet(get) => {
                (Some(self.get(&get.set, &get.path, &get.expect, get.head)?), None)
            }
            RequestCommand::LinksPut(put) => {
                (None, Some(self.put(&put.path, &put.expect, put.same_pair)?))
            }
            RequestCommand::LinksMixed(mixed) => {
                let get = self.get(&mixed.set, &mixed.get_path, &mixed.get_expect, false)?;
                (Some(get), Some(self.put(&mixed.put_path, &mixed.put_expect, false)?))
            }
            RequestCommand::AccountsGet(get) => (Some(self.who(get)?), None),
            RequestCommand::AccountsSignIn(sign_in) => (Some(self.sign_in(sign_in)?), None),
        })
    }

    fn get(&self, set: &LinkSetArgs, path: &str, expect: &[u16], head: bool) -> Result<GetLoad> {
        let template = self.template(if head { "HEAD" } else { "GET" }, path)?;
        let set = match &set.shorts {
            _ if !template.names_short() => LinkSet::Fixed,
            Some(shorts) => LinkSet::given(shorts)?,
            None => LinkSet::Own { count: set.links },
        };
        let choice = Choice::Even;
        Ok(GetLoad { template, set, expect: expect.to_vec(), head, choice, others: None })
    }

    fn who(&self, command: &AccountsGetCommand) -> Result<GetLoad> {
        let keep = !self.common.new_connections;
        let tokens = Tokens::read(&command.tokens, command.sessions)?;
        let people = People::signed_in(tokens, command.users);
        let choice = match command.zipf {
            Some(exponent) => Choice::zipf(people.count, exponent)?,
            None => Choice::Even,
        };
        Ok(GetLoad {
            template: Template::with_token(ME_PATH, self.target, &self.headers, keep)?,
            others: Some((people.signed_in_count(), self.template("GET", USER_PATH)?)),
            set: LinkSet::People(people),
            expect: command.expect.clone(),
            head: false,
            choice,
        })
    }

    fn sign_in(&self, command: &SignInCommand) -> Result<GetLoad> {
        let keep = !self.common.new_connections;
        let after = format!("\",\"password\":{}}}", serde_json::to_string(&command.password)?);
        let body = ("{\"username\":\"", NAME_BYTES, after.as_str());
        Ok(GetLoad {
            template: Template::with_json(SESSION_PATH, body, self.target, &self.headers, keep)?,
            set: LinkSet::People(People { tokens: Tokens::none(), count: command.users }),
            expect: command.expect.clone(),
            head: false,
            choice: Choice::Even,
            others: None,
        })
    }

    fn put(&self, path: &str, expect: &[u16], same_pair: bool) -> Result<PutLoad> {
        Ok(PutLoad { template: self.template("PUT", path)?, expect: expect.to_vec(), same_pair })
    }

    fn create(&self) -> Result<Side> {
        Ok(Side { template: self.template("PUT", WRITE_PATH)?, expect: WRITTEN.to_vec() })
    }

    fn read_back(&self, command: &RequestCommand) -> Result<Side> {
        let (path, expect) = match command {
            RequestCommand::LinksMixed(mixed) => {
                (mixed.get_path.as_str(), mixed.get_expect.clone())
            }
            RequestCommand::LinksGet(_)
            | RequestCommand::LinksPut(_)
            | RequestCommand::AccountsGet(_)
            | RequestCommand::AccountsSignIn(_) => (READ_PATH, REDIRECTS.to_vec()),
        };
        Ok(Side { template: self.template("GET", path)?, expect })
    }
}

fn lanes(command: &RequestCommand) -> Result<Vec<Lane>> {
    let common = command.common();
    let until = common
        .requests
        .map_or(Until::Duration(common.duration.unwrap_or(DURATION_DEFAULT)), Until::Requests);
    let connections = common.connections;
    let one = |mix, rate_per_s| vec![Lane { mix, flow: Flow { connections, rate_per_s, until } }];
    match command {
        RequestCommand::LinksGet(get) => Ok(one(Mix::Only(Kind::Get), get.pace.rate)),
        RequestCommand::LinksPut(put) => Ok(one(Mix::Only(Kind::Put), put.pace.rate)),
        RequestCommand::AccountsGet(get) => Ok(one(Mix::Only(Kind::Get), get.pace.rate)),
        RequestCommand::AccountsSignIn(sign_in) => Ok(one(Mix::Only(Kind::Get), sign_in.pace.rate)),
        RequestCommand::LinksMixed(mixed) => match (mixed.get_rate, mixed.put_rate) {
            (Some(get_rate), Some(put_rate)) => two_lanes(mixed, until, get_rate, put_rate),
            _ => Ok(one(Mix::WriteShare(mixed.write_share), mixed.rate)),
        },
    }
}

/// Reads and writes apart, each with connections and a rate of its own.
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
        "--connections must be more than --put-connections, so that reads have some too"
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
    use clap::Parser;

    use super::*;

    #[derive(Debug, Parser)]
    struct Cli {
        #[command(subcommand)]
        load: RequestCommand,
    }

    fn command(line: &str) -> Result<RequestCommand, clap::Error> {
        Cli::try_parse_from(std::iter::once("load").chain(line.split_whitespace()))
            .map(|cli| cli.load)
    }

    #[test]
    fn rates_of_their_own_give_reads_and_writes_connections_of_their_own() {
        let mixed =
            command("links-mixed --url http://x --get-rate 20000 --put-rate 2000 -n 1100").unwrap();
        let lanes = lanes(&mixed).unwrap();
        assert_eq!(lanes.len(), 2);
        assert_eq!(
            lanes[0].flow,
            Flow { connections: 75, rate_per_s: Some(20_000.0), until: Until::Requests(1000) }
        );
        assert_eq!(
            lanes[1].flow,
            Flow { connections: 25, rate_per_s: Some(2000.0), until: Until::Requests(100) }
        );
        let starved = command(
            "links-mixed --url http://x --get-rate 1 --put-rate 1 -c 4 --put-connections 4",
        )
        .unwrap();
        assert!(super::lanes(&starved).is_err());
    }

    #[test]
    fn without_an_end_a_run_lasts_ten_seconds() {
        let lanes = lanes(&command("links-get --url http://x").unwrap()).unwrap();
        assert_eq!(lanes[0].flow.until, Until::Duration(Duration::from_secs(10)));
    }

    #[test]
    fn contradictions_are_refused() {
        for line in [
            "links-get --url http://x -n 1 -d 1s",
            "links-get --url http://x --shorts a --links 2",
            "links-mixed --url http://x --get-rate 1",
            "links-mixed --url http://x --get-rate 1 --put-rate 1 --rate 2",
            "links-mixed --url http://x --get-rate 1 --put-rate 1 --write-share 0.5",
            "links-put --url http://x -c 0",
            "accounts-get --url http://x",
            "accounts-get --url http://x --tokens f --users 5",
            "accounts-get --url http://x --tokens f --zipf -1",
            "accounts-sign-in --url http://x --users 0",
        ] {
            assert!(command(line).is_err(), "{line}");
        }
    }
}
