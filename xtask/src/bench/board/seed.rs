//! The seed's tests: as many users as on its pages, and as many clients as on its databases.

use anyhow::Result;

use super::{BoardOptions, Budget, start};
use crate::bench::{
    figures::{columns, table},
    lodge::Scratch,
};

/// Users, and the messages of each, one after the other. The seed does not state the messages of its 10, 100
/// and 500 users.
const USERS: [(u32, u32); 4] = [(10, 20), (100, 20), (500, 20), (250, 100)];
/// The largest number of users.
pub(super) const USERS_MAX: u32 = 500;
/// Minutes for all runs.
const BUDGET: u64 = 3;

/// The figures of a row, by their place in the report.
const FIGURES: [&str; 6] = [
    "/posts/rate_per_s",
    "/posts/latency_ms/mean",
    "/posts/latency_ms/median",
    "/posts/latency_ms/p99",
    "/posts/latency_ms/max",
    "/until_last_ms/p99",
];

/// Every account has a stream open while it posts, and each run is verified.
pub(super) fn users(options: &BoardOptions, scratch: &Scratch) -> Result<()> {
    let lodge = start(scratch)?;
    let run = |&(users, messages): &(u32, u32)| {
        let load = format!("board --users {} --messages {messages}", options.users(users));
        let prove = "--tokens tokens --verify --catch-up 2m";
        lodge.load(&format!("{load} {prove}"))?.numbers(FIGURES)
    };
    // All rows in each round, so that changes on the machine affect all rows alike.
    let rounds = Budget::minutes(BUDGET)
        .runs(options.common.runs, || USERS.iter().map(run).collect::<Result<Vec<_>>>())?;
    println!(
        "\nEach user posts one message after the other as soon as the last is answered, and has a\n\
         stream open with all users' messages; each run is verified. To the answer: what a user waits\n\
         for. To the last stream: until all users had it; a closed loop posts as fast as it can, so\n\
         streams may lag. Figures: the median of the runs (minimum to maximum)."
    );
    table([
        "users × messages",
        "posts/s, all users",
        "mean to the answer, ms",
        "median, ms",
        "p99, ms",
        "longest, ms",
        "p99 to the last stream, ms",
    ]);
    for (row, (users, messages)) in USERS.iter().enumerate() {
        let runs: Vec<_> = rounds.iter().map(|round| round[row]).collect();
        let figures = columns(&runs).map(|figure| figure.spread()).join(" | ");
        println!("| {} × {messages} | {figures} |", options.users(*users));
    }
    println!(
        "\nThe seed's own figures are of MySQL alone, under mysqlslap with 50 to 350 clients, each with\n\
         one query 100 times: no web server, no page, no streams. A query took 23.43 s\n\
         on average on one database with 15,000 of them in all, and 2.6 s on three in a ring with\n\
         35,000. With 250 clients × 100 queries on each of the three, their copies differed for less\n\
         than 10 s. 10, 100 and 500 users are those of its pages under JMeter, of which it has plots\n\
         and no figures. Other machines and other requests: no factor follows from it."
    );
    Ok(())
}
