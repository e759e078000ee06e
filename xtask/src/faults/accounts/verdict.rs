//! Checks the result of a row against its promise.

use std::time::Duration;

use super::{
    kinds::{CHANGE, END, KINDS, PICTURE, READ, SAME_NAME, SIGN_IN, SIGN_UP},
    rows::{AccountsPromise, Refusals},
};
use crate::faults::{
    record::{Counted, REPLACED_MS},
    workload::RequestKind,
};

/// Minimum number of good answers of each kind for a valid result.
const LEAST: [(RequestKind, u64); 7] = [
    (SIGN_UP, 40),
    (SIGN_IN, 40),
    (CHANGE, 15),
    (END, 10),
    (PICTURE, 30),
    (READ, 200),
    (SAME_NAME, 8),
];

/// The number of clients, each of which may have had one request in progress, two those with the same name.
const IN_PROGRESS_MAX: u64 = 18;

/// Returns the broken promises, each in a few words.
pub(crate) fn broken_promises(promise: &AccountsPromise, counted: &Counted) -> Vec<String> {
    let mut broken = Vec::new();
    let mut demand = |kept: bool, what: String| {
        if !kept {
            broken.push(what);
        }
    };
    let tally = &counted.tally;
    for (kind, least) in LEAST {
        let count = tally.good(kind);
        demand(count >= least, format!("only {count} of {}", kind.name));
    }
    demand(counted.lost == 0, format!("{} lost", counted.lost));
    demand(counted.duplicated() == 0, format!("{} names twice", counted.duplicated()));
    demand(tally.late_ends == 0, format!("{} ended sessions accepted", tally.late_ends));
    demand(tally.late_edits == 0, format!("{} changes became visible late", tally.late_edits));
    demand(tally.wrong.is_empty(), format!("wrong answers: {:?}", tally.wrong));
    let mut in_progress = 0;
    for kind in KINDS {
        for (answer, count) in tally.unknown(kind) {
            let is_allowed = is_allowed(promise.refusals, kind) && answer == "503";
            demand(is_allowed, format!("{}: {count} times {answer}", kind.name));
            in_progress += count;
        }
    }
    demand(
        promise.refusals != Refusals::InProgress || in_progress <= IN_PROGRESS_MAX,
        format!("{in_progress} requests were refused"),
    );
    let within = |ms: u64, most: Duration| Duration::from_millis(ms) <= most;
    let (read, write) = (tally.known_gap_ms, tally.write_gap_ms);
    demand(within(read, promise.read_wait), format!("{read} ms without a read"));
    demand(within(write, promise.write_wait), format!("a request took {write} ms"));
    let refused = tally.refusal_ms;
    demand(within(refused, promise.refusal_wait), format!("a refusal took {refused} ms"));
    if let Some(replaced) = counted.replaced_ms {
        demand(replaced <= REPLACED_MS, format!("the master was replaced after {replaced} ms"));
    }
    demand(counted.recovered_ms.is_some(), "did not recover".to_owned());
    broken
}

/// Whether a request may be refused.
fn is_allowed(refusals: Refusals, kind: RequestKind) -> bool {
    match refusals {
        Refusals::No => false,
        Refusals::InProgress => kind.name != READ.name,
        Refusals::Pictures => kind.name == PICTURE.name,
        Refusals::All => true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::faults::{accounts::ROWS, workload::Tally};

    /// Figures without a fault.
    fn good() -> Counted {
        let mut tally = Tally::default();
        tally.good.extend(LEAST.map(|(kind, least)| (kind.name.to_owned(), least)));
        Counted { recovered_ms: Some(0), tally, ..Counted::default() }
    }

    fn is_broken(name: &str, counted: &Counted) -> bool {
        let (_, promise) = ROWS.iter().find(|(row, _)| row.name == name).unwrap();
        !broken_promises(promise, counted).is_empty()
    }

    fn refused(kind: RequestKind, answer: &str, count: u64) -> Counted {
        let mut counted = good();
        counted.tally.unknown.insert(format!("{}: {answer}", kind.name), count);
        counted
    }

    #[test]
    fn losses_names_twice_and_sessions_after_their_end_break_every_row() {
        let breaks: [fn(&mut Counted); 7] = [
            |counted| counted.lost = 1,
            |counted| counted.tally.duplicated = 1,
            |counted| counted.tally.late_ends = 1,
            |counted| counted.tally.late_edits = 1,
            |counted| _ = counted.tally.good.remove(END.name),
            |counted| counted.tally.refusal_ms = 60_000,
            |counted| counted.recovered_ms = None,
        ];
        for (row, _) in &ROWS {
            assert!(!is_broken(row.name, &good()), "{}", row.name);
            for one in breaks {
                let mut counted = good();
                one(&mut counted);
                assert!(is_broken(row.name, &counted), "{}", row.name);
            }
        }
    }

    #[test]
    fn each_row_promises_which_requests_may_be_refused() {
        assert!(is_broken("accounts-galera-killed", &refused(SIGN_UP, "503", 1)));
        assert!(!is_broken("accounts-killed", &refused(SIGN_UP, "503", IN_PROGRESS_MAX)));
        assert!(is_broken("accounts-killed", &refused(SIGN_UP, "503", IN_PROGRESS_MAX + 1)));
        assert!(is_broken("accounts-killed", &refused(SIGN_UP, "no answer", 1)));
        assert!(is_broken("accounts-killed", &refused(READ, "503", 1)));
        assert!(!is_broken("accounts-s3-killed", &refused(PICTURE, "503", 100)));
        assert!(is_broken("accounts-s3-killed", &refused(SIGN_UP, "503", 1)));
        assert!(!is_broken("accounts-all-galera-killed", &refused(READ, "503", 100)));
    }
}
