//! The servers that are measured, on loopback, in a folder that goes with them.

use std::{
    fmt::Write as _,
    fs,
    io::{Read, Write},
    net::TcpStream,
    path::{Path, PathBuf},
    process::{Command, Stdio},
    sync::atomic::{AtomicU32, Ordering},
    time::{Duration, Instant},
};

use anyhow::{Context, Result, bail};

use super::prometheus::Histograms;
use crate::process::{self, Running};

/// Where nginx listens.
pub(crate) const NGINX: &str = "127.0.0.1:18070";
/// Where Lodge listens.
pub(crate) const LODGE: &str = "127.0.0.1:18080";
const LODGE_OPS: &str = "127.0.0.1:18090";
const ACCOUNTS_OPS: &str = "127.0.0.1:18091";

/// A folder that is removed in the end.
pub(crate) struct Scratch(PathBuf);

impl Scratch {
    /// A new folder.
    pub(crate) fn new() -> Result<Self> {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let (process, number) = (std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed));
        let folder = std::env::temp_dir().join(format!("lodge-bench-{process}-{number}"));
        fs::create_dir_all(&folder)?;
        Ok(Self(folder))
    }

    /// A path in it.
    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// Builds what is measured.
pub(crate) fn build_lodge() -> Result<()> {
    process::run("cargo", &["build", "--profile", "dist", "--locked", "--package", "lodge"], &[])
}

/// The binary that is measured.
pub(crate) fn lodge_binary() -> PathBuf {
    process::root().join("target/dist/lodge")
}

/// nginx with a worker a core, answering `return 307` to everything.
pub(crate) fn start_nginx(scratch: &Scratch) -> Result<Running> {
    start_nginx_with(scratch, "return 307 https://example.org/")
}

/// The same with another directive.
pub(crate) fn start_nginx_with(scratch: &Scratch, answer: &str) -> Result<Running> {
    let folder = scratch.0.display();
    let configuration = format!(
        "worker_processes auto; daemon off; pid {folder}/nginx.pid; error_log {folder}/nginx.log;\n\
         events {{ worker_connections 4096; }}\n\
         http {{ access_log off; keepalive_requests 1000000000;\n\
           client_body_temp_path {folder}/b; proxy_temp_path {folder}/p; fastcgi_temp_path {folder}/f; uwsgi_temp_path {folder}/u; scgi_temp_path {folder}/s;\n\
           server {{ listen {NGINX} reuseport; location / {{ {answer}; }} }} }}\n"
    );
    let file = scratch.path("nginx.conf");
    fs::write(&file, configuration)?;
    let program = if Path::new("/usr/sbin/nginx").exists() { "/usr/sbin/nginx" } else { "nginx" };
    let running = Running::start(Command::new(program).arg("-c").arg(file).stdout(Stdio::null()))?;
    wait_for(NGINX)?;
    Ok(running)
}

/// Lodge as shipped, on a data folder of the scratch.
pub(crate) fn start_lodge(scratch: &Scratch, data: &str) -> Result<Running> {
    start_lodge_with(scratch, data, &[])
}

/// The same with these environment variables.
pub(crate) fn start_lodge_with(
    scratch: &Scratch,
    data: &str,
    settings: &[(&str, String)],
) -> Result<Running> {
    serve(&lodge_binary(), [LODGE, LODGE_OPS], &scratch.path(data), settings)
}

/// Any Lodge, with its two addresses: for clients, and for operators.
pub(crate) fn serve(
    lodge: &Path,
    [clients, operators]: [&str; 2],
    data: &Path,
    settings: &[(&str, String)],
) -> Result<Running> {
    let mut command = Command::new(lodge);
    command
        .args(["serve", "--listen", clients, "--ops-listen", operators, "--data"])
        .arg(data)
        .envs(settings.iter().map(|(name, value)| (name, value)))
        .stderr(Stdio::null());
    let running = Running::start(&mut command)?;
    wait_for(clients)?;
    Ok(running)
}

/// A process that keeps the accounts of a data folder for others, who find it at `wire`.
pub(crate) fn start_accounts(
    data: &Path,
    wire: &str,
    settings: &[(&str, String)],
) -> Result<Running> {
    let mut command = Command::new(lodge_binary());
    command
        .args(["serve", "--role", "accounts", "--ops-listen", ACCOUNTS_OPS, "--data"])
        .arg(data)
        .env("LODGE_ACCOUNTS_LISTEN", wire)
        .envs(settings.iter().map(|(name, value)| (name, value)))
        .stderr(Stdio::null());
    let running = Running::start(&mut command)?;
    wait_for(wire)?;
    Ok(running)
}

/// A worker of such a Lodge, that stores what waits; `number` tells it from others.
pub(crate) fn start_worker(
    scratch: &Scratch,
    number: u16,
    settings: &[(&str, String)],
) -> Result<(Running, String)> {
    let ops = format!("127.0.0.1:{}", 18_100 + number);
    let mut command = Command::new(lodge_binary());
    command
        .args(["serve", "--role", "worker", "--ops-listen", &ops, "--data"])
        .arg(scratch.path(&format!("worker-{number}")))
        .envs(settings.iter().map(|(name, value)| (name, value)))
        .stderr(Stdio::null());
    let running = Running::start(&mut command)?;
    wait_for(&ops)?;
    Ok((running, ops))
}

