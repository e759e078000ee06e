//! The seed's own tests: as many users as its pages had, and as many clients as its databases.

use anyhow::Result;

use super::{BoardOptions, make_accounts, start, tokens};
use crate::bench::{
    links::{load_to_its_end, number},
    servers::Scratch,
};

/// Users, and the messages of each, one after the other. The seed does not say how much each of its 10, 100
/// and 500 users did.
const USERS: [(u32, u32); 4] = [(10, 20), (100, 20), (500, 20), (250, 100)];

/// Every account listens while it posts, and each run is proved.
pub(super) fn users(options: &BoardOptions) -> Result<()> {
    let scratch = Scratch::new()?;
    let _lodge = start(&scratch)?;
    let most = USERS.iter().map(|(users, _)| *users).max().unwrap_or_default();
    make_accounts(&scratch, if options.quick { 20 } else { most })?;
    let tokens = tokens(&scratch);
    println!(
        "\n| users × messages, each listens, verified | posts/s | mean, ms | median | p99 | max | p99 to the last stream |"
    );
    println!("| --- | --- | --- | --- | --- | --- | --- |");
    for (users, messages) in USERS {
        let users = if options.quick { users.min(20) } else { users };
        let (users, messages) = (users.to_string(), messages.to_string());
        let load = ["board", "--users", &users, "--messages", &messages, "--tokens", &tokens];
        // The streams may be far behind a closed loop, which posts as fast as it can.
        let prove = ["--verify", "--catch-up", "5m"];
        let report = load_to_its_end(&scratch, &[&load[..], &prove].concat())?;
        let figure = |name: &str| number(&report, &format!("/posts/{name}"));
        println!(
            "| {users} × {messages} | {:.0} | {:.2} | {:.2} | {:.2} | {:.2} | {:.2} |",
            figure("rate_per_s")?,
            figure("latency_ms/mean")?,
            figure("latency_ms/median")?,
            figure("latency_ms/p99")?,
            figure("latency_ms/max")?,
            number(&report, "/until_last_ms/p99")?
        );
    }
    println!("the seed: 15,000 queries on one database 23.43 s on average, 35,000 on three 2.6 s;");
    println!("copies apart for less than 10 s with 250 × 100 on each of three");
    Ok(())
}
