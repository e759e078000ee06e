//! How many sign-ins a second of the hash threads' CPU time is good for.

use anyhow::{Result, ensure};

use super::{AccountsOptions, seeded, start};
use crate::bench::{
    links::{load, number},
    median,
    servers::{self, Scratch},
};

/// What the hash threads are called.
const HASH_THREADS: &str = "lodge-argon2";

/// Closed loop, so that the hash threads never wait.
pub(super) fn per_cpu_second(options: &AccountsOptions) -> Result<()> {
    let (seeded, scratch) = (seeded::folder(options)?, Scratch::new()?);
    let lodge = start(&scratch, &seeded)?;
    let users = options.users.to_string();
    let (mut rates, mut per_cpu_s, mut p99s) = (vec![], vec![], vec![]);
    for run in 1..=options.runs {
        let run = run.to_string();
        let sign_in = ["accounts-sign-in", "--users", &users, "--connections", "8", "--seed", &run];
        let before = servers::cpu_us_of_threads(lodge.pid(), HASH_THREADS)?;
        let report = load(&scratch, &options.of_load(), &sign_in)?;
        let used_s = (servers::cpu_us_of_threads(lodge.pid(), HASH_THREADS)? - before) / 1e6;
        ensure!(number(&report, "/total/all/errors")? == 0.0, "errors: {}", report["total"]["all"]);
        per_cpu_s.push(number(&report, "/total/all/succeeded")? / used_s);
        rates.push(number(&report, "/total/all/rate_per_s")?);
        p99s.push(number(&report, "/total/all/latency_ms/p99")?);
    }
    println!("\n| sign-ins on 8 connections, 19 MiB, t=2, p=1 | |");
    println!("| --- | --- |");
    println!(
        "| a second of the hash threads' CPU time (bar 85, ceiling of the hash 94–117) | {:.1}; runs {per_cpu_s:.1?} |",
        median(&per_cpu_s)
    );
    println!("| a second | {:.1} |", median(&rates));
    println!("| p99, ms | {:.0} |", median(&p99s));
    options.bar("85 for a second of CPU time", median(&per_cpu_s) >= 85.0)
}
