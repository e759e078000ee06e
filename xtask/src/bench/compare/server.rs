//! A running server of one of the two binaries.

use std::path::Path;

use anyhow::{Result, ensure};

use super::workloads::{Run, Setup, Workload};
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
    /// Runs a workload once, and adds the run to `served`.
    pub(super) fn measure(&self, workload: &Workload, run: Run, served: &mut Served) -> Result<()> {
        let before = cpu_us(self.lodge.pid())?;
        let answered = (workload.run)(&self.lodge, run)?;
        let cpu_us = cpu_us(self.lodge.pid())? - before;
        ensure!(answered.requests > 0.0, "no request was answered");
        served.add(answered.requests, answered.per_second, cpu_us);
        Ok(())
    }
}
