//! Checks that a reader gets the events of each origin in order, without repeats and gaps.

/// The largest number of open gaps tracked for an origin.
const GAPS_MAX: usize = 1024;

/// How an event's number relates to the numbers before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SeqStatus {
    /// The next number.
    Next,
    /// A number after the next one: there is a gap before it.
    Ahead,
    /// A number from a gap.
    Late,
    /// A number that was received before.
    Again {
        /// Whether it was received before the last reconnect.
        from_before: bool,
    },
}

#[derive(Debug)]
struct Origin {
    number: u32,
    last: u64,
    /// The last number at the time of the last reconnect.
    resumed: u64,
    /// First and last number of each gap.
    gaps: Vec<(u64, u64)>,
}

/// The numbers that one reader has received of each origin.
#[derive(Debug, Default)]
pub(crate) struct Order {
    origins: Vec<Origin>,
}

impl Order {
    /// A reader that starts from this cursor.
    pub(crate) fn from_cursor(cursor: &str) -> Self {
        let mut order = Self::default();
        for (number, last) in cursor.split(',').filter_map(super::event::id) {
            // Origin 0 stands for closed origins, which are folded into a checkpoint.
            if number > 0 {
                order.origins.push(Origin { number, last, resumed: last, gaps: Vec::new() });
            }
        }
        order
    }

    /// Notes that the reader reconnects.
    pub(crate) fn resume(&mut self) {
        for origin in &mut self.origins {
            origin.resumed = origin.last;
        }
    }

    /// Takes the next event.
    pub(crate) fn take(&mut self, number: u32, seq: u64) -> SeqStatus {
        let Some(origin) = self.origins.iter_mut().find(|origin| origin.number == number) else {
            // An origin that is not in the cursor may start at any number: earlier events lie before the
            // cursor.
            self.origins.push(Origin { number, last: seq, resumed: 0, gaps: Vec::new() });
            return SeqStatus::Next;
        };
        origin.take(seq)
    }

    /// Returns how many numbers are in gaps, and the first of them with its origin.
    pub(crate) fn missing(&self) -> (u64, Option<(u32, u64)>) {
        let gaps = || {
            self.origins.iter().flat_map(|origin| {
                origin.gaps.iter().map(move |(first, last)| (origin.number, *first, *last))
            })
        };
        let count = gaps().map(|(_, first, last)| last - first + 1).sum();
        (count, gaps().next().map(|(number, first, _)| (number, first)))
    }
}

impl Origin {
    fn take(&mut self, seq: u64) -> SeqStatus {
        if seq > self.last {
            let passed = seq - self.last - 1;
            if passed > 0 && self.gaps.len() < GAPS_MAX {
                self.gaps.push((self.last + 1, seq - 1));
            }
            self.last = seq;
            return if passed == 0 { SeqStatus::Next } else { SeqStatus::Ahead };
        }
        let within = |(first, last): &(u64, u64)| (*first..=*last).contains(&seq);
        let Some(place) = self.gaps.iter().position(within) else {
            return SeqStatus::Again { from_before: seq <= self.resumed };
        };
        let (first, last) = self.gaps.remove(place);
        let parts = [(first, seq - 1), (seq + 1, last)];
        self.gaps.extend(parts.into_iter().filter(|(first, last)| first <= last));
        SeqStatus::Late
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn take(order: &mut Order, seqs: &[u64]) -> Vec<SeqStatus> {
        seqs.iter().map(|seq| order.take(7, *seq)).collect()
    }

    #[test]
    fn a_skipped_number_is_missing_until_it_arrives() {
        let mut order = Order::from_cursor("0:3,7:40,9:1");
        assert_eq!(
            take(&mut order, &[41, 45, 43, 46]),
            [SeqStatus::Next, SeqStatus::Ahead, SeqStatus::Late, SeqStatus::Next]
        );
        assert_eq!(order.missing(), (2, Some((7, 42))));
        assert_eq!(take(&mut order, &[42, 44]), [SeqStatus::Late; 2]);
        assert_eq!(order.missing(), (0, None));
        assert_eq!(order.take(9, 2), SeqStatus::Next);
    }

    #[test]
    fn a_repeat_on_one_connection_is_told_from_one_after_a_reconnect() {
        let mut order = Order::from_cursor("");
        assert_eq!(order.take(7, 5), SeqStatus::Next, "the first event may have any number");
        assert_eq!(
            take(&mut order, &[6, 5]),
            [SeqStatus::Next, SeqStatus::Again { from_before: false }]
        );
        order.resume();
        assert_eq!(
            take(&mut order, &[7, 7, 6]),
            [
                SeqStatus::Next,
                SeqStatus::Again { from_before: false },
                SeqStatus::Again { from_before: true }
            ]
        );
    }
}
