//! CPU time and memory of processes.

use std::fs;

use anyhow::{Context as _, Result};

use crate::process;

/// CPU time that a process and its living children have used, in microseconds.
pub(crate) fn cpu_us(pid: u32) -> Result<f64> {
    let children = fs::read_to_string(format!("/proc/{pid}/task/{pid}/children"))?;
    let all = children.split_whitespace().map(str::to_owned).chain([pid.to_string()]);
    let ticks = all.map(|pid| ticks_of(&fs::read_to_string(format!("/proc/{pid}/stat"))?));
    us(ticks.sum::<Result<f64>>()?)
}

/// CPU time that a process's threads of this name have used, in microseconds.
pub(crate) fn cpu_us_of_threads(pid: u32, name: &str) -> Result<f64> {
    let mut ticks = None;
    for task in fs::read_dir(format!("/proc/{pid}/task"))? {
        let stat = fs::read_to_string(task?.path().join("stat"))?;
        if stat.contains(&format!("({name})")) {
            ticks = Some(ticks.unwrap_or_default() + ticks_of(&stat)?);
        }
    }
    us(ticks.with_context(|| format!("no thread has the name {name}"))?)
}

/// User plus system time, in a line of `stat`.
fn ticks_of(stat: &str) -> Result<f64> {
    let fields: Vec<&str> =
        stat.rsplit(')').next().unwrap_or_default().split_whitespace().collect();
    Ok(fields[11].parse::<f64>()? + fields[12].parse::<f64>()?)
}

fn us(ticks: f64) -> Result<f64> {
    let per_second: f64 = process::output("getconf", &["CLK_TCK"])?.trim().parse()?;
    Ok(ticks * 1e6 / per_second)
}

/// Memory that a process has resident, in MB.
pub(crate) fn resident_mb(pid: u32) -> Result<f64> {
    let status = fs::read_to_string(format!("/proc/{pid}/status"))?;
    let line = status.lines().find(|line| line.starts_with("VmRSS:")).context("no VmRSS")?;
    let kib: f64 = line.split_whitespace().nth(1).unwrap_or_default().parse()?;
    Ok(kib * 1024.0 / 1e6)
}
