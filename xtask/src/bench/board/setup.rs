//! What every part needs: its options, its time, and a process that serves a board.

use std::{
    fs,
    time::{Duration, Instant},
};

use anyhow::{Context, Result};
use clap::Args;

use super::super::servers::{self, Scratch};
use crate::process::Running;

/// How long a server may take to end.
pub(super) const GRACE: Duration = Duration::from_secs(30);

#[derive(Args)]
pub(crate) struct BoardOptions {
    /// Runs of each; fewer where the time of a part is over before, and then it is said.
    #[arg(long, default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..))]
    pub(super) runs: u32,
    /// Seconds of each run at a rate.
    #[arg(long, default_value_t = 30, value_parser = clap::value_parser!(u32).range(1..))]
    pub(super) seconds: u32,
    /// Streams that are open, each of an account of its own.
    #[arg(long, default_value_t = 1_000, value_parser = clap::value_parser!(u32).range(1..=4_500))]
    pub(super) streams: u32,
    /// Messages of the channel that has grown.
    #[arg(long, default_value_t = 1_000_000)]
    pub(super) messages: u64,
    /// To see that it works: one short run of each with few streams and messages. Its figures mean nothing.
    #[arg(long)]
    pub(super) quick: bool,
    /// Only these parts, with commas between. All of them take 40 minutes at most, beside the building.
    #[arg(long, value_delimiter = ',', value_parser = ["streams", "capacity", "seed", "growth"])]
    pub(super) only: Vec<String>,
}

impl BoardOptions {
    /// As they are meant.
    pub(super) fn settled(&self) -> Self {
        let only = self.only.clone();
        if self.quick {
            Self { runs: 1, seconds: 2, streams: 50, messages: 20_000, only, ..*self }
        } else {
            Self { only, ..*self }
        }
    }

    /// So many accounts, or a few in a quick run.
    pub(super) fn users(&self, users: u32) -> u32 {
        if self.quick { users.min(20) } else { users }
    }
}

/// A board alone, without a limit on posts.
pub(super) fn start(scratch: &Scratch) -> Result<Running> {
    let settings =
        [("LODGE_APPS", "board".to_owned()), ("LODGE_LIMITS_POSTS_PER_MINUTE", "0".to_owned())];
    servers::start_lodge_with(scratch, "board", &settings)
}

/// The file of the accounts' tokens.
pub(super) fn tokens(scratch: &Scratch) -> String {
    scratch.path("tokens").display().to_string()
}

/// The token of one of them.
pub(super) fn token(scratch: &Scratch) -> Result<String> {
    let text = fs::read_to_string(scratch.path("tokens"))?;
    text.lines().next().map(str::to_owned).context("there is no token")
}

/// The time that a part has for its runs.
pub(super) struct Budget {
    until: Instant,
}

impl Budget {
    pub(super) fn minutes(minutes: u64) -> Self {
        Self { until: Instant::now() + Duration::from_mins(minutes) }
    }

    pub(super) fn is_over(&self) -> bool {
        Instant::now() >= self.until
    }

    /// Runs so often, or as often as a run begins in time; once at least.
    pub(super) fn runs<T>(
        &self,
        wanted: u32,
        mut run: impl FnMut() -> Result<T>,
    ) -> Result<Vec<T>> {
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
}
