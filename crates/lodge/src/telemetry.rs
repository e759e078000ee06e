//! Logs and metrics.

use std::{io::IsTerminal, time::Duration};

use anyhow::{Context, Result};
use lodge_domain::rides::ProcessTotals;
use lodge_web::edge::instruments;
use metrics_exporter_prometheus::{Matcher, PrometheusBuilder, PrometheusHandle};
use tracing_appender::non_blocking::{NonBlockingBuilder, WorkerGuard};

use crate::config::{LogConfig, LogFormat};

/// The interval at which histogram samples are folded into buckets between scrapes.
pub(crate) const UPKEEP: Duration = Duration::from_secs(1);

/// Histogram buckets for deliberate waiting in a queue: upper bounds in seconds.
const DRAIN_LAG_BUCKETS: [f64; 16] =
    [0.1, 0.25, 0.5, 1.0, 2.0, 3.0, 4.0, 6.0, 8.0, 12.0, 16.0, 24.0, 32.0, 64.0, 128.0, 256.0];

/// Log lines waiting to be written. Further lines are dropped, so that a slow terminal or disk slows
/// no request.
const LINES_WAITING_MAX: usize = 8_192;

/// Starts logging to standard error. Dropping the guard writes the waiting lines.
pub(crate) fn start_logs(log: &LogConfig) -> Result<WorkerGuard> {
    let (writer, guard) = NonBlockingBuilder::default()
        .lossy(true)
        .buffered_lines_limit(LINES_WAITING_MAX)
        .finish(std::io::stderr());
    let builder = tracing_subscriber::fmt()
        .with_env_filter(log.levels()?)
        .with_writer(writer)
        .with_ansi(std::io::stderr().is_terminal());
    let started = match log.format {
        LogFormat::Human => builder.with_target(false).try_init(),
        LogFormat::Json => builder.json().flatten_event(true).try_init(),
    };
    started.map_err(|error| anyhow::anyhow!("cannot start logging: {error}"))?;
    Ok(guard)
}

/// Installs the global metrics recorder.
pub(crate) fn start_metrics() -> Result<PrometheusHandle> {
    let builder = PrometheusBuilder::new()
        .set_buckets_for_metric(
            Matcher::Suffix("_seconds".to_owned()),
            &instruments::LATENCY_BUCKETS,
        )?
        .set_buckets_for_metric(
            Matcher::Full("lodge_links_drain_lag_seconds".to_owned()),
            &DRAIN_LAG_BUCKETS,
        )?;
    let recorder = builder.build_recorder();
    let handle = recorder.handle();
    metrics::set_global_recorder(recorder).context("cannot start metrics")?;
    describe();
    Ok(handle)
}

fn describe() {
    for (counter, what) in COUNTERS {
        metrics::describe_counter!(counter, what);
        // Exported as 0 from the start, so that an alert can tell zero from missing.
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
        ("lodge_http_connections_refused_total", "Connections refused because of the limit"),
        (RIDE_EVENTS, "Ride events processed, by outcome"),
    ] {
        metrics::describe_counter!(counter, what);
    }
    for (gauge, what) in [
        ("lodge_http_connections", "Open connections"),
        ("lodge_http_streams", "Open streams, by kind"),
        (
            "lodge_links_clicks_lost",
            "Clicks dropped because the store was unavailable for too long",
        ),
        ("lodge_wire_connections", "Open connections from the web tier"),
    ] {
        metrics::describe_gauge!(gauge, what);
    }
    for (latency, what) in LATENCIES {
        metrics::describe_histogram!(latency, metrics::Unit::Seconds, what);
    }
    export_ride_counts(&ProcessTotals::default());
}

/// Counter of ride events, labelled with `outcome`.
const RIDE_EVENTS: &str = "lodge_rides_events_total";

/// Exports the ride event counts since the process started.
pub(crate) fn export_ride_counts(progress: &ProcessTotals) {
    let &ProcessTotals { stored, duplicates, refused, .. } = progress;
    for (outcome, events) in [("stored", stored), ("duplicate", duplicates), ("refused", refused)] {
        metrics::counter!(RIDE_EVENTS, "outcome" => outcome).absolute(events);
    }
}

/// Counters without labels.
const COUNTERS: [(&str, &str); 15] = [
    (
        "lodge_http_connections_per_address_refused_total",
        "Connections refused because their address has too many",
    ),
    (
        "lodge_http_proxy_headers_failed_total",
        "Connections of trusted proxies closed because they do not begin with a valid PROXY header in time",
    ),
    ("lodge_links_clicks_stored_total", "Clicks stored"),
    (
        "lodge_links_click_batches_failed_total",
        "Click batches that failed to be stored; they are retried",
    ),
    ("lodge_rides_limited_total", "Ride events over a rate limit; also counted as refused"),
    ("lodge_accounts_cache_hits_total", "Session lookups answered from the cache"),
    ("lodge_accounts_cache_misses_total", "Session lookups sent to the accounts backend"),
    ("lodge_accounts_copies_found_total", "Session lookups answered from a copy in Redis"),
    (
        "lodge_accounts_copies_missed_total",
        "Session lookups for which Redis was used, and that the store answered",
    ),
    (
        "lodge_security_events_dropped_total",
        "Security events that were logged but not stored, because too many waited",
    ),
    ("lodge_wire_connections_refused_total", "Connections refused by the accounts tier's limit"),
    ("lodge_wire_dials_failed_total", "Failed connection attempts to the accounts tier"),
    ("lodge_wire_calls_repeated_total", "Calls made again because their connection was lost"),
    ("lodge_wire_hellos_failed_total", "Connections that failed to prove their key or certificate"),
    ("lodge_wire_strangers_dropped_total", "Pending handshakes closed to admit newer ones"),
];

/// Latency histograms: of whole requests, and of the sections of account requests.
const LATENCIES: [(&str, &str); 18] = [
    (instruments::LATENCY, "From request head to response head, by method and route"),
    ("lodge_wire_get_connection_seconds", "Wait of a call for a connection, successful or not"),
    ("lodge_wire_send_seconds", "From a frame ready to send to its last byte"),
    ("lodge_wire_round_trip_seconds", "From a call with a connection to its response"),
    ("lodge_wire_free_connection_seconds", "From a response to the release of its call slot"),
    ("lodge_accounts_store_read_seconds", "Reads of the accounts store, including queueing"),
    (
        "lodge_accounts_store_write_seconds",
        "Writes to the accounts store, including queueing and commit",
    ),
    ("lodge_accounts_token_update_seconds", "Writes that start a session"),
    ("lodge_accounts_cache_hit_seconds", "Session lookups answered from the cache"),
    ("lodge_accounts_cache_miss_seconds", "Session lookups sent to the accounts backend"),
    ("lodge_accounts_cache_write_seconds", "Writes of a session to the cache"),
    ("lodge_mariadb_wait_seconds", "Wait of a transaction for a connection to MariaDB"),
    (
        "lodge_mariadb_transaction_seconds",
        "Statements of a transaction in MariaDB, with its repetitions and COMMIT",
    ),
    ("lodge_accounts_redis_get_seconds", "Reads of a copy of a session from Redis, found or not"),
    ("lodge_accounts_redis_set_seconds", "Writes of a copy of a session to Redis"),
    ("lodge_accounts_provider_seconds", "Requests to identity providers, by provider and outcome"),
    ("lodge_passwords_wait_seconds", "Wait of a password for a hashing thread"),
    ("lodge_passwords_work_seconds", "Hashing of a password"),
];
