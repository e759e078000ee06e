//! The latency of reads in a channel of a million messages, compared with ten thousand.

use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use serde_json::json;

use super::{BoardOptions, Budget, catch_up, start, token};
use crate::{
    bench::{
        figures::{Runs, table},
        lodge::{Lodge, Scratch},
    },
    http::{Answer, Http},
};

/// Messages of the small channel.
const FEW: u64 = 10_000;
/// Requests of a run; fewer if they take longer than `RUN_MAX`.
const TIMES: usize = 50;
const RUN_MAX: Duration = Duration::from_secs(1);
/// Accounts that write the messages.
const WRITERS: u32 = 100;
/// Messages between two checks of the time budget.
const AT_ONCE: u64 = 50_000;
/// Minutes for writing, and for reading.
const WRITING: u64 = 6;
const ASKING: u64 = 1;
/// The beginning of a word in a single message; the number of earlier messages follows it.
const RARE: &str = "edelweissgipfel";

/// Bars, in ms.
const PAGE_MS: f64 = 200.0;
const SEARCH_MS: f64 = 100.0;

/// A signed-in client.
pub(super) struct BoardClient<'a> {
    pub(super) lodge: &'a Lodge,
    pub(super) http: Http,
    token: String,
}

impl BoardClient<'_> {
    /// Sends a GET to the API or a page.
    pub(super) fn get(&self, path: &str) -> Result<Answer> {
        let (name, value) = self.signed_in(path);
        let answer =
            self.http.send_with("GET", self.lodge.address(), path, &[(name, &value)], None);
        let answer = answer.with_context(|| format!("no answer to {path}"))?;
        ensure!(answer.status == 200, "{path}: {answer:?}");
        Ok(answer)
    }

    /// The header that authenticates the client.
    pub(super) fn signed_in(&self, path: &str) -> (&'static str, String) {
        if path.starts_with("/api/") {
            ("Authorization", format!("Bearer {}", self.token))
        } else {
            ("Cookie", format!("lodge_session={}", self.token))
        }
    }
}

/// A read with its bar, and a text that the answer must contain.
struct MeasuredRead {
    name: &'static str,
    path: String,
    bar_ms: Option<f64>,
    holds: String,
    /// The median of each run, in ms.
    medians: Runs,
    /// The longest answer, in ms.
    longest: f64,
}

pub(super) fn grown(options: &BoardOptions, scratch: &Scratch) -> Result<()> {
    let lodge = start(scratch)?;
    let asker = BoardClient { lodge: &lodge, http: Http::keep_alive(), token: token(&lodge)? };
    let few = measure(options, &asker, (0, FEW))?;
    let many = measure(options, &asker, (few.0, options.messages))?;
    println!(
        "\nLatency of reads in a channel of {} messages, and of {}. All were written over HTTP by\n\
         {} accounts, each posting one after the other. Times are measured by a client on this\n\
         machine with a kept connection, so they include more than the server's time; each read\n\
         was sent once before. A run sends {TIMES} requests (for {} s at most), and its figure is the\n\
         median; the table has the median of the runs (minimum to maximum) and the longest of all\n\
         answers. The bar is for the median of the larger channel.",
        few.0,
        many.0,
        options.users(WRITERS),
        RUN_MAX.as_secs()
    );
    let [small, grown] = [few.0, many.0].map(|messages| format!("{messages} messages"));
    table(["what, ms", &small, "longest", &grown, "longest", "bar", "met unless NO"]);
    for (few, many) in few.1.iter().zip(&many.1) {
        println!(
            "| {} | {} | {:.2} | {} | {:.2} | {} | {} |",
            few.name,
            few.medians.spread(),
            few.longest,
            many.medians.spread(),
            many.longest,
            many.bar_ms.map_or(String::new(), |bar| format!("{bar:.0}")),
            if many.keeps_its_bar() { "" } else { "NO" }
        );
    }
    catch_up::catch_up(options, &asker)?;
    ensure!(many.0 >= options.messages, "a channel of only {} messages proves no bar", many.0);
    ensure!(
        options.common.quick || many.1.iter().all(MeasuredRead::keeps_its_bar),
        "a bar was not met"
    );
    Ok(())
}

/// A message with a unique word.
struct Rare {
    /// The number of messages before it.
    place: u64,
    word: String,
    id: String,
}

