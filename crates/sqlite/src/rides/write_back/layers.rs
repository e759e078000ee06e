//! Buffered values that are newer than the disk, in two layers: as of the last commit, which readers see, and as of the
//! current group of writes.

use std::{
    collections::BTreeMap,
    mem,
    ops::{Bound, RangeBounds},
};

use parking_lot::{Mutex, RwLock};

/// Values published per lock when a group is committed, which bounds how long readers wait.
const PUBLISHED_AT_ONCE: usize = 256;

pub(super) struct Layers<K, V> {
    committed: RwLock<BTreeMap<K, V>>,
    /// Used by the writer only.
    group: Mutex<Changes<K, V>>,
}

/// The changes of a group, or of one job in it.
pub(super) struct Changes<K, V> {
    pub(super) changed: BTreeMap<K, V>,
    pub(super) written: BTreeMap<K, V>,
}

impl<K, V> Default for Changes<K, V> {
    fn default() -> Self {
        Self { changed: BTreeMap::new(), written: BTreeMap::new() }
    }
}

impl<K: Ord + Copy, V: PartialEq + Copy> Changes<K, V> {
    /// Writes these values, except those that this job has already written.
    pub(super) fn write<E>(
        &mut self,
        values: BTreeMap<K, V>,
        mut write: impl FnMut(K, V) -> Result<(), E>,
    ) -> Result<(), E> {
        for (key, value) in values {
            if self.written.get(&key) != Some(&value) {
                write(key, value)?;
                self.written.insert(key, value);
            }
        }
        Ok(())
    }
}

impl<K: Ord + Copy, V: PartialEq + Copy> Layers<K, V> {
    pub(super) fn new(newer: BTreeMap<K, V>) -> Self {
        Self { committed: RwLock::new(newer), group: Mutex::default() }
    }

    pub(super) fn len(&self) -> usize {
        self.committed.read().len()
    }

    pub(super) fn get(&self, key: &K) -> Option<V> {
        self.committed.read().get(key).copied()
    }

    pub(super) fn range(&self, keys: impl RangeBounds<K>) -> Vec<(K, V)> {
        self.committed.read().range(keys).map(|(key, value)| (*key, *value)).collect()
    }

    /// Returns the newest buffered value of each of the first `limit` keys in the range, `own` changes included.
    pub(super) fn newest(
        &self,
        own: &Changes<K, V>,
        keys: impl RangeBounds<K> + Clone,
        limit: usize,
    ) -> BTreeMap<K, V> {
        let (committed, group) = (self.committed.read(), self.group.lock());
        let mut found = BTreeMap::new();
        for values in [&*committed, &group.changed, &own.changed] {
            // A key among the first of all layers is among the first of each layer that has it.
            found.extend(values.range(keys.clone()).take(limit));
        }
        drop((committed, group));
        if let Some((first_over, _)) = found.iter().nth(limit) {
            let first_over = *first_over;
            found.split_off(&first_over);
        }
        found
    }

    /// Writes up to `limit` values after the key `after`, except those that this job has already written. Returns the
    /// last key, and how much of `limit` is left.
    pub(super) fn write_part<E>(
        &self,
        own: &mut Changes<K, V>,
        mut after: Option<K>,
        limit: usize,
        write: impl FnMut(K, V) -> Result<(), E>,
    ) -> Result<(Option<K>, usize), E> {
        let begin = after.map_or(Bound::Unbounded, Bound::Excluded);
        let part = self.newest(own, (begin, Bound::Unbounded), limit);
        let left = limit - part.len();
        after = part.last_key_value().map(|(key, _)| *key).or(after);
        own.write(part, write)?;
        Ok((after, left))
    }

    /// Adds the changes of a job to the group.
    pub(super) fn stage(&self, work: Changes<K, V>) {
        let mut group = self.group.lock();
        group.changed.extend(work.changed);
        group.written.extend(work.written);
    }

    /// Discards the group, which was not committed.
    pub(super) fn discard_group(&self) {
        mem::take(&mut *self.group.lock());
    }

    /// Publishes the group after its commit: readers see its changes, and values that were written back leave the
    /// buffer, unless they have changed since.
    pub(super) fn publish_group(&self) {
        let Changes { changed, written } = mem::take(&mut *self.group.lock());
        let mut changed = changed.into_iter().peekable();
        while changed.peek().is_some() {
            self.committed.write().extend(changed.by_ref().take(PUBLISHED_AT_ONCE));
        }
        let mut written = written.into_iter().peekable();
        while written.peek().is_some() {
            let mut committed = self.committed.write();
            for (key, value) in written.by_ref().take(PUBLISHED_AT_ONCE) {
                if committed.get(&key) == Some(&value) {
                    committed.remove(&key);
                }
            }
        }
    }
}
