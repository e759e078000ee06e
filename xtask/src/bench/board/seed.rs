//! The seed's own tests: as many users as its pages had, and as many clients as its databases.

use anyhow::Result;
use serde_json::Value;

use super::{BoardOptions, Budget, spread, start, tokens};
use crate::bench::{
    links::{load_to_its_end, number},
    servers::Scratch,
};

/// Users, and the messages of each, one after the other. The seed does not say how much each of its 10, 100
/// and 500 users did.
const USERS: [(u32, u32); 4] = [(10, 20), (100, 20), (500, 20), (250, 100)];
/// The most of them.
pub(super) const USERS_MAX: u32 = 500;
/// Minutes for all runs.
const BUDGET: u64 = 3;

/// What a row says of a run, by its place in the report.
const FIGURES: [&str; 6] = [
    "/posts/rate_per_s",
    "/posts/latency_ms/mean",
    "/posts/latency_ms/median",
    "/posts/latency_ms/p99",
    "/posts/latency_ms/max",
    "/until_last_ms/p99",
];

/// Every account listens while it posts, and each run is proved.
pub(super) fn users(options: &BoardOptions, scratch: &Scratch) -> Result<()> {
    let _lodge = start(scratch)?;
    // Row by row in each round: what changes on this machine meanwhile changes for all rows.
    let rounds = Budget::minutes(BUDGET).runs(options.runs, || {
        USERS.iter().map(|row| run(options, scratch, *row)).collect::<Result<Vec<_>>>()
    })?;
    explain();
    println!(
        "\n| users × messages | posts/s, all users | mean to the answer, ms | median, ms | p99, ms | longest, ms | p99 to the last stream, ms |"
    );
    println!("| --- | --- | --- | --- | --- | --- | --- |");
    for (row, (users, messages)) in USERS.iter().enumerate() {
        print!("| {} × {messages} |", options.users(*users));
        for figure in FIGURES {
            let of = |round: &Vec<Value>| number(&round[row], figure);
            print!(" {} |", spread(&rounds.iter().map(of).collect::<Result<Vec<_>>>()?));
        }
        println!();
    }
    println!(
        "\nThe seed's own figures are of MySQL by itself, asked by mysqlslap from 50 to 350 clients,"
    );
    println!(
        "each one query 100 times: no web server, no page, nobody who listens. A query took 23.43 s"
    );
    println!(
        "on average on one database with 15,000 of them in all, and 2.6 s on three in a ring with"
    );
    println!(
        "35,000. With 250 clients × 100 queries on each of the three, their copies differed for less"
    );
    println!(
        "than 10 s. 10, 100 and 500 users are those of its pages under JMeter, of which it has plots"
    );
    println!(
        "and no figures. Other machines, and another way of asking: no factor follows from it."
    );
    Ok(())
}

fn explain() {
    println!(
        "\nEach user posts one message after the other as soon as the last is answered, and has a"
    );
    println!(
        "stream open, which gets everybody's; each run is verified. To the answer: what a user waits"
    );
    println!(
        "for. To the last stream: until all users had it; a closed loop posts as fast as it can, so"
    );
    println!("streams may be behind. Figures: the median of the runs (the least to the most).");
}

fn run(options: &BoardOptions, scratch: &Scratch, (users, messages): (u32, u32)) -> Result<Value> {
    let (users, messages) = (options.users(users).to_string(), messages.to_string());
    let tokens = tokens(scratch);
    let load = ["board", "--users", &users, "--messages", &messages, "--tokens", &tokens];
    let prove = ["--verify", "--catch-up", "2m"];
    load_to_its_end(scratch, &[&load[..], &prove].concat())
}
