//! The load generator against loopback servers that work, fail, stall, lose writes or return wrong data.

#![expect(clippy::unwrap_used, clippy::panic, reason = "the helpers of tests fail by panicking")]

mod board;
mod rides;
mod server;

use std::net::SocketAddr;
use std::sync::mpsc::channel;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use clap::Parser;
use lodge_load::{LoadCommand, RunOutcome, run_to};
use serde_json::Value;
use server::{Links, Reply, Request, serve};

#[derive(Debug, Parser)]
struct Cli {
    #[command(subcommand)]
    load: LoadCommand,
}

/// The result of a run.
struct Ran {
    outcome: RunOutcome,
    json: Value,
    text: String,
    html: String,
    raw: String,
}

impl Ran {
    /// Returns a figure of the run's JSON report by its path.
    fn number(&self, pointer: &str) -> f64 {
        self.json
            .pointer(pointer)
            .and_then(Value::as_f64)
            .unwrap_or_else(|| panic!("no figure {pointer} in {}", self.json))
    }

    /// Asserts several figures below one path.
    fn are<const N: usize>(&self, path: &str, figures: [(&str, f64); N]) {
        for (name, figure) in figures {
            self.is(&format!("{path}/{name}"), figure);
        }
    }

    fn is(&self, pointer: &str, figure: f64) {
        let found = self.json.pointer(pointer).and_then(Value::as_f64).unwrap_or_default();
        assert!((found - figure).abs() < 1e-9, "{pointer} is {found}, not {figure}\n{}", self.text);
    }
}

fn load(address: SocketAddr, options: &str) -> Ran {
    load_into(address, options, &["json", "html", "raw"])
}

/// Like `load`, for a command that writes these files.
fn load_into(address: SocketAddr, options: &str, files: &[&str]) -> Ran {
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let mut words: Vec<String> =
        std::iter::once("load").chain(options.split_whitespace()).map(str::to_owned).collect();
    words.extend(["--url".to_owned(), format!("http://{address}")]);
    for kind in files {
        words.extend([format!("--{kind}"), file(kind)]);
    }
    let mut text = Vec::new();
    let outcome = run_to(&Cli::try_parse_from(words).unwrap().load, &mut text).unwrap();
    let read = |name: &str| {
        if !files.contains(&name) {
            return String::new();
        }
        std::fs::read_to_string(folder.path().join(name)).unwrap()
    };
    Ran {
        outcome,
        json: serde_json::from_str(&read("json")).unwrap(),
        text: String::from_utf8(text).unwrap(),
        html: read("html"),
        raw: read("raw"),
    }
}

fn loopback(handler: impl Fn(&Request) -> Reply + Send + Sync + 'static) -> SocketAddr {
    serve("127.0.0.1:0", handler)
}

/// A correct server, and its links.
fn sound() -> (SocketAddr, Arc<Links>) {
    let links = Arc::new(Links::default());
    let served = Arc::clone(&links);
    (loopback(move |request| served.serve(request)), links)
}

#[test]
fn an_error_answer_is_never_a_success() {
    let address = loopback(|request| match request.number % 4 {
        0 => Reply::Answer(500, String::new()),
        1 => Reply::Answer(404, String::new()),
        2 => Reply::Answer(200, String::new()),
        _ => Reply::Answer(307, "https://example.com/".to_owned()),
    });
    let ran = load(address, "links-get --shorts gg -c 4 -n 400");
    ran.are("/total/all", [("count", 400.0), ("succeeded", 100.0), ("errors", 300.0)]);
    ran.is("/total/all/error_percent", 75.0);
    for status in ["500", "404", "200"] {
        ran.is(&format!("/total/all/errors_by_kind/status {status}"), 100.0);
    }
    ran.is("/total/all/latency_ms/count", 100.0);
    assert!(ran.number("/total/all/within/3/percent") <= 25.0);
    assert_eq!(ran.outcome, RunOutcome::Passed);
}

#[test]
fn a_run_without_a_success_fails() {
    let ran =
        load(loopback(|_| Reply::Answer(503, String::new())), "links-get --shorts gg -c 2 -n 20");
    ran.are("/total/all", [("succeeded", 0.0), ("rate_per_s", 0.0)]);
    assert_eq!((ran.outcome, ran.outcome.exit_code()), (RunOutcome::Failed, 1));
}

