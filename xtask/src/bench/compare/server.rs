//! A running server of one of the two binaries.

use std::path::Path;

use anyhow::{Result, ensure};

use super::workloads::{Setup, Workload};
use crate::bench::{
    figures::Served,
    lodge::{Lodge, Scratch, Server, local},
    usage::cpu_us,
};

/// A binary that is not running yet.
#[derive(Clone, Copy)]
pub(super) struct Binary<'a> {
    pub(super) lodge: &'a Path,
    /// The binary that generates the load, the same for both.
    pub(super) generator: &'a Path,
    /// The first of the two ports that it listens on.
    pub(super) port: u16,
}

/// A running binary with its own data folder.
pub(super) struct Side {
    // Dropped before its folder.
    pub(super) lodge: Server,
    _folder: Scratch,
}

/// The sums of the slices of a run.
pub(super) struct Run {
    requests: f64,
    elapsed_s: f64,
    cpu_us_before: f64,
}

impl Run {
    pub(super) fn begin(side: &Side) -> Result<Self> {
        Ok(Self { requests: 0.0, elapsed_s: 0.0, cpu_us_before: cpu_us(side.lodge.pid())? })
    }

    /// Adds the run to `served`, with the CPU time between its slices: work that a server puts off is counted.
    pub(super) fn end(self, side: &Side, served: &mut Served) -> Result<()> {
        let cpu_us = cpu_us(side.lodge.pid())? - self.cpu_us_before;
        served.add(self.requests, self.requests / self.elapsed_s, cpu_us);
        Ok(())
    }
}

impl Binary<'_> {
    /// Starts the binary on a new folder, prepared for a workload.
    pub(super) fn serve(self, ground: &Setup) -> Result<Side> {
        let folder = Scratch::new()?;
        let lodge = Lodge::of(self.lodge, folder.path("")).loaded_by(self.generator);
        let mut lodge = lodge.at(local(self.port), local(self.port + 1));
        for (name, value) in ground.settings {
            lodge = lodge.with(name, value);
        }
        if ground.accounts > 0 {
            lodge.seed(ground.accounts.into(), ground.accounts.into())?;
        }
        let lodge = lodge.start()?;
        if ground.links > 0 {
            lodge.import("r", ground.links)?;
        }
        Ok(Side { lodge, _folder: folder })
    }
}

impl Side {
    /// Runs the slice of a workload with this number, and adds it to `run`.
    pub(super) fn measure(&self, workload: &Workload, slice: u32, run: &mut Run) -> Result<()> {
        let answered = (workload.run)(&self.lodge, slice)?;
        ensure!(answered.requests > 0.0, "no request was answered");
        run.requests += answered.requests;
        run.elapsed_s += answered.requests / answered.per_second;
        Ok(())
    }
}
