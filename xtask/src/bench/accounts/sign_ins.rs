//! Sign-ins per second of the hash threads' CPU time.

use anyhow::Result;

use super::Measured;
use crate::bench::{
    figures::{columns, table},
    usage::cpu_us_of_threads,
};

/// The name of the hash threads.
const HASH_THREADS: &str = "lodge-argon2";

/// A closed loop, so that the hash threads never idle.
pub(super) fn per_cpu_second(measured: &Measured<'_>) -> Result<()> {
    let lodge = measured.start()?;
    let (users, seconds) = (measured.users, measured.common.seconds);
    let runs = measured.common.each_run(|run| {
        let before = cpu_us_of_threads(lodge.pid(), HASH_THREADS)?;
        let report = lodge
            .load(&format!(
                "accounts-sign-in --users {users} --connections 8 --seed {run} --duration {seconds}s"
            ))?
            .without_errors("/total/all")?;
        let used_s = (cpu_us_of_threads(lodge.pid(), HASH_THREADS)? - before) / 1e6;
        Ok([
            report.number("/total/all/succeeded")? / used_s,
            report.number("/total/all/rate_per_s")?,
            report.number("/total/all/latency_ms/p99")?,
        ])
    })?;
    let [per_cpu_s, rates, p99s] = columns(&runs);
    table(["sign-ins on 8 connections, 19 MiB, t=2, p=1", ""]);
    println!(
        "| a second of the hash threads' CPU time (bar 85, ceiling of the hash 94–117) | {per_cpu_s:.1}; runs {per_cpu_s:.1?} |"
    );
    println!("| a second | {rates:.1} |\n| p99, ms | {p99s:.0} |");
    measured.common.bar("85 sign-ins per second of CPU time", per_cpu_s.median() >= 85.0)
}