/// Grows the channel, and measures the reads; returns the number of messages, and the reads.
fn measure(
    options: &BoardOptions,
    asker: &BoardClient<'_>,
    (from, to): (u64, u64),
) -> Result<(u64, Vec<MeasuredRead>)> {
    let (began, writing) = (Instant::now(), Budget::minutes(WRITING));
    let (mut written, mut rare) = (from, Vec::new());
    let at_once = AT_ONCE.min(to.saturating_sub(from).div_ceil(4));
    while written < to && !writing.is_over() {
        written += write(options, asker.lodge, (to - written).min(at_once))?;
        rare.push(Rare::post(asker, written)?);
        written += 1;
    }
    #[expect(clippy::cast_precision_loss, reason = "a rate to be read by people")]
    let per_s = (written - from) as f64 / began.elapsed().as_secs_f64();
    println!("{} messages were written over HTTP, {per_s:.0} a second", written - from);
    if written < to {
        println!("NOT {to}: the time is over");
    }
    let middle = u64::midpoint(from, written);
    let middle = rare.iter().min_by_key(|rare| rare.place.abs_diff(middle));
    let middle = middle.context("no message was written")?;
    println!("the rare message comes after {} others", middle.place);
    let budget = Budget::minutes(ASKING);
    let mut all = questions(middle);
    for MeasuredRead { path, holds, .. } in &all {
        let answer = asker.get(path)?;
        ensure!(answer.body.contains(holds), "{path}: {answer:?}");
    }
    budget.runs(options.common.runs, || all.iter_mut().try_for_each(|one| one.ask(asker)))?;
    Ok((written, all))
}

impl MeasuredRead {
    /// Whether the median is below the bar, if there is one.
    fn keeps_its_bar(&self) -> bool {
        self.bar_ms.is_none_or(|bar| self.medians.median() < bar)
    }

    /// One run.
    fn ask(&mut self, asker: &BoardClient<'_>) -> Result<()> {
        let (mut times, run) = (Runs::default(), Instant::now());
        while times.0.is_empty() || (times.0.len() < TIMES && run.elapsed() < RUN_MAX) {
            let began = Instant::now();
            asker.get(&self.path)?;
            times.0.push(began.elapsed().as_secs_f64() * 1e3);
        }
        self.medians.0.push(times.median());
        self.longest = self.longest.max(times.range().1);
        Ok(())
    }
}

fn questions(middle: &Rare) -> Vec<MeasuredRead> {
    let Rare { word: rare, id: middle, .. } = middle;
    let of = |name, path: &str, bar_ms, holds: &str| {
        let (path, holds) = (path.to_owned(), holds.to_owned());
        MeasuredRead { name, path, bar_ms, holds, medians: Runs::default(), longest: 0.0 }
    };
    let read =
        |name, path: &str, bar_ms| of(name, &format!("/api/board/lobby/{path}"), bar_ms, "\"id\":");
    let search = |name, query: &str, holds: &str| {
        of(name, &format!("/api/board/-/search?q={query}"), Some(SEARCH_MS), holds)
    };
    vec![
        of("the first page as HTML", "/board/lobby", Some(PAGE_MS), "top station"),
        read("the first page by the API", "messages", Some(PAGE_MS)),
        read("a page before the middle", &format!("messages?before={middle}"), Some(PAGE_MS)),
        read("the last 50 events", "events?tail=50", None),
        read("500 events after the middle", &format!("events?after={middle}&limit=500"), None),
        search("search: a word of one message", rare, rare),
        search("search: a word of all other messages", "lift", "lift"),
        search("search: the same in one channel", "lift&channel=lobby", "lift"),
        search(
            "search: a common and a rare word that no message has together",
            &format!("lift+{rare}"),
            "[]",
        ),
        search("search: the beginning of the rare words, edelw*", "edelw*", RARE),
        search("search: the beginning of the common word, li*", "li*", "lift"),
        search("search: the beginning of very many words, 1*", "1*", "lift"),
    ]
}

impl Rare {
    /// Posts a rare message after `place` others.
    fn post(asker: &BoardClient<'_>, place: u64) -> Result<Self> {
        let word = format!("{RARE}{place}");
        let body = json!({ "client_id": word, "body": format!("seen: one {word}, in bloom") });
        let path = "/api/board/lobby/messages";
        let (name, value) = asker.signed_in(path);
        let at = asker.lodge.address();
        let posted = asker.http.send_with("POST", at, path, &[(name, &value)], Some(&body));
        let posted = posted.context("no answer to a rare message")?;
        ensure!(posted.status == 201, "a rare message: {posted:?}");
        let id = posted.text("id").context("a rare message has no id")?;
        Ok(Self { place, word, id })
    }
}

/// Has all writers post about `messages` messages, one after the other, without streams; returns the number.
pub(super) fn write(options: &BoardOptions, lodge: &Lodge, messages: u64) -> Result<u64> {
    let writers = options.users(WRITERS);
    let each = messages.div_ceil(u64::from(writers)).max(1);
    let load = format!("board --users {writers} --messages {each} --tokens tokens");
    let report = lodge.load(&format!("{load} --streams-per-user 0"))?;
    let wanted = each * u64::from(writers);
    let all = report.0.pointer("/messages/acknowledged") == Some(&wanted.into());
    ensure!(all, "not all of {wanted} messages were acknowledged");
    Ok(wanted)
}
