//! The stores of the rides app that are the same on every database: gates and passes.

mod gates;
mod passes;

pub use self::{gates::SqlGates, passes::SqlPasses};
use crate::Statement;

/// Returns every statement of gates and passes.
pub(crate) fn statements() -> impl Iterator<Item = &'static Statement> {
    [gates::STATEMENTS, passes::STATEMENTS].into_iter().flatten().copied()
}
