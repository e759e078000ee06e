//! nginx, and comparisons of Lodge with it.

use std::{
    fs,
    net::SocketAddr,
    path::Path,
    process::{Command, Stdio},
    time::Duration,
};

use anyhow::{Result, ensure};
use lodge_testbed::wait_until;

use super::{
    Options,
    figures::Served,
    lodge::{Scratch, Server, local},
    usage, wrk,
};
use crate::{http::Http, process::Running};

/// Timeout of starting.
const PATIENCE: Duration = Duration::from_secs(10);

/// A running nginx, which is stopped on drop.
pub(crate) struct Nginx {
    process: Running,
    address: SocketAddr,
}

impl Nginx {
    /// Starts nginx with a worker per core; `answer` is the directive for every request.
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
        let http = Http::new();
        let answers = || http.send("GET", address, "/").is_some();
        wait_until(&format!("nginx at {address}"), PATIENCE, answers)?;
        Ok(Self { process, address })
    }
}

/// Runs `wrk -t2 -c100` alternately on nginx and Lodge; returns the runs of Lodge and those of nginx.
pub(crate) fn alternate(
    nginx: &Nginx,
    lodge: &Server,
    options: &Options,
    script: Option<&str>,
    path: &str,
) -> Result<(Served, Served)> {
    let script = script.map(|text| lodge.write(wrk::SCRIPT, text)).transpose()?;
    let (mut of_lodge, mut of_nginx) = (Served::default(), Served::default());
    for _ in 0..options.runs {
        for (served, pid, address) in [
            (&mut of_nginx, nginx.process.pid(), nginx.address),
            (&mut of_lodge, lodge.pid(), lodge.address()),
        ] {
            let before = usage::cpu_us(pid)?;
            let url = format!("http://{address}{path}");
            let run = wrk::run(2, 100, options.seconds, script.as_deref(), &url)?;
            ensure!(run.errors == 0.0, "errors at {url}: {run:?}");
            served.add(run.requests, run.per_second, usage::cpu_us(pid)? - before);
        }
    }
    Ok((of_lodge, of_nginx))
}
