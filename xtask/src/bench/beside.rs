//! Lodge beside nginx on the same machine.

use std::path::Path;

use anyhow::{Result, ensure};

use super::{
    Options,
    servers::{self, LODGE, NGINX},
    wrk,
};
use crate::process::Running;

/// What each run of both came to.
#[derive(Default)]
pub(crate) struct Beside {
    pub(crate) lodge: Side,
    pub(crate) nginx: Side,
}

/// What each run of one server came to.
#[derive(Default)]
pub(crate) struct Side {
    /// Answers a second.
    pub(crate) per_second: Vec<f64>,
    /// CPU for an answer, in µs.
    pub(crate) cpu_us: Vec<f64>,
}

/// Alternating runs of `wrk -t2 -c100` on nginx and Lodge.
pub(crate) fn alternate(
    nginx: &Running,
    lodge: &Running,
    options: &Options,
    script: Option<&Path>,
    path: &str,
) -> Result<Beside> {
    let mut beside = Beside::default();
    for _ in 0..options.runs {
        for (side, server, address) in
            [(&mut beside.nginx, nginx, NGINX), (&mut beside.lodge, lodge, LODGE)]
        {
            let before = servers::cpu_us(server.pid())?;
            let url = format!("http://{address}{path}");
            let run = wrk::run(2, 100, options.seconds, script, &url)?;
            ensure!(run.errors == 0.0, "errors at {url}: {run:?}");
            side.per_second.push(run.per_second);
            side.cpu_us.push((servers::cpu_us(server.pid())? - before) / run.requests);
        }
    }
    Ok(beside)
}

impl Beside {
    /// Lodge's answers to nginx's, run by run.
    pub(crate) fn ratios(&self) -> Vec<f64> {
        let pairs = self.lodge.per_second.iter().zip(&self.nginx.per_second);
        pairs.map(|(lodge, nginx)| lodge / nginx).collect()
    }
}
