//! Options, time budget and server of all parts.

use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use clap::Args;

use super::super::{
    lodge::{Lodge, Scratch, Server},
    options::Options,
};

#[derive(Args)]
#[command(mut_arg("seconds", |seconds| seconds.default_value("30")))]
pub(crate) struct BoardOptions {
    #[command(flatten)]
    pub(super) common: Options,
    /// Open streams, each of another account.
    #[arg(long, default_value_t = 1_000, value_parser = clap::value_parser!(u32).range(1..=4_500))]
    pub(super) streams: u32,
    /// Messages of the large channel.
    #[arg(long, default_value_t = 1_000_000)]
    pub(super) messages: u64,
}

impl BoardOptions {
    /// Makes the board small for quick runs.
    pub(super) fn settle(&mut self) {
        if self.common.settle() {
            (self.streams, self.messages) = (50, 20_000);
        }
    }

    /// Returns `users`, or a few in a quick run.
    pub(super) fn users(&self, users: u32) -> u32 {
        self.common.or_quick(users, users.min(20))
    }
}

/// Starts a server of the board alone, without a rate limit of posts.
pub(super) fn start(scratch: &Scratch) -> Result<Server> {
    let lodge = Lodge::new(scratch).with("LODGE_APPS", "board");
    lodge.with("LODGE_LIMITS_POSTS_PER_MINUTE", 0).start()
}

/// The token of an account.
pub(super) fn token(lodge: &Lodge) -> Result<String> {
    lodge.read("tokens")?.lines().next().map(str::to_owned).context("the file tokens is empty")
}

/// The time budget of a part.
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

    /// Runs `wanted` times, or fewer if the time is over; at least once.
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
            println!("{} of {wanted} runs: the time is over", done.len());
        }
        Ok(done)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_part_runs_at_least_once() {
        let over = Budget { until: Instant::now() };
        assert_eq!(over.runs(5, || Ok(())).unwrap().len(), 1);
        assert_eq!(Budget::minutes(5).runs(5, || Ok(())).unwrap().len(), 5);
        assert!(over.runs(5, || -> Result<()> { anyhow::bail!("it fails") }).is_err());
    }
}
