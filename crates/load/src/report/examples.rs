//! Examples of faults for a report.

use std::ops::AddAssign;

use serde::Serialize;

/// The first `MAX` examples of faults.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[serde(transparent)]
pub(crate) struct Examples<const MAX: usize>(Vec<String>);

impl<const MAX: usize> Examples<MAX> {
    /// Adds an example, unless there are `MAX` already.
    pub(crate) fn add(&mut self, example: impl FnOnce() -> String) {
        if self.0.len() < MAX {
            self.0.push(example());
        }
    }

    /// Adds examples of another set, up to `MAX`.
    pub(crate) fn extend<const OTHER: usize>(&mut self, other: Examples<OTHER>) {
        self.0.extend(other.0);
        self.0.truncate(MAX);
    }

    pub(crate) fn as_slice(&self) -> &[String] {
        &self.0
    }
}

impl<const MAX: usize> AddAssign for Examples<MAX> {
    fn add_assign(&mut self, other: Self) {
        self.extend(other);
    }
}
