//! A board: many who listen, as many posts as it can tell them, and how it is when it has grown.

mod away;
mod capacity;
mod growth;
mod seed;
mod streams;

use std::{
    fs,
    time::{Duration, Instant},
};

use anyhow::{Context, Result, ensure};
use clap::Args;

use super::{
    links::load_to_its_end,
    median,
    servers::{self, Scratch},
};
use crate::process::{self, Running};

/// How long a server may take to end.
const GRACE: Duration = Duration::from_secs(30);

#[derive(Args)]
pub(crate) struct BoardOptions {
    /// Runs of each; fewer where the time of a part is over before, and then it is said.
    #[arg(long, default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..))]
    runs: u32,
    /// Seconds of each run at a rate.
    #[arg(long, default_value_t = 30, value_parser = clap::value_parser!(u32).range(1..))]
    seconds: u32,
    /// Streams that are open, each of an account of its own.
    #[arg(long, default_value_t = 1_000, value_parser = clap::value_parser!(u32).range(1..=4_500))]
    streams: u32,
    /// Messages of the channel that has grown.
    #[arg(long, default_value_t = 1_000_000)]
    messages: u64,
    /// To see that it works: one short run of each with few streams and messages. Its figures mean nothing.
    #[arg(long)]
    quick: bool,
    /// Only these parts, with commas between. All of them take 40 minutes at most, beside the building.
    #[arg(long, value_delimiter = ',', value_parser = ["streams", "capacity", "seed", "growth"])]
    only: Vec<String>,
}

impl BoardOptions {
    /// As they are meant.
    fn settled(&self) -> Self {
        let only = self.only.clone();
        if self.quick {
            Self { runs: 1, seconds: 2, streams: 50, messages: 20_000, only, ..*self }
        } else {
            Self { only, ..*self }
        }
    }

    /// So many accounts, or a few in a quick run.
    fn users(&self, users: u32) -> u32 {
        if self.quick { users.min(20) } else { users }
    }
}

/// A part, on a data folder with accounts that nobody else has.
type Part = fn(&BoardOptions, &Scratch) -> Result<()>;

/// Runs every part, or those that are asked for.
pub(crate) fn run(options: &BoardOptions) -> Result<()> {
    servers::build_lodge()?;
    let options = options.settled();
    let parts: [(&str, Part); 4] = [
        ("streams", streams::posts),
        ("capacity", capacity::capacity),
        ("seed", seed::users),
        ("growth", growth::grown),
    ];
    let began = Instant::now();
    let accounts = with_accounts(options.streams.max(options.users(seed::USERS_MAX)))?;
    let mut failed = Vec::new();
    for (name, part) in parts {
        if !options.only.is_empty() && !options.only.iter().any(|only| only == name) {
            continue;
        }
        println!("\n## {name}");
        let began = Instant::now();
        let done = copy_of(&accounts).and_then(|scratch| part(&options, &scratch));
        if let Err(error) = done.with_context(|| format!("the part {name}")) {
            eprintln!("{error:?}");
            failed.push(name);
        }
        println!("\n({name}: {:.0} s)", began.elapsed().as_secs_f64());
    }
    println!("\nall of it: {:.0} s", began.elapsed().as_secs_f64());
    ensure!(failed.is_empty(), "failed: {}", failed.join(", "));
    Ok(())
}

/// A board alone, without a limit on posts.
fn start(scratch: &Scratch) -> Result<Running> {
    let settings =
        [("LODGE_APPS", "board".to_owned()), ("LODGE_LIMITS_POSTS_PER_MINUTE", "0".to_owned())];
    servers::start_lodge_with(scratch, "board", &settings)
}

/// The file of the accounts' tokens.
fn tokens(scratch: &Scratch) -> String {
    scratch.path("tokens").display().to_string()
}

/// The token of one of them.
fn token(scratch: &Scratch) -> Result<String> {
    let text = fs::read_to_string(scratch.path("tokens"))?;
    text.lines().next().map(str::to_owned).context("there is no token")
}

/// A data folder with so many accounts, all signed in, of whom one has posted; nothing serves it.
fn with_accounts(users: u32) -> Result<Scratch> {
    println!("making {users} accounts, each of which hashes a password twice");
    let scratch = Scratch::new()?;
    let lodge = start(&scratch)?;
    let (users, tokens) = (users.to_string(), tokens(&scratch));
    let load = ["board", "--users", &users, "--tokens", &tokens];
    let one_post = ["--streams-per-user", "0", "--rate", "1", "--duration", "1s"];
    load_to_its_end(&scratch, &[&load[..], &one_post].concat())?;
    lodge.terminate(GRACE)?;
    Ok(scratch)
}

/// The same once more, so that no part finds what another one wrote.
fn copy_of(accounts: &Scratch) -> Result<Scratch> {
    let scratch = Scratch::new()?;
    for name in ["board", "tokens"] {
        let (from, to) = (accounts.path(name), scratch.path(name));
        let (from, to) = (from.display().to_string(), to.display().to_string());
        process::output("cp", &["-r", &from, &to])?;
    }
    Ok(scratch)
}

/// The time that a part has for its runs.
struct Budget {
    until: Instant,
}

impl Budget {
    fn minutes(minutes: u64) -> Self {
        Self { until: Instant::now() + Duration::from_mins(minutes) }
    }

    fn is_over(&self) -> bool {
        Instant::now() >= self.until
    }

    /// Runs so often, or as often as a run begins in time; once at least.
    fn runs<T>(&self, wanted: u32, mut run: impl FnMut() -> Result<T>) -> Result<Vec<T>> {
        let mut done = vec![run()?];
        while done.len() < wanted as usize && !self.is_over() {
            done.push(run()?);
        }
        if done.len() < wanted as usize {
            println!("{} of {wanted} runs: there was no time for more", done.len());
        }
        Ok(done)
    }
}

/// The middle of some runs, and the least and the most of them.
pub(super) fn spread(values: &[f64]) -> String {
    let (least, most) = (
        values.iter().copied().fold(f64::INFINITY, f64::min),
        values.iter().copied().fold(f64::NEG_INFINITY, f64::max),
    );
    format!("{:.2} ({least:.2} to {most:.2})", median(values))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_part_whose_time_is_over_has_run_once() {
        let over = Budget { until: Instant::now() };
        assert_eq!(over.runs(5, || Ok(())).unwrap().len(), 1);
        assert_eq!(Budget::minutes(5).runs(5, || Ok(())).unwrap().len(), 5);
        assert!(over.runs(5, || -> Result<()> { anyhow::bail!("it fails") }).is_err());
    }

    #[test]
    fn runs_are_told_by_their_middle_and_their_ends() {
        assert_eq!(spread(&[3.0, 1.0, 20.0]), "3.00 (1.00 to 20.00)");
    }
}