/// Imports `count` links `PREFIX0`, `PREFIX1`, … into a running server.
pub(crate) fn import(scratch: &Scratch, data: &str, prefix: &str, count: u32) -> Result<()> {
    import_with(&lodge_binary(), scratch, data, prefix, count)
}

/// The same with any Lodge.
pub(crate) fn import_with(
    lodge: &Path,
    scratch: &Scratch,
    data: &str,
    prefix: &str,
    count: u32,
) -> Result<()> {
    let file = scratch.path("links.csv");
    let mut text = String::from("keyword,url\n");
    for number in 0..count {
        writeln!(text, "{prefix}{number},https://example.org/some/path/{number}")?;
    }
    fs::write(&file, text)?;
    let folder = scratch.path(data).display().to_string();
    let arguments =
        ["admin", "--data", &folder, "import", &file.display().to_string(), "--from", "yourls"];
    process::output(&lodge.display().to_string(), &arguments).map(drop)
}

/// The sum of the clicks of all links.
pub(crate) fn stored_clicks(scratch: &Scratch, data: &str) -> Result<u64> {
    let file = scratch.path("export.csv");
    let folder = scratch.path(data).display().to_string();
    process::output(
        &lodge_binary().display().to_string(),
        &["admin", "--data", &folder, "export", &file.display().to_string()],
    )?;
    let text = fs::read_to_string(file)?;
    Ok(text.lines().skip(1).filter_map(|line| line.rsplit(',').next()?.parse::<u64>().ok()).sum())
}

/// A counter of Lodge's, as it says itself.
pub(crate) fn counter(line_start: &str) -> Result<u64> {
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "it counts")]
    let whole = |value: f64| value as u64;
    metric(LODGE_OPS, line_start)?.map(whole).with_context(|| format!("no metric {line_start}"))
}

/// What a process says of a metric; nothing if it has none.
pub(crate) fn metric(ops: &str, line_start: &str) -> Result<Option<f64>> {
    let text = get(ops, "/metrics")?;
    let line = text.lines().find(|line| line.starts_with(line_start));
    line.map(|line| Ok(line.rsplit(' ').next().unwrap_or_default().parse()?)).transpose()
}

/// The sum of a gauge of Lodge's over its labels.
pub(crate) fn gauges(line_start: &str) -> Result<f64> {
    let text = get(LODGE_OPS, "/metrics")?;
    let lines = text.lines().filter(|line| line.starts_with(line_start));
    let value = |line: &str| line.rsplit(' ').next().unwrap_or_default().parse::<f64>();
    lines.map(|line| Ok(value(line)?)).sum()
}

/// Below which value the `share` of what a process's histogram was told lies, in seconds; `None` if it was
/// told nothing.
pub(crate) fn quantile_s(ops: &str, name: &str, share: f64) -> Result<Option<f64>> {
    let mut histograms = Histograms::default();
    histograms.add(&get(ops, "/metrics")?);
    Ok(histograms.get(name).and_then(|histogram| histogram.quantile_s(share)))
}

/// CPU time that a process and its living children have used, in microseconds.
pub(crate) fn cpu_us(pid: u32) -> Result<f64> {
    let children = fs::read_to_string(format!("/proc/{pid}/task/{pid}/children"))?;
    let all = children.split_whitespace().map(str::to_owned).chain([pid.to_string()]);
    let mut ticks = 0.0;
    for pid in all {
        ticks += ticks_of(&fs::read_to_string(format!("/proc/{pid}/stat"))?)?;
    }
    us(ticks)
}

/// CPU time that a process's threads of that name have used, in microseconds.
pub(crate) fn cpu_us_of_threads(pid: u32, name: &str) -> Result<f64> {
    let mut ticks = None;
    for task in fs::read_dir(format!("/proc/{pid}/task"))? {
        let stat = fs::read_to_string(task?.path().join("stat"))?;
        if stat.contains(&format!("({name})")) {
            ticks = Some(ticks.unwrap_or_default() + ticks_of(&stat)?);
        }
    }
    us(ticks.with_context(|| format!("no thread is called {name}"))?)
}

/// Of the user and of the system, in a line of `stat`.
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

/// One GET, whole.
pub(crate) fn get(address: &str, path: &str) -> Result<String> {
    ask(address, "GET", path)
}

/// One `PUT` to Lodge, which must be taken.
pub(crate) fn put(path: &str) -> Result<()> {
    let answer = ask(LODGE, "PUT", path)?;
    let status = answer.split(' ').nth(1).unwrap_or_default();
    anyhow::ensure!(matches!(status, "200" | "201"), "PUT {path}: {answer}");
    Ok(())
}

fn ask(address: &str, method: &str, path: &str) -> Result<String> {
    let mut stream = TcpStream::connect(address)?;
    stream.set_read_timeout(Some(Duration::from_secs(10)))?;
    stream.write_all(
        format!("{method} {path} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n")
            .as_bytes(),
    )?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer)?;
    Ok(answer)
}

fn wait_for(address: &str) -> Result<()> {
    // A cluster may have to make its tables first.
    let deadline = Instant::now() + Duration::from_mins(1);
    while TcpStream::connect(address).is_err() {
        if Instant::now() > deadline {
            bail!("nothing listens on {address}");
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    Ok(())
}
