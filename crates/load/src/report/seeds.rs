//! The figures that the systems before Lodge recorded, and what each of them measured.

use serde::Serialize;

/// One recorded run or claim.
#[derive(Debug, Clone, Copy, Serialize)]
pub(crate) struct SeedRun {
    pub(crate) system: &'static str,
    /// `get` or `put`; of rides, the question, or `post`.
    pub(crate) kind: &'static str,
    pub(crate) how: &'static str,
    /// Requests a second, as stated.
    pub(crate) rate: &'static str,
    pub(crate) mean_ms: Option<f64>,
    pub(crate) sd_ms: Option<f64>,
    pub(crate) median_ms: Option<f64>,
    pub(crate) p90_ms: Option<f64>,
    pub(crate) p99_ms: Option<f64>,
    pub(crate) max_ms: Option<f64>,
    pub(crate) measured: &'static str,
}

const NO_LATENCY: SeedRun = SeedRun {
    system: "",
    kind: "",
    how: "",
    rate: "",
    mean_ms: None,
    sd_ms: None,
    median_ms: None,
    p90_ms: None,
    p99_ms: None,
    max_ms: None,
    measured: "",
};

/// All that were recorded.
pub(crate) const SEED_RUNS: &[SeedRun] = &[
    SeedRun {
        system: "Dank",
        kind: "get",
        how: "wrk -t12 -c300, 5 VMs of 1 core and 3 GB on one i7-9700",
        rate: "7,268.39",
        mean_ms: Some(45.54),
        sd_ms: Some(51.20),
        max_ms: Some(406.31),
        measured: "Error answers: all 7,605 of 7,605 were neither 2xx nor 3xx. It ran for 1.05 s.",
        ..NO_LATENCY
    },
    SeedRun {
        system: "Dank",
        kind: "put",
        how: "wrk -t12 -c300 with a script, the same machines",
        rate: "1,762.12",
        mean_ms: Some(145.93),
        sd_ms: Some(102.85),
        max_ms: Some(656.66),
        measured: "1,872 writes in 1.06 s; whether each made a new link is not recorded.",
        ..NO_LATENCY
    },
    SeedRun {
        system: "Dank",
        kind: "get",
        how: "as claimed",
        rate: "6,000 to 8,000",
        measured: "A range in the text; the one recorded run is the row of errors.",
        ..NO_LATENCY
    },
    SeedRun {
        system: "Dank",
        kind: "put",
        how: "as claimed",
        rate: "1,500 to 2,500",
        measured: "A range in the text; one run of 1.06 s is recorded.",
        ..NO_LATENCY
    },
    SeedRun {
        system: "CSC409",
        kind: "get",
        how: "ab -n 100000 -c 100, one short, a new connection per request",
        rate: "706.69",
        mean_ms: Some(141.5),
        measured: "100,000 of 100,000 non-2xx: ab counts redirects so, and the record cannot tell them from errors.",
        ..NO_LATENCY
    },
    SeedRun {
        system: "CSC409",
        kind: "get",
        how: "100,000 requests, 5 at once",
        rate: "not stated",
        measured: "About 84 % within 10 ms and about 99 % within 20 ms.",
        ..NO_LATENCY
    },
    SeedRun {
        system: "CSC409",
        kind: "put",
        how: "ab -n 10000 -c 10, a new connection per request",
        rate: "462.54",
        mean_ms: Some(21.6),
        sd_ms: Some(24.7),
        median_ms: Some(4.0),
        p90_ms: Some(58.0),
        p99_ms: Some(69.0),
        max_ms: Some(106.0),
        measured: "One and the same pair 10,000 times: no new link after the first. Queued in Redis, not yet in the store.",
    },
    SeedRun {
        system: "CSC409",
        kind: "get",
        how: "3 hosts; 2 hosts",
        rate: "730; 560",
        measured: "Stated in the text as growth with hosts.",
        ..NO_LATENCY
    },
    SeedRun {
        system: "CSC409",
        kind: "put",
        how: "3 hosts; 2 hosts",
        rate: "500; 330",
        measured: "Stated in the text as growth with hosts.",
        ..NO_LATENCY
    },
];

/// What was recorded, and published, of lift rides.
pub(crate) const RIDE_RUNS: &[SeedRun] = &[
    ride_run("day skiers", ONE_SERVER, "4,680.42", 8.87, Some(24.0), None),
    ride_run("day skiers", FOUR_SERVERS, "5,033.03", 7.22, Some(24.0), None),
    ride_run("skier's day", ONE_SERVER, "3,495.17", 17.50, Some(25.0), Some(1011.0)),
    ride_run("skier's day", FOUR_SERVERS, "4,734.08", 8.81, Some(24.0), None),
    ride_run("skier vertical", ONE_SERVER, "4,681.10", 8.78, Some(24.0), Some(307.0)),
    ride_run("skier vertical", FOUR_SERVERS, "4,963.93", 7.18, Some(20.0), None),
    ride_run("day skiers", "300 clients, one server", "", 37.81, None, None),
    ride_run("day skiers", "400 clients, one server", "", 57.12, None, None),
    ride_run("day skiers", "300 clients, four servers behind a balancer", "", 22.44, None, None),
    ride_run("day skiers", "400 clients, four servers behind a balancer", "", 36.59, None, None),
    SeedRun {
        system: "published work",
        kind: "post",
        how: "as claimed",
        rate: "10,970",
        measured: "Nothing was durable when it was answered.",
        ..NO_LATENCY
    },
    SeedRun {
        system: "published work",
        kind: "get",
        how: "as claimed",
        rate: "3,724",
        p99_ms: Some(144.0),
        ..NO_LATENCY
    },
];

/// What was recorded of a board.
pub(crate) const BOARD_RUNS: &[SeedRun] = &[
    SeedRun {
        system: "Connect",
        kind: "post",
        how: "15,000 queries by mysqlslap, one MySQL instance (5.1)",
        mean_ms: Some(23_430.0),
        measured: "Each client sent one query 100 times. The database alone: no page, nobody who listens.",
        ..NO_LATENCY
    },
    SeedRun {
        system: "Connect",
        kind: "post",
        how: "35,000 queries by mysqlslap, three MySQL instances (5.1)",
        mean_ms: Some(2_600.0),
        measured: "The same, spread over three.",
        ..NO_LATENCY
    },
    SeedRun {
        system: "Connect",
        kind: "post",
        how: "250 clients on each of three instances, 100 queries each (5.3)",
        measured: "Checksums of the copies every 2 s: most of the time equal, apart for less than 10 s.",
        ..NO_LATENCY
    },
    SeedRun {
        system: "Connect",
        kind: "page",
        how: "10, 100 and 500 users by JMeter, on 4, 3, 2 and 1 instances (5.4)",
        measured: "Latency grew with users and fell with instances; plots without figures.",
        ..NO_LATENCY
    },
];

const ONE_SERVER: &str = "128 clients, 64,000 samples, one server";
const FOUR_SERVERS: &str = "128 clients, 64,000 samples, four servers behind a balancer";

const fn ride_run(
    kind: &'static str,
    how: &'static str,
    rate: &'static str,
    mean_ms: f64,
    p99_ms: Option<f64>,
    max_ms: Option<f64>,
) -> SeedRun {
    let mean_ms = Some(mean_ms);
    SeedRun { system: "seed", kind, how, rate, mean_ms, p99_ms, max_ms, ..NO_LATENCY }
}