#[test]
fn every_kind_of_error_has_its_name() {
    let address = loopback(|request| match request.number {
        0 => Reply::Close,
        1 => Reply::Hang,
        2 => Reply::Bytes(b"SSH-2.0-OpenSSH\r\n\r\n"),
        _ => Reply::Answer(307, String::new()),
    });
    let ran = load(address, "links-get --shorts gg -c 1 -n 5 --timeout 200ms");
    ran.is("/total/all/succeeded", 2.0);
    for kind in ["reset", "timeout", "malformed answer"] {
        ran.is(&format!("/total/all/errors_by_kind/{kind}"), 1.0);
    }
    assert!(ran.text.contains("not an HTTP/1.1 response"), "{}", ran.text);
}

/// A server that answers at once, except for one stall of 200 ms of the whole server.
fn stalling() -> SocketAddr {
    let gate = Mutex::new(());
    loopback(move |request| {
        let _open = gate.lock().unwrap();
        if request.number == 200 {
            let (_never, answer) = channel::<()>();
            let _ = answer.recv_timeout(Duration::from_millis(200));
        }
        Reply::Answer(307, String::new())
    })
}

#[test]
fn open_loop_latency_counts_from_the_intended_time_when_the_server_stalls() {
    let ran = load(stalling(), "links-get --shorts gg -c 8 -n 500 --rate 500");
    ran.is("/total/all/succeeded", 500.0);
    // 100 of 500 requests fell due during the stall. Counted from their sending, only the 8 on the
    // connections would be slow, and the 90th percentile fast.
    assert!(ran.number("/total/all/latency_ms/p90") >= 50.0, "{}", ran.text);
    assert!(ran.number("/total/all/latency_ms/p99") >= 150.0, "{}", ran.text);
    assert!(ran.number("/total/all/latency_ms/max") >= 190.0, "{}", ran.text);
    assert!(ran.number("/total/pacing/queued") >= 50.0, "{}", ran.text);
    // The client was not late: the server caused the wait for a connection, so it is not pacing lag.
    assert!(ran.number("/total/pacing/lag_ms/median") < 20.0, "{}", ran.text);
}

#[test]
fn a_request_that_could_not_be_sent_in_time_is_an_error() {
    let ran = load(loopback(|_| Reply::Hang), "links-put -c 2 -n 200 --rate 400 --timeout 100ms");
    ran.are("/total/all", [("count", 200.0), ("succeeded", 0.0)]);
    let (timeouts, unsent) = (
        ran.number("/total/all/errors_by_kind/timeout"),
        ran.number("/total/all/errors_by_kind/not sent"),
    );
    assert!(timeouts >= 2.0 && unsent >= 2.0, "{}", ran.text);
    // A write that timed out may have been stored; a write that was never sent was not.
    ran.are("/total/writes", [("unknown", timeouts), ("refused", unsent)]);
}

#[test]
fn writes_are_all_different_and_read_back() {
    let (address, links) = sound();
    let ran = load(address, "links-put -c 8 --threads 2 -n 300 --verify");
    ran.is("/total/all/succeeded", 300.0);
    ran.are("/total/verification", [("acknowledged", 300.0), ("verified", 300.0)]);
    assert_eq!((links.count(), ran.outcome), (300, RunOutcome::Passed));
    assert!(ran.text.contains("300 verified, 0 missing, 0 wrong"), "{}", ran.text);
}

#[test]
fn one_pair_can_be_repeated() {
    let (address, links) = sound();
    let ran = load(address, "links-put -c 4 --threads 2 -n 100 --same-pair --verify");
    ran.is("/total/writes/acknowledged", 100.0);
    ran.is("/total/verification/verified", 1.0);
    assert_eq!((links.count(), ran.outcome), (1, RunOutcome::Passed));
}

#[test]
fn verify_catches_a_lost_write() {
    let links = Links::default();
    let address = loopback(move |request| match request.number {
        41 if request.is_put() => Reply::Answer(201, String::new()),
        _ => links.serve(request),
    });
    let ran = load(address, "links-put -c 2 -n 100 --verify");
    ran.is("/total/writes/acknowledged", 100.0);
    ran.are("/total/verification", [("verified", 99.0), ("missing", 1.0)]);
    assert_eq!(ran.outcome, RunOutcome::Failed);
}

#[test]
fn verify_catches_a_wrong_target() {
    let links = Links::default();
    let address = loopback(move |request| {
        if !request.is_put() && request.number % 50 == 0 {
            return Reply::Answer(307, "https://example.com/another".to_owned());
        }
        links.serve(request)
    });
    let ran = load(address, "links-put -c 2 -n 100 --verify");
    ran.are("/total/verification", [("wrong", 2.0), ("verified", 98.0)]);
    assert_eq!(ran.outcome, RunOutcome::Failed);
    let liar = loopback(|request| {
        Reply::Answer(if request.is_put() { 201 } else { 307 }, "https://example.com/b".to_owned())
    });
    let reads = load(liar, "links-get -c 2 -n 50 --verify");
    reads.is("/total/all/errors_by_kind/wrong target", 50.0);
    assert_eq!(reads.outcome, RunOutcome::Failed);
}

