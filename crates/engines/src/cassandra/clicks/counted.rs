//! The counts that this process has written, and what a batch adds to them.

use std::collections::{BTreeMap, HashMap};

use lodge_domain::links::{ClickBatch, Device, LinkId, clicks::OTHER_REFERRERS};
use uuid::Uuid;

use super::{DAY_SECONDS, HOUR_SECONDS};

/// Counts that are cached; past it they are read again.
const CELLS_MAX: usize = 1 << 18;

/// Referrer hosts that one process counts for one link; further hosts are counted together.
const HOSTS_MAX: u32 = 1_000;

/// Rows of a batch: some tens of kilobytes at most, where a node accepts megabytes.
const ROWS_MAX: usize = 100;

/// A cache of the counts that this process has written.
#[derive(Default)]
pub(super) struct CountCache {
    cells: HashMap<(Uuid, Cell), Count>,
    hosts: HashMap<LinkId, u32>,
    /// The incarnation of the last batch.
    incarnation: Option<Uuid>,
    /// Whether a cell of this incarnation that is not in `cells` was never written.
    is_complete: bool,
}

/// A counter.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) enum Cell {
    Hour(LinkId, i64, Device),
    Day(LinkId, i64, Device),
    Host(LinkId, Box<str>),
}

/// The clicks of a cell after batch `number`.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Count {
    pub(super) number: i64,
    pub(super) clicks: i64,
}

/// What a batch adds to a cell, with the cell's cached count.
#[derive(Debug)]
pub(super) struct Sum {
    pub(super) cell: Cell,
    pub(super) known: Option<Count>,
    pub(super) more: u64,
}

impl CountCache {
    /// Empties a full cache, and records whether the batch is the first of its incarnation: then no cell
    /// of it can have been written, except by the same batch.
    pub(super) fn begin(&mut self, batch: &ClickBatch) {
        if self.cells.len() > CELLS_MAX {
            let incarnation = self.incarnation;
            *self = Self { incarnation, ..Self::default() };
        }
        if self.incarnation != Some(batch.incarnation) {
            self.incarnation = Some(batch.incarnation);
            self.is_complete = batch.number == 1;
        }
    }

    /// What a batch adds, in parts: each is of one link, and small enough for one write.
    pub(super) fn parts(&mut self, batch: &ClickBatch) -> Vec<Vec<Sum>> {
        let mut links: BTreeMap<LinkId, Vec<Sum>> = BTreeMap::new();
        for (cell, more) in self.sums(batch) {
            let (link, place) = (cell.link(), (batch.incarnation, cell));
            let known = self.cells.get(&place).copied();
            let never = self.is_complete.then(Count::default);
            links.entry(link).or_default().push(Sum {
                cell: place.1,
                known: known.or(never),
                more,
            });
        }
        links.into_values().flat_map(in_parts).collect()
    }

    /// Caches counts that were stored.
    pub(super) fn keep(&mut self, incarnation: Uuid, stored: Vec<(Cell, Count)>) {
        let stored = stored.into_iter().map(|(cell, count)| ((incarnation, cell), count));
        self.cells.extend(stored);
    }

    /// Records that a write has failed: it may have been applied nevertheless.
    pub(super) fn mark_uncertain(&mut self) {
        self.is_complete = false;
    }

    /// What a batch adds to each cell.
    fn sums(&mut self, batch: &ClickBatch) -> BTreeMap<Cell, u64> {
        let mut sums: BTreeMap<Cell, u64> = BTreeMap::new();
        for (cell, clicks) in &batch.clicks {
            let day = cell.hour.div_euclid(DAY_SECONDS / HOUR_SECONDS);
            *sums.entry(Cell::Hour(cell.link, cell.hour, cell.device)).or_default() += clicks;
            *sums.entry(Cell::Day(cell.link, day, cell.device)).or_default() += clicks;
        }
        for ((link, host), clicks) in &batch.referrers {
            *sums.entry(self.host_cell(batch.incarnation, *link, host)).or_default() += clicks;
        }
        sums
    }

