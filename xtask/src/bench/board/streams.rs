//! Posts at a rate that people reach, while many listen.

use std::{thread, time::Duration};

use anyhow::{Context, Result};

use super::{BoardOptions, make_accounts, start, tokens};
use crate::bench::{
    links::{load_to_its_end, number, wait_until},
    median,
    servers::{self, Scratch},
};

/// Posts a second.
const RATE: &str = "20";

/// How long a server may take to end.
const GRACE: Duration = Duration::from_secs(30);

/// How many streams are open, by their kinds.
const OPEN: &str = "lodge_http_streams";

/// Each run is proved: no stream lost, repeated or reordered anything.
pub(super) fn posts(options: &BoardOptions) -> Result<()> {
    let scratch = Scratch::new()?;
    let lodge = start(&scratch)?;
    make_accounts(&scratch, options.streams)?;
    lodge.terminate(GRACE)?;
    let (users, duration) = (options.streams.to_string(), format!("{}s", options.seconds));
    let tokens = tokens(&scratch);
    let run = ["--users", &users, "--rate", RATE, "--duration", &duration, "--tokens", &tokens];
    let load = [&["board", "--verify"][..], &run].concat();
    let streams = f64::from(options.streams);
    let (mut answer, mut last, mut memory, mut cpu) = (vec![], vec![], vec![], vec![]);
    for _ in 0..options.runs {
        // A process of its own for each run: one that has held streams keeps the room that they took.
        let lodge = start(&scratch)?;
        let before = servers::resident_mb(lodge.pid())?;
        let (report, open) = thread::scope(|scope| {
            let running = scope.spawn(|| load_to_its_end(&scratch, &load));
            wait_until("streams are open", || {
                servers::gauges(OPEN).is_ok_and(|open| open >= streams)
            })?;
            // Who is here has been told to everybody when the first messages come.
            thread::sleep(Duration::from_secs(1));
            let open = servers::resident_mb(lodge.pid())?;
            let report = running.join().ok().context("the load panicked")??;
            anyhow::Ok((report, open))
        })?;
        answer.push(number(&report, "/posts/latency_ms/p99")?);
        last.push(number(&report, "/until_last_ms/p99")?);
        cpu.push(number(&report, "/client_cpu_s")? / number(&report, "/elapsed_s")?);
        memory.push((open - before) * 1e3 / streams);
        lodge.terminate(GRACE)?;
    }
    println!(
        "\n| {RATE} posts a second, {streams} streams, {duration}, verified | median | runs |"
    );
    println!("| --- | --- | --- |");
    println!("| p99 of a post to its answer, ms | {:.2} | {answer:.2?} |", median(&answer));
    println!("| p99 of a post to the last stream, ms | {:.2} | {last:.2?} |", median(&last));
    println!(
        "| memory of the server for each stream, kB | {:.1} | {memory:.1?} |",
        median(&memory)
    );
    println!("| CPU of the load generator, cores | {:.3} | {cpu:.3?} |", median(&cpu));
    Ok(())
}