#[test]
fn an_unknown_outcome_is_never_acknowledged() {
    let links = Links::default();
    let address = loopback(move |request| {
        if !request.is_put() {
            return links.get(request);
        }
        match request.number % 4 {
            0 => Reply::Answer(503, String::new()),
            1 => {
                links.store(request);
                Reply::Close
            }
            2 => Reply::Answer(409, String::new()),
            _ => links.put(request),
        }
    });
    let ran = load(address, "links-put -c 1 -n 100 --verify");
    ran.are("/total/writes", [("acknowledged", 25.0), ("refused", 25.0), ("unknown", 50.0)]);
    ran.are("/total/verification", [("verified", 25.0), ("unknown", 50.0)]);
    ran.is("/total/verification/unknown_stored", 25.0);
    assert_eq!(ran.outcome, RunOutcome::Passed);
}

#[test]
fn reads_and_writes_are_reported_separately_and_together() {
    let (address, links) = sound();
    let ran = load(address, "links-mixed -c 4 -n 400 --write-share 0.25 --links 10 --verify");
    let (reads, writes) = (ran.number("/total/get/succeeded"), ran.number("/total/put/succeeded"));
    assert!(
        (reads + writes - 400.0).abs() < 1e-9 && (50.0..150.0).contains(&writes),
        "{}",
        ran.text
    );
    ran.are("/total/verification", [("verified", writes), ("reads_checked", reads)]);
    assert!((float(links.count()) - writes - 10.0).abs() < 1e-9);
    let paced = load(address, "links-mixed -c 4 -n 110 --get-rate 1000 --put-rate 100");
    paced.is("/total/get/succeeded", 100.0);
    paced.is("/total/put/succeeded", 10.0);
    assert!(
        paced.text.contains("reads at 1000/s on 3 connections, writes at 100/s on 1 connections"),
        "{}",
        paced.text
    );
}

fn float(count: usize) -> f64 {
    f64::from(u32::try_from(count).unwrap())
}

#[test]
fn links_to_read_are_created_first_and_read_at_random() {
    let (address, links) = sound();
    let ran = load(address, "links-get --links 50 -c 4 -n 2000 --verify --prefix abc");
    ran.are("/total/all", [("count", 2000.0), ("succeeded", 2000.0)]);
    assert_eq!(links.count(), 50);
}

const CLOSING: &[u8] = b"HTTP/1.1 307 X\r\nConnection: close\r\nContent-Length: 0\r\n\r\n";

#[test]
fn a_connection_that_the_server_closes_is_reopened() {
    let ran = load(loopback(|_| Reply::Last(CLOSING)), "links-get --shorts gg -c 3 -n 60");
    ran.is("/total/all/succeeded", 60.0);
    ran.is("/total/all/connect_ms/count", 57.0);
    let (address, _) = sound();
    let each = load(address, "links-get -c 3 -n 60 --new-connections");
    each.is("/total/all/succeeded", 60.0);
    each.is("/total/all/connect_ms/count", 60.0);
}

#[test]
fn connection_close_is_obeyed_even_if_the_server_leaves_the_connection_open() {
    let ran = load(loopback(|_| Reply::Bytes(CLOSING)), "links-get --shorts gg -c 3 -n 60");
    ran.is("/total/all/succeeded", 60.0);
    ran.is("/total/all/connect_ms/count", 57.0);
}

#[test]
fn any_server_and_path_can_be_measured() {
    let seen = Arc::new(Mutex::new(Vec::new()));
    let log = Arc::clone(&seen);
    let address = loopback(move |request| {
        log.lock().unwrap().push(format!("{} {}", request.method, request.path));
        Reply::Bytes(b"HTTP/1.1 200 OK\r\nContent-Length: 99\r\n\r\n")
    });
    let ran = load(address, "links-get --path /index.html --expect 200 --head -c 1 -n 3");
    ran.is("/total/all/succeeded", 3.0);
    assert_eq!(*seen.lock().unwrap(), ["HEAD /index.html"; 3]);
}

#[test]
fn ipv6_addresses_work() {
    let Ok(probe) = std::net::TcpListener::bind("[::1]:0") else { return };
    drop(probe);
    let ran = load(
        serve("[::1]:0", |_| Reply::Answer(307, String::new())),
        "links-get --shorts gg -c 1 -n 3",
    );
    ran.is("/total/all/succeeded", 3.0);
}

