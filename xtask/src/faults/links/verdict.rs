//! Checks the result of a row against its promise.

use std::time::Duration;

use super::{
    kinds::{EDIT, KNOWN, MAKE, NEW, REPEAT},
    rows::{LinksPromise, Writes},
};
use crate::faults::{
    record::{Counted, REPLACED_MS},
    workload::{RequestKind, Wait},
};

/// Minimum number of created links for a valid result.
const MADE_MIN: u64 = 100;

/// Returns the broken promises, each in a few words.
pub(crate) fn broken_promises(promise: &LinksPromise, counted: &Counted) -> Vec<String> {
    let mut broken = Vec::new();
    let mut demand = |kept: bool, what: String| {
        if !kept {
            broken.push(what);
        }
    };
    let tally = &counted.tally;
    demand(tally.good(MAKE) >= MADE_MIN, format!("only {} links were created", tally.good(MAKE)));
    demand(counted.lost == 0, format!("{} lost", counted.lost));
    demand(counted.duplicated() == 0, format!("{} duplicated", counted.duplicated()));
    demand(tally.false_404s == 0, format!("{} false 404s", tally.false_404s));
    demand(tally.wrong.is_empty(), format!("wrong answers: {:?}", tally.wrong));
    demand(
        tally.late_edits == 0 || promise.may_be_stale,
        format!("{} edits became visible late", tally.late_edits),
    );
    for work in [MAKE, EDIT, REPEAT, KNOWN, NEW] {
        for (answer, count) in tally.unknown(work) {
            demand(
                is_allowed(promise, work, answer),
                format!("{}: {count} times {answer}", work.name),
            );
        }
    }
    demand(
        !promise.counts_stale || counted.stale > 0,
        "redirects that may be out of date were not counted".to_owned(),
    );
    let within = |ms: u64, most: Duration| Duration::from_millis(ms) <= most;
    let (known, new, write) = (tally.known_gap_ms, tally.new_gap_ms, tally.write_gap_ms);
    demand(within(known, promise.redirect_wait), format!("{known} ms without a redirect"));
    demand(
        within(new, promise.redirect_wait) || promise.may_refuse_new,
        format!("{new} ms without a redirect of a new link"),
    );
    demand(within(write, promise.write_wait), format!("{write} ms without a write"));
    if let Some(replaced) = counted.replaced_ms {
        demand(replaced <= REPLACED_MS, format!("the master was replaced after {replaced} ms"));
    }
    demand(counted.recovered_ms.is_some(), "did not recover".to_owned());
    broken
}

/// Whether a request may have this answer, which leaves its outcome unknown.
fn is_allowed(promise: &LinksPromise, work: RequestKind, answer: &str) -> bool {
    match work.wait {
        Wait::Known => false,
        Wait::New => promise.may_refuse_new && answer == "503",
        Wait::SteadyWrite | Wait::Write => match promise.writes {
            Writes::Done => false,
            Writes::PutsDone => work.name != MAKE.name && answer == "503",
            Writes::Refused => answer == "503",
            Writes::BrokenOff => ["no answer", "502", "504"].contains(&answer),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::faults::{links::ROWS, workload::Tally};

    /// Figures without a fault.
    fn good() -> Counted {
        let mut tally = Tally::default();
        tally.good.insert(MAKE.name.to_owned(), MADE_MIN);
        Counted { recovered_ms: Some(0), tally, ..Counted::default() }
    }

    fn broken_in(name: &str, counted: &Counted) -> bool {
        let (_, promise) = ROWS.iter().find(|(row, _)| row.name == name).unwrap();
        !broken_promises(promise, counted).is_empty()
    }

    fn refused(work: RequestKind, answer: &str) -> Counted {
        let mut counted = good();
        counted.stale = 1;
        counted.tally.unknown.insert(format!("{}: {answer}", work.name), 1);
        counted
    }

    #[test]
    fn losses_duplicates_false_404s_and_no_recovery_break_every_row() {
        let breaks: [fn(&mut Counted); 5] = [
            |counted| counted.lost = 1,
            |counted| counted.listed_twice = 1,
            |counted| counted.tally.duplicated = 1,
            |counted| counted.tally.false_404s = 1,
            |counted| counted.recovered_ms = None,
        ];
        for (row, promise) in &ROWS {
            for one in breaks {
                let mut counted = Counted { stale: 1, ..good() };
                assert!(broken_promises(promise, &counted).is_empty(), "{}", row.name);
                one(&mut counted);
                assert!(!broken_promises(promise, &counted).is_empty(), "{}", row.name);
            }
        }
    }

    #[test]
    fn each_row_promises_which_requests_may_be_refused() {
        assert!(!broken_in("two-cassandra-killed", &refused(MAKE, "503")));
        assert!(broken_in("two-cassandra-killed", &refused(MAKE, "no answer")));
        assert!(broken_in("two-cassandra-killed", &refused(KNOWN, "503")));
        assert!(broken_in("behind-cassandra-killed", &refused(MAKE, "503")));
        assert!(!broken_in("behind-cassandra-killed", &refused(EDIT, "503")));
        assert!(broken_in("redis-killed", &refused(MAKE, "503")));
        assert!(!broken_in("web-killed", &refused(MAKE, "no answer")));
        assert!(broken_in("web-killed", &refused(NEW, "no answer")));
    }

    #[test]
    fn redirects_that_may_be_out_of_date_must_be_counted() {
        assert!(broken_in("two-cassandra-killed", &good()));
        assert!(!broken_in("cassandra-killed", &good()));
    }
}
