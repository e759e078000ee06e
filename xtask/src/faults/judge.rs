//! Whether a row kept its promise.

use std::time::Duration;

use super::{
    results::Counted,
    rows::{Promise, Writes},
    workload::{EDIT, KNOWN, MAKE, NEW, REPEAT},
};

/// How soon a Redis master is replaced.
const REPLACED_MS: u64 = 3_000;

/// Links that must have been made for a row to say anything.
const MADE_MIN: u64 = 100;

/// What was promised and not kept, each in a few words.
pub(crate) fn broken(promise: &Promise, counted: &Counted) -> Vec<String> {
    let mut broken = Vec::new();
    let mut demand = |kept: bool, what: String| {
        if !kept {
            broken.push(what);
        }
    };
    let tally = &counted.tally;
    demand(tally.good(MAKE) >= MADE_MIN, format!("only {} links were made", tally.good(MAKE)));
    demand(counted.lost == 0, format!("{} lost", counted.lost));
    demand(counted.duplicated() == 0, format!("{} duplicated", counted.duplicated()));
    demand(tally.false_404s == 0, format!("{} false 404s", tally.false_404s));
    demand(tally.wrong.is_empty(), format!("wrong answers: {:?}", tally.wrong));
    demand(
        tally.late_edits == 0 || promise.may_be_stale,
        format!("{} edits seen late", tally.late_edits),
    );
    for work in [MAKE, EDIT, REPEAT, KNOWN, NEW] {
        for (answer, count) in tally.unknown(work) {
            demand(is_allowed(promise, work, answer), format!("{work}: {count} times {answer}"));
        }
    }
    demand(
        !promise.counts_stale || counted.stale > 0,
        "what may have been out of date was not counted".to_owned(),
    );
    let within = |ms: u64, most: Duration| Duration::from_millis(ms) <= most;
    let (redirect, write) = (tally.redirect_gap_ms, tally.write_gap_ms);
    demand(within(redirect, promise.redirect_wait), format!("{redirect} ms without a redirect"));
    demand(within(write, promise.write_wait), format!("{write} ms without a write"));
    if let Some(replaced) = counted.replaced_ms {
        demand(replaced <= REPLACED_MS, format!("the master replaced after {replaced} ms"));
    }
    demand(counted.recovered_ms.is_some(), "did not recover".to_owned());
    broken
}

/// Whether a request may be answered so, which is neither yes nor no.
fn is_allowed(promise: &Promise, work: &str, answer: &str) -> bool {
    match work {
        KNOWN => false,
        NEW => promise.may_refuse_new && answer == "503",
        _ => match promise.writes {
            Writes::Done => false,
            Writes::Refused => answer == "503",
            Writes::BrokenOff => true,
        },
    }
}
