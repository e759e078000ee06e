//! Runs `wrk` and parses its output.

use std::path::Path;

use anyhow::{Context, Result};

use crate::process;

/// The name of a script's file.
pub(crate) const SCRIPT: &str = "script.lua";

/// The result of a run of wrk.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Run {
    /// Answers.
    pub(crate) requests: f64,
    /// Answers a second.
    pub(crate) per_second: f64,
    /// Answers that were neither 2xx nor 3xx, and socket errors.
    pub(crate) errors: f64,
}

/// Runs `wrk -tT -cC -dSs [-s SCRIPT] URL`.
pub(crate) fn run(
    threads: u32,
    connections: u32,
    seconds: u32,
    script: Option<&Path>,
    url: &str,
) -> Result<Run> {
    let (threads, connections, duration) =
        (format!("-t{threads}"), format!("-c{connections}"), format!("-d{seconds}s"));
    let mut arguments = vec![threads.as_str(), connections.as_str(), duration.as_str()];
    let script = script.map(|script| script.display().to_string());
    if let Some(script) = &script {
        arguments.extend(["-s", script.as_str()]);
    }
    arguments.push(url);
    let text = process::output("wrk", &arguments)?;
    parse(&text).with_context(|| format!("wrk printed:\n{text}"))
}

fn parse(text: &str) -> Option<Run> {
    let number = |line: &str, word: usize| {
        line.split_whitespace().nth(word)?.trim_end_matches(',').parse::<f64>().ok()
    };
    let find = |mark: &str| text.lines().find(|line| line.contains(mark));
    let bad_status =
        find("Non-2xx").and_then(|line| line.rsplit(' ').next()?.parse().ok()).unwrap_or(0.0);
    let socket: f64 = find("Socket errors")
        .map_or(0.0, |line| [3, 5, 7, 9].iter().filter_map(|word| number(line, *word)).sum());
    Some(Run {
        requests: number(find("requests in")?, 0)?,
        per_second: number(find("Requests/sec")?, 1)?,
        errors: bad_status + socket,
    })
}
