//! How many posts a second reach all streams in time.

use anyhow::Result;

use super::{BoardOptions, make_accounts, start, tokens};
use crate::bench::{
    links::{load_to_its_end, number},
    servers::Scratch,
};

/// In time is this p99 from when a post was due until the last stream has it, in ms.
const IN_TIME_MS: f64 = 1_000.0;
/// The first rate; it doubles while it holds.
const RATE_FIRST: f64 = 25.0;
/// The last rate, whatever comes of it.
const RATE_MAX: f64 = 20_000.0;
/// Rates between the last that held and the first that did not.
const HALVINGS: usize = 3;

/// A rate that was tried.
struct Tried {
    rate: f64,
    answer_ms: f64,
    last_ms: f64,
    frames_per_s: f64,
    holds: bool,
}

pub(super) fn capacity(options: &BoardOptions) -> Result<()> {
    let scratch = Scratch::new()?;
    let _lodge = start(&scratch)?;
    make_accounts(&scratch, options.streams)?;
    println!(
        "\n| posts/s to {} streams | p99 to the answer, ms | p99 to the last stream, ms | events/s of all streams | in time |",
        options.streams
    );
    println!("| --- | --- | --- | --- | --- |");
    let (mut held, mut failed) = (0.0, None);
    let mut rate = RATE_FIRST;
    while failed.is_none() && rate <= RATE_MAX {
        if attempt(options, &scratch, rate)?.holds {
            (held, rate) = (rate, rate * 2.0);
        } else {
            failed = Some(rate);
        }
    }
    if let Some(mut failed) = failed {
        for _ in 0..HALVINGS {
            let rate = f64::midpoint(held, failed).round();
            let tried = attempt(options, &scratch, rate)?;
            *(if tried.holds { &mut held } else { &mut failed }) = rate;
        }
    }
    println!(
        "the most in time: {held} posts a second, {:.0} events a second to {} streams",
        held * f64::from(options.streams),
        options.streams
    );
    Ok(())
}

fn attempt(options: &BoardOptions, scratch: &Scratch, rate: f64) -> Result<Tried> {
    let (users, duration) = (options.streams.to_string(), format!("{}s", options.seconds.min(10)));
    let (rate_text, tokens) = (rate.to_string(), tokens(scratch));
    let load = ["board", "--users", &users, "--tokens", &tokens, "--rate", &rate_text];
    let report = load_to_its_end(scratch, &[&load[..], &["--duration", &duration]].concat())?;
    let (acknowledged, everywhere) =
        (number(&report, "/messages/acknowledged")?, number(&report, "/until_last_ms/count")?);
    let (last_ms, errors) =
        (number(&report, "/until_last_ms/p99")?, number(&report, "/posts/errors")?);
    let tried = Tried {
        rate,
        answer_ms: number(&report, "/posts/latency_ms/p99")?,
        last_ms,
        frames_per_s: number(&report, "/frames_per_s")?,
        holds: errors == 0.0 && everywhere >= acknowledged && last_ms <= IN_TIME_MS,
    };
    let Tried { rate, answer_ms, last_ms, frames_per_s, holds } = &tried;
    println!("| {rate} | {answer_ms:.2} | {last_ms:.2} | {frames_per_s:.0} | {holds} |");
    Ok(tried)
}
