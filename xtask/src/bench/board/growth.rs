//! What a question costs when a channel has a million messages, and when it has ten thousand.

use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use serde_json::json;

use super::{BoardOptions, Budget, away, start, token};
use crate::{
    bench::{
        figures::{Runs, table},
        lodge::{Lodge, Scratch},
    },
    http::{Answer, Http},
};

/// Messages of the channel when it is small.
const FEW: u64 = 10_000;
/// How often each is asked for in a run; fewer where that takes longer than `RUN_MAX`.
const TIMES: usize = 50;
const RUN_MAX: Duration = Duration::from_secs(1);
/// Who write them.
const WRITERS: u32 = 100;
/// Messages that are written at once; then it is looked whether there is time for more.
const AT_ONCE: u64 = 50_000;
/// Minutes for the writing, and for the asking.
const WRITING: u64 = 6;
const ASKING: u64 = 1;
/// The beginning of the word of one message; how many there were before it is the rest.
const RARE: &str = "edelweissgipfel";

/// Bars, in ms.
const PAGE_MS: f64 = 200.0;
const SEARCH_MS: f64 = 100.0;

/// Whoever asks.
pub(super) struct Asker<'a> {
    pub(super) lodge: &'a Lodge,
    pub(super) http: Http,
    token: String,
}

impl Asker<'_> {
    /// The answer to a GET, of the API or of a page.
    pub(super) fn get(&self, path: &str) -> Result<Answer> {
        let (name, value) = self.signed_in(path);
        let answer = self.http.ask("GET", self.lodge.address(), path, &[(name, &value)], None);
        let answer = answer.with_context(|| format!("no answer to {path}"))?;
        ensure!(answer.status == 200, "{path}: {answer:?}");
        Ok(answer)
    }

    /// The header that says who asks.
    pub(super) fn signed_in(&self, path: &str) -> (&'static str, String) {
        if path.starts_with("/api/") {
            ("Authorization", format!("Bearer {}", self.token))
        } else {
            ("Cookie", format!("lodge_session={}", self.token))
        }
    }
}

/// A question with the bar that it has, and what its answer must hold.
struct Question {
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
    let asker = Asker { lodge: &lodge, http: Http::keeping(), token: token(&lodge)? };
    let few = asked(options, &asker, (0, FEW))?;
    let many = asked(options, &asker, (few.0, options.messages))?;
    println!(
        "\nHow long an answer takes when its channel has {} messages, and when it has {}. All\n\
         were written by HTTP: {} accounts, each posting one after the other. Times are those\n\
         of a client on this machine that keeps its connection, so they hold more than the server's\n\
         own; what is asked for has been asked for before. A run asks {TIMES} times (for {} s at most),\n\
         and its figure is its median; in the table: the median of the runs (the least to the most),\n\
         and the longest of all answers. The bar is for the latter column's median.",
        few.0,
        many.0,
        options.users(WRITERS),
        RUN_MAX.as_secs()
    );
    let [small, grown] = [few.0, many.0].map(|messages| format!("{messages} messages"));
    table(["what, ms", &small, "longest", &grown, "longest", "bar", "kept unless NO"]);
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
    away::catch_up(options, &asker)?;
    ensure!(many.0 >= options.messages, "a channel of {} messages keeps no bar", many.0);
    ensure!(
        options.common.quick || many.1.iter().all(Question::keeps_its_bar),
        "a bar was not kept"
    );
    Ok(())
}

/// A message that is unlike all others.
struct Rare {
    /// How many were written before it.
    place: u64,
    word: String,
    id: String,
}

/// Has the channel grow, and asks; how many messages it has, and what questions cost then.
fn asked(
    options: &BoardOptions,
    asker: &Asker<'_>,
    (from, to): (u64, u64),
) -> Result<(u64, Vec<Question>)> {
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
    println!("{} messages were written by HTTP, {per_s:.0} a second", written - from);
    if written < to {
        println!("NOT {to}: there was no time for more");
    }
    let middle = u64::midpoint(from, written);
    let middle = rare.iter().min_by_key(|rare| rare.place.abs_diff(middle));
    let middle = middle.context("nothing was written")?;
    println!("the rare message is behind {} of them", middle.place);
    let budget = Budget::minutes(ASKING);
    let mut all = questions(middle);
    for Question { path, holds, .. } in &all {
        let answer = asker.get(path)?;
        ensure!(answer.body.contains(holds), "{path}: {answer:?}");
    }
    budget.runs(options.common.runs, || all.iter_mut().try_for_each(|one| one.ask(asker)))?;
    Ok((written, all))
}

impl Question {
    /// Whether the median is below the bar, if there is one.
    fn keeps_its_bar(&self) -> bool {
        self.bar_ms.is_none_or(|bar| self.medians.median() < bar)
    }

    /// One run.
    fn ask(&mut self, asker: &Asker<'_>) -> Result<()> {
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

fn questions(middle: &Rare) -> Vec<Question> {
    let Rare { word: rare, id: middle, .. } = middle;
    let of = |name, path: &str, bar_ms, holds: &str| {
        let (path, holds) = (path.to_owned(), holds.to_owned());
        Question { name, path, bar_ms, holds, medians: Runs::default(), longest: 0.0 }
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
        search("search: a word of all others", "lift", "lift"),
        search("search: the same in one channel", "lift&channel=lobby", "lift"),
        search(
            "search: a word of all and one of one, of which no message has both",
            &format!("lift+{rare}"),
            "[]",
        ),
        search("search: the beginning of the rare words, edelw*", "edelw*", RARE),
        search("search: the beginning of the common word, li*", "li*", "lift"),
        search("search: the beginning of very many words, 1*", "1*", "lift"),
    ]
}

impl Rare {
    /// Posts one behind so many others.
    fn post(asker: &Asker<'_>, place: u64) -> Result<Self> {
        let word = format!("{RARE}{place}");
        let body = json!({ "client_id": word, "body": format!("seen: one {word}, in bloom") });
        let path = "/api/board/lobby/messages";
        let (name, value) = asker.signed_in(path);
        let at = asker.lodge.address();
        let posted = asker.http.ask("POST", at, path, &[(name, &value)], Some(&body));
        let posted = posted.context("no answer to a rare message")?;
        ensure!(posted.status == 201, "a rare message: {posted:?}");
        let id = posted.text("id").context("a rare message has no id")?;
        Ok(Self { place, word, id })
    }
}

/// Posts of all writers, each one after the other, about so many; how many they were. Nobody listens.
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
