//! Logs and metrics.

use std::{io::IsTerminal, time::Duration};

use anyhow::{Context, Result};
use lodge_domain::rides::Progress;
use lodge_web::edge::instruments;
use metrics_exporter_prometheus::{Matcher, PrometheusBuilder, PrometheusHandle};
use tracing_appender::non_blocking::{NonBlockingBuilder, WorkerGuard};
use tracing_subscriber::EnvFilter;

use crate::config::{Log, LogFormat};

/// How often samples are folded into their histograms between two scrapes.
pub(crate) const UPKEEP: Duration = Duration::from_secs(1);

/// The upper bounds of buckets for what waits in a queue on purpose, in seconds.
const WAITING_BUCKETS: [f64; 16] =
    [0.1, 0.25, 0.5, 1.0, 2.0, 3.0, 4.0, 6.0, 8.0, 12.0, 16.0, 24.0, 32.0, 64.0, 128.0, 256.0];

/// Lines that wait to be written; past it lines are dropped, so that a slow terminal or disk slows
/// no request.
const LINES_WAITING_MAX: usize = 8_192;

/// What drivers say unless `log.filter` says otherwise: the Cassandra driver tells of every connection,
/// and warns of the quick pulse that finds a node that hangs.
const DRIVERS: &str = "scylla=warn,scylla::client::session_builder=error";

/// Starts logging to standard error. What waits is written when the guard goes.
pub(crate) fn start_logs(log: &Log) -> Result<WorkerGuard> {
    let filter = EnvFilter::try_new(format!("{DRIVERS},{}", log.filter));
    let filter = filter.context("log.filter cannot be read")?;
    let (writer, guard) = NonBlockingBuilder::default()
        .lossy(true)
        .buffered_lines_limit(LINES_WAITING_MAX)
        .finish(std::io::stderr());
    let builder = tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(writer)
        .with_ansi(std::io::stderr().is_terminal());
    let started = match log.format {
        LogFormat::Human => builder.with_target(false).try_init(),
        LogFormat::Json => builder.json().flatten_event(true).try_init(),
    };
    started.map_err(|error| anyhow::anyhow!("logging cannot start: {error}"))?;
    Ok(guard)
}

/// Installs the recorder that every instrument reports to.
pub(crate) fn start_metrics() -> Result<PrometheusHandle> {
    let builder = PrometheusBuilder::new()
        .set_buckets_for_metric(
            Matcher::Suffix("_seconds".to_owned()),
            &instruments::LATENCY_BUCKETS,
        )?
        .set_buckets_for_metric(
            Matcher::Full("lodge_links_drain_lag_seconds".to_owned()),
            &WAITING_BUCKETS,
        )?;
    let recorder = builder.build_recorder();
    let handle = recorder.handle();
    metrics::set_global_recorder(recorder).context("metrics cannot start")?;
    describe();
    Ok(handle)
}

fn describe() {
    for (counter, what) in COUNTERS {
        metrics::describe_counter!(counter, what);
        // There from the start, so that an alert can tell none from unknown.
        metrics::counter!(counter).increment(0);
    }
    for counter in [
        "lodge_links_behind_refused_total",
        "lodge_links_dead_letters_total",
        "lodge_links_stale_total",
    ] {
        metrics::counter!(counter).increment(0);
    }
    for (counter, what) in [
        ("lodge_http_requests_total", "Requests, by method, route and status"),
        ("lodge_http_connections_refused_total", "Connections past the limit"),
        (RIDE_EVENTS, "Events about rides that were decided on, by what came of them"),
    ] {
        metrics::describe_counter!(counter, what);
    }
    for (gauge, what) in [
        ("lodge_http_connections", "Open connections"),
        ("lodge_http_streams", "Open streams, by kind"),
        ("lodge_links_clicks_lost", "Clicks dropped because the store took none for too long"),
        ("lodge_wire_connections", "Connections of the web tier"),
    ] {
        metrics::describe_gauge!(gauge, what);
    }
    for (latency, what) in LATENCIES {
        metrics::describe_histogram!(latency, metrics::Unit::Seconds, what);
    }
    count_rides(&Progress::default());
}

/// Events about rides, by outcome.
const RIDE_EVENTS: &str = "lodge_rides_events_total";

/// Tells what has come of events about rides since the process started.
pub(crate) fn count_rides(progress: &Progress) {
    let &Progress { stored, duplicates, refused, .. } = progress;
    for (outcome, events) in [("stored", stored), ("duplicate", duplicates), ("refused", refused)] {
        metrics::counter!(RIDE_EVENTS, "outcome" => outcome).absolute(events);
    }
}

/// Counters without labels.
const COUNTERS: [(&str, &str); 9] = [
    ("lodge_links_clicks_stored_total", "Clicks stored"),
    (
        "lodge_links_click_batches_failed_total",
        "Click batches that the store did not take; they are sent again",
    ),
    ("lodge_rides_limited_total", "Events about rides past a limit; they are among the refused"),
    ("lodge_accounts_cache_hits_total", "Sessions that were found in memory"),
    ("lodge_accounts_cache_misses_total", "Sessions that the accounts were asked for"),
    ("lodge_wire_connections_refused_total", "Connections of the web tier past the limit"),
    ("lodge_wire_dials_failed_total", "Dials of the accounts tier that came to nothing"),
    ("lodge_wire_hellos_failed_total", "Connections whose key or certificate was not proved"),
    ("lodge_wire_strangers_dropped_total", "Such connections closed for newer ones"),
];

/// The latencies: of whole requests, and of the sections of those about accounts.
const LATENCIES: [(&str, &str); 14] = [
    (instruments::LATENCY, "From a request's head to its answer's, by method and route"),
    (
        "lodge_wire_get_connection_seconds",
        "From a call to the connection that takes it, if any does",
    ),
    ("lodge_wire_send_seconds", "From a frame that can be sent to its last byte"),
    ("lodge_wire_round_trip_seconds", "From a call that has its connection to its answer"),
    ("lodge_wire_free_connection_seconds", "From an answer to its place for the next call"),
    ("lodge_accounts_store_read_seconds", "A read of the accounts' store, its wait included"),
    ("lodge_accounts_store_write_seconds", "A write to it, its wait and commit included"),
    ("lodge_accounts_token_update_seconds", "The write with which a session begins"),
    ("lodge_accounts_cache_hit_seconds", "Who is signed in, found in memory"),
    ("lodge_accounts_cache_miss_seconds", "Who is signed in, asked of the accounts"),
    ("lodge_accounts_cache_write_seconds", "Somebody remembered as signed in"),
    ("lodge_accounts_provider_seconds", "What a provider is asked, by provider and outcome"),
    ("lodge_passwords_wait_seconds", "From a password to the thread that hashes it"),
    ("lodge_passwords_work_seconds", "The hashing of a password"),
];
