//! nginx, and Lodge beside it on the same machine.

use std::{
    fs,
    net::SocketAddr,
    path::Path,
    process::{Command, Stdio},
    thread,
    time::{Duration, Instant},
};

use anyhow::{Result, ensure};

use super::{
    Options,
    lodge::{Scratch, Server, local},
    usage, wrk,
};
use crate::{http::Http, process::Running};

/// How long it may take to start.
const PATIENCE: Duration = Duration::from_secs(10);

/// nginx, until this is dropped.
pub(crate) struct Nginx {
    process: Running,
    address: SocketAddr,
}

impl Nginx {
    /// With a worker a core, answering everything by one directive.
    pub(crate) fn start(scratch: &Scratch, answer: &str) -> Result<Self> {
        let (folder, address) = (scratch.path(""), local(18_070));
        let folder = folder.display();
        let configuration = format!(
            "worker_processes auto; daemon off; pid {folder}/nginx.pid; error_log {folder}/nginx.log;\n\
             events {{ worker_connections 4096; }}\n\
             http {{ access_log off; keepalive_requests 1000000000;\n\
               client_body_temp_path {folder}/b; proxy_temp_path {folder}/p; fastcgi_temp_path {folder}/f; uwsgi_temp_path {folder}/u; scgi_temp_path {folder}/s;\n\
               server {{ listen {address} reuseport; location / {{ {answer}; }} }} }}\n"
        );
        let file = scratch.path("nginx.conf");
        fs::write(&file, configuration)?;
        let usual = Path::new("/usr/sbin/nginx");
        let program = if usual.exists() { usual } else { Path::new("nginx") };
        let mut command = Command::new(program);
        let process = Running::start(command.arg("-c").arg(file).stdout(Stdio::null()))?;
        let (http, deadline) = (Http::new(), Instant::now() + PATIENCE);
        while http.send("GET", address, "/").is_none() {
            ensure!(Instant::now() < deadline, "nginx does not answer at {address}");
            thread::sleep(Duration::from_millis(5));
        }
        Ok(Self { process, address })
    }
}

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
    nginx: &Nginx,
    lodge: &Server,
    options: &Options,
    script: Option<&str>,
    path: &str,
) -> Result<Beside> {
    let script = script.map(|text| lodge.write(wrk::SCRIPT, text)).transpose()?;
    let mut beside = Beside::default();
    for _ in 0..options.runs {
        for (side, pid, address) in [
            (&mut beside.nginx, nginx.process.pid(), nginx.address),
            (&mut beside.lodge, lodge.pid(), lodge.address()),
        ] {
            let before = usage::cpu_us(pid)?;
            let url = format!("http://{address}{path}");
            let run = wrk::run(2, 100, options.seconds, script.as_deref(), &url)?;
            ensure!(run.errors == 0.0, "errors at {url}: {run:?}");
            side.per_second.push(run.per_second);
            side.cpu_us.push((usage::cpu_us(pid)? - before) / run.requests);
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