#[test]
fn repeated_runs_are_reported_one_by_one_and_with_their_spread() {
    let (address, _) = sound();
    let ran = load(address, "links-get -c 2 -n 50 --repeat 3");
    ran.is("/total/all/count", 150.0);
    ran.is("/repeat/runs", 3.0);
    let rates: Vec<f64> =
        (0..3).map(|run| ran.number(&format!("/runs/{run}/all/rate_per_s"))).collect();
    let mean = rates.iter().sum::<f64>() / 3.0;
    let sd = (rates.iter().map(|rate| (rate - mean).powi(2)).sum::<f64>() / 2.0).sqrt();
    assert!(
        (ran.number("/repeat/rate_per_s/mean") - mean).abs() < 1e-6
            && (ran.number("/repeat/rate_per_s/sd") - sd).abs() < 1e-6
    );
    assert!(
        ran.text.lines().any(|line| line.starts_with("mean "))
            && ran.text.lines().any(|line| line.starts_with("sd ")),
        "{}",
        ran.text
    );
    assert!(ran.html.contains("Run by run"));
}

#[test]
fn the_raw_file_has_a_consistent_line_for_each_request() {
    let (address, _) = sound();
    let ran = load(address, "links-mixed -c 3 --threads 2 -n 3000 --new-connections");
    let mut lines = ran.raw.lines();
    assert_eq!(lines.next(), Some("start\tlate\tctime\tdtime\tttime\twait\tkind\tresult"));
    let mut count = 0;
    for line in lines {
        let cells: Vec<&str> = line.split('\t').collect();
        let figures: Vec<f64> = cells[..6].iter().map(|cell| cell.parse().unwrap()).collect();
        assert!(
            figures[0] > 1.6e9 && (figures[1] + figures[2] + figures[3] - figures[4]).abs() < 0.002,
            "{line}"
        );
        assert!(
            figures[2] > 0.0
                && figures[5] <= figures[3] + 0.002
                && ["get", "put"].contains(&cells[6])
                && cells[7] == "ok",
            "{line}"
        );
        count += 1;
    }
    assert_eq!(count, 3000);
}

#[test]
fn every_report_has_every_figure() {
    let (address, _) = sound();
    let ran = load(address, "links-mixed -c 4 -n 500 --rate 5000 --verify");
    let cells = ran.html.split("<th scope=\"row\">").chain(ran.html.split("<dt>"));
    let named: Vec<&str> =
        cells.filter_map(|rest| rest.split('<').next()).map(str::trim_start).collect();
    let rows = "requests; errors, %; successes/s; sent, KB/s; received, KB/s; min; mean; sd; median; p90; \
        p95; p99; p99.9; max; 10 ms; 20 ms; 50 ms; 100 ms; pacing lag";
    for row in rows.split("; ") {
        assert!(
            ran.text.lines().any(|line| line.trim_start().starts_with(row)),
            "no {row} in {}",
            ran.text
        );
        assert!(named.iter().any(|name| name.starts_with(row)), "no {row} in {named:?}");
    }
    for figure in ["min", "mean", "sd", "median", "p90", "p95", "p99", "p999", "max"] {
        assert!(ran.number(&format!("/total/all/latency_ms/{figure}")) > 0.0);
    }
    assert!(
        ran.number("/runs/0/all/series/0/succeeded") > 0.0
            && ran.number("/total/all/sent_kb_per_s") > 0.0
    );
    let p99 = format!("{:.3}", ran.number("/total/all/latency_ms/p99"));
    assert!(ran.text.contains(&p99) && ran.html.contains(&p99));
    for seed in ["7,268.39", "7,605 of 7,605", "145.93", "706.69", "462.54", "10,000 times"] {
        assert!(ran.html.contains(seed), "no {seed}");
    }
}

#[test]
fn the_page_is_self_contained_and_its_plots_have_text_alternatives() {
    let (address, _) = sound();
    let ran = load(address, "links-mixed -c 2 -n 200");
    for outside in ["<script", "<link", "<img", "src=", "url(", "@import"] {
        assert!(!ran.html.contains(outside), "{outside}");
    }
    assert_eq!(ran.html.matches("role=\"img\"").count(), 3);
    assert_eq!(ran.html.matches("<desc").count(), 3);
    assert!(
        ran.html.contains("prefers-color-scheme: dark")
            && ran.html.contains("lang=\"en\"")
            && !ran.html.contains("NaN")
            && !ran.html.contains(">inf")
    );
}

#[test]
fn an_unreachable_server_is_reported_with_its_address() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    drop(listener);
    let cli =
        Cli::try_parse_from(["load", "links-get", "--url", &format!("http://{address}")]).unwrap();
    let error = run_to(&cli.load, &mut Vec::new()).unwrap_err();
    assert!(
        format!("{error:#}").contains(&format!("cannot connect to http://{address}")),
        "{error:#}"
    );
}
