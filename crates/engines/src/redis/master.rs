//! A master, and what it must be told before it is believed.

use std::sync::atomic::{AtomicU64, Ordering};

use super::node::Node;

/// A master, and whether it has been told of everything that this process knows to have changed.
pub(super) struct Master {
    pub(super) node: Node,
    /// Rises when it may have missed something.
    owed: AtomicU64,
    /// What `owed` was when it was last told all that it may have missed.
    told: AtomicU64,
}

impl Master {
    pub(super) fn new(node: Node) -> Self {
        Self { node, owed: AtomicU64::new(1), told: AtomicU64::new(0) }
    }

    pub(super) fn is_told(&self) -> bool {
        self.owed().is_none()
    }

    /// What is to be told for the master to be believed; nothing if it is.
    pub(super) fn owed(&self) -> Option<u64> {
        let owed = self.owed.load(Ordering::Acquire);
        (self.told.load(Ordering::Acquire) != owed).then_some(owed)
    }

    /// Says that it has been told all that was owed.
    pub(super) fn caught_up(&self, owed: u64) {
        self.told.store(owed, Ordering::Release);
    }

    pub(super) fn debt(&self) -> Debt<'_> {
        Debt { master: Some(self) }
    }
}

/// Something that the master must be told. Dropped unpaid, for whatever reason, the master is not
/// believed until it has caught up.
pub(super) struct Debt<'a> {
    master: Option<&'a Master>,
}

impl Debt<'_> {
    pub(super) fn pay(mut self) {
        self.master = None;
    }
}

impl Drop for Debt<'_> {
    fn drop(&mut self) {
        if let Some(master) = self.master {
            master.owed.fetch_add(1, Ordering::AcqRel);
        }
    }
}