    /// The cell of a host, or the shared cell once there are too many hosts.
    fn host_cell(&mut self, incarnation: Uuid, link: LinkId, host: &str) -> Cell {
        let cell = Cell::Host(link, host.into());
        if self.cells.contains_key(&(incarnation, cell.clone())) {
            return cell;
        }
        let hosts = self.hosts.entry(link).or_default();
        if *hosts >= HOSTS_MAX {
            return Cell::Host(link, OTHER_REFERRERS.into());
        }
        *hosts += 1;
        cell
    }
}

impl Cell {
    fn link(&self) -> LinkId {
        match self {
            Self::Hour(link, ..) | Self::Day(link, ..) | Self::Host(link, _) => *link,
        }
    }
}

/// Splits the rows of one link into batches.
pub(super) fn in_parts<T>(rows: Vec<T>) -> Vec<Vec<T>> {
    let mut rows = rows.into_iter();
    let next = || {
        let part: Vec<T> = rows.by_ref().take(ROWS_MAX).collect();
        (!part.is_empty()).then_some(part)
    };
    std::iter::from_fn(next).collect()
}

#[cfg(test)]
mod tests {
    use lodge_domain::links::clicks::ClickCell;

    use super::*;

    fn batch(number: u64, links: &[LinkId], hosts: usize) -> ClickBatch {
        let cell = |link: &LinkId| (ClickCell { link: *link, hour: 0, device: Device::Other }, 1);
        let host = |index: usize| ((links[0], format!("{index}.example").into()), 1);
        ClickBatch {
            incarnation: Uuid::nil(),
            number,
            clicks: links.iter().map(cell).collect(),
            referrers: (0..hosts).map(host).collect(),
        }
    }

    fn links() -> [LinkId; 2] {
        [1, 2].map(|number| LinkId(Uuid::from_u128(number)))
    }

    fn parts(counted: &mut CountCache, batch: &ClickBatch) -> Vec<Vec<Sum>> {
        counted.begin(batch);
        counted.parts(batch)
    }

    #[test]
    fn a_part_is_of_one_link_and_small_enough_for_one_write() {
        let parts = parts(&mut CountCache::default(), &batch(1, &links(), 2 * ROWS_MAX));
        let sizes: Vec<(LinkId, usize)> =
            parts.iter().map(|part| (part[0].cell.link(), part.len())).collect();
        let [first, second] = links();
        assert_eq!(sizes, [(first, ROWS_MAX), (first, ROWS_MAX), (first, 2), (second, 2)]);
        for part in parts {
            assert!(part.iter().all(|sum| sum.cell.link() == part[0].cell.link()));
        }
    }

    #[test]
    fn hosts_past_the_limit_are_counted_together() {
        let hosts = HOSTS_MAX as usize;
        let parts = parts(&mut CountCache::default(), &batch(1, &links()[..1], hosts + 7));
        let sums: Vec<&Sum> =
            parts.iter().flatten().filter(|sum| matches!(sum.cell, Cell::Host(..))).collect();
        let others = Cell::Host(links()[0], OTHER_REFERRERS.into());
        assert_eq!(sums.len(), hosts + 1);
        assert!(sums.iter().any(|sum| sum.cell == others && sum.more == 7));
    }

    #[test]
    fn an_unwritten_cell_is_known_to_be_zero_until_a_write_fails() {
        let mut counted = CountCache::default();
        let is_known = |parts: Vec<Vec<Sum>>| parts.iter().flatten().all(|it| it.known.is_some());
        assert!(is_known(parts(&mut counted, &batch(1, &links(), 1))));
        counted.mark_uncertain();
        assert!(!is_known(parts(&mut counted, &batch(1, &links(), 1))));
    }

    #[test]
    fn the_counts_of_an_incarnation_not_followed_from_its_first_batch_are_unknown() {
        let parts = parts(&mut CountCache::default(), &batch(2, &links(), 1));
        assert!(parts.iter().flatten().all(|sum| sum.known.is_none()));
    }
}
