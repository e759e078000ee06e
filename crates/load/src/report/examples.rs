//! Some of what is wrong, in words.

use serde::Serialize;

/// The first `MAX` examples of what is wrong.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[serde(transparent)]
pub(crate) struct Examples<const MAX: usize>(Vec<String>);

impl<const MAX: usize> Examples<MAX> {
    /// Adds one, where there is room for it.
    pub(crate) fn add(&mut self, example: impl FnOnce() -> String) {
        if self.0.len() < MAX {
            self.0.push(example());
        }
    }

    pub(crate) fn as_slice(&self) -> &[String] {
        &self.0
    }
}
