//! The outcome of each write, as known to the client.

use crate::engine::outcome::WriteOutcome;

/// The largest number of writes that one thread tracks, a byte each.
const TRACKED_MAX: usize = 1 << 28;

/// The writes of one thread, by number.
#[derive(Debug, Default)]
pub(crate) struct Ledger {
    outcomes: Vec<WriteOutcome>,
    /// Writes past `TRACKED_MAX`, which cannot be verified.
    pub(crate) untracked: u64,
}

impl Ledger {
    /// Records the outcome of a write; of several writes of one link the maximum is kept.
    pub(crate) fn note(&mut self, number: u64, outcome: WriteOutcome) {
        let Some(index) = usize::try_from(number).ok().filter(|index| *index < TRACKED_MAX) else {
            self.untracked += 1;
            return;
        };
        if index >= self.outcomes.len() {
            self.outcomes.resize(index + 1, WriteOutcome::Refused);
        }
        let known = &mut self.outcomes[index];
        *known = outcome.max(*known);
    }

    /// Returns the writes that the server has, or may have, with their numbers.
    pub(crate) fn to_check(&self) -> impl Iterator<Item = (u64, WriteOutcome)> + '_ {
        self.outcomes
            .iter()
            .enumerate()
            .filter(|(_, outcome)| **outcome != WriteOutcome::Refused)
            .map(|(index, outcome)| (index as u64, *outcome))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_later_failure_does_not_undo_an_acknowledgement() {
        let mut ledger = Ledger::default();
        ledger.note(2, WriteOutcome::Acknowledged);
        ledger.note(2, WriteOutcome::Unknown);
        ledger.note(0, WriteOutcome::Unknown);
        assert_eq!(
            ledger.to_check().collect::<Vec<_>>(),
            [(0, WriteOutcome::Unknown), (2, WriteOutcome::Acknowledged)]
        );
    }
}
