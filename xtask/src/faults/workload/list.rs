//! What clients add to and others read.

use parking_lot::Mutex;

/// A list that grows at its end.
pub(crate) struct List<T>(Mutex<Vec<T>>);

impl<T> Default for List<T> {
    fn default() -> Self {
        Self(Mutex::new(Vec::new()))
    }
}

impl<T: Clone> List<T> {
    pub(crate) fn push(&self, one: T) {
        self.0.lock().push(one);
    }

    pub(crate) fn len(&self) -> usize {
        self.0.lock().len()
    }

    /// Returns the one that is `back` places before the newest.
    pub(crate) fn newest(&self, back: usize) -> Option<T> {
        let list = self.0.lock();
        list.len().checked_sub(1 + back).map(|place| list[place].clone())
    }

    /// Empties the list.
    pub(crate) fn take(&self) -> Vec<T> {
        std::mem::take(&mut *self.0.lock())
    }
}
