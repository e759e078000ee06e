//! The acknowledged links.

use crate::faults::workload::{Client, List, RequestKind, Route};

/// An acknowledged link.
#[derive(Debug, Clone)]
pub(super) struct Expected {
    pub(super) short: String,
    /// Its possible targets: two if the outcome of its last edit is unknown.
    pub(super) targets: Vec<String>,
    /// Whether it was edited, so that every web process is checked.
    pub(super) is_edited: bool,
}

/// The acknowledged links.
#[derive(Default)]
pub(crate) struct Links(pub(super) List<Expected>);

impl Client<Links> {
    /// Creates or replaces a link by `PUT`; returns whether it was acknowledged.
    pub(super) fn put(&self, work: RequestKind, route: Route, short: &str, target: &str) -> bool {
        let put = format!("/?short={short}&long={target}");
        self.write(work, route, 201, |http, at| http.send("PUT", at, &put)).is_some()
    }
}
