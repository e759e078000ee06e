//! What a question costs when a channel has a million messages, and when it has ten thousand.

use std::time::Instant;

use anyhow::{Context, Result, ensure};
use serde_json::json;

use super::{BoardOptions, make_accounts, start, token, tokens};
use crate::{
    bench::{
        links::load_to_its_end,
        servers::{LODGE, Scratch},
    },
    http::{Answer, Http},
};

/// Messages of the small channel.
const FEW: u64 = 10_000;
/// How often each is asked for.
const TIMES: usize = 300;
/// Who write them.
const USERS: u32 = 100;
/// A word of one message in the middle, and one of all the others.
const RARE: &str = "edelweissgipfel";
const COMMON: &str = "lift";

/// A question, with its name, and the times in which it was answered, in ms.
struct Asked {
    name: &'static str,
    median_ms: f64,
    p99_ms: f64,
}

pub(super) fn grown(options: &BoardOptions) -> Result<()> {
    let few = asked(FEW)?;
    let many = asked(options.messages)?;
    println!("\n| of {TIMES}, ms | {FEW} messages: median, p99 | {} messages |", options.messages);
    println!("| --- | --- | --- |");
    for (few, many) in few.iter().zip(&many) {
        println!(
            "| {} | {:.2}, {:.2} | {:.2}, {:.2} |",
            few.name, few.median_ms, few.p99_ms, many.median_ms, many.p99_ms
        );
    }
    Ok(())
}

/// What questions cost in a channel of so many messages.
fn asked(messages: u64) -> Result<Vec<Asked>> {
    let scratch = Scratch::new()?;
    let _lodge = start(&scratch)?;
    make_accounts(&scratch, USERS)?;
    let (began, half) = (Instant::now(), messages / 2 / u64::from(USERS));
    write(&scratch, half)?;
    let (http, authorization) = (Http::keeping(), format!("Bearer {}", token(&scratch)?));
    let headers = [("Authorization", authorization.as_str())];
    let rare =
        json!({ "client_id": "the-rare-one", "body": format!("seen: one {RARE}, in bloom") });
    let at = LODGE.parse()?;
    let posted = http.send_json("POST", at, "/api/board/lobby/messages", &headers, &rare);
    let posted = posted.context("no answer to the rare message")?;
    ensure!(posted.status == 201, "the rare message: {posted:?}");
    let middle = posted.text("id").context("the rare message has no id")?;
    write(&scratch, half)?;
    println!(
        "{messages} messages were written in {:.0} s, by their posts",
        began.elapsed().as_secs_f64()
    );
    let questions = [
        ("the newest page", "messages".to_owned()),
        ("a page before the middle", format!("messages?before={middle}")),
        ("the last 50 events", "events?tail=50".to_owned()),
        ("a page of events after the middle", format!("events?after={middle}&limit=100")),
        ("a search of a rare word", format!("-/search?q={RARE}")),
        ("a search of a common word", format!("-/search?q={COMMON}")),
    ];
    let ask = |path: &str| {
        let place = if path.starts_with('-') { "" } else { "lobby/" };
        let path = format!("/api/board/{place}{path}");
        let answer = http.ask("GET", at, &path, &headers, None);
        let answer = answer.with_context(|| format!("no answer to {path}"))?;
        ensure!(answer.status == 200, "{path}: {answer:?}");
        Ok(answer)
    };
    let found = ask(&questions[4].1)?;
    ensure!(found.body.contains(RARE), "it is not found");
    questions.iter().map(|(name, path)| times(name, || ask(path))).collect()
}

/// Posts of all accounts, each one after the other; nobody listens.
fn write(scratch: &Scratch, each: u64) -> Result<()> {
    let (users, each, tokens) = (USERS.to_string(), each.to_string(), tokens(scratch));
    let load = ["board", "--users", &users, "--messages", &each, "--tokens", &tokens];
    load_to_its_end(scratch, &[&load[..], &["--streams-per-user", "0"]].concat()).map(drop)
}

fn times(name: &'static str, ask: impl Fn() -> Result<Answer>) -> Result<Asked> {
    let mut times = Vec::with_capacity(TIMES);
    for _ in 0..TIMES {
        let began = Instant::now();
        ask()?;
        times.push(began.elapsed().as_secs_f64() * 1e3);
    }
    times.sort_unstable_by(f64::total_cmp);
    Ok(Asked { name, median_ms: times[TIMES / 2], p99_ms: times[TIMES * 99 / 100] })
}
