//! Whether the events of each origin come to a reader in order, none twice and none left out.

/// The most gaps of an origin that are remembered at once.
const GAPS_MAX: usize = 1024;

/// What an event's number says, after those before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Came {
    /// The next one.
    Next,
    /// Later than the next one: some before it are not here.
    Ahead,
    /// One of those that were not here.
    Late,
    /// One that is here already.
    Again {
        /// Since before the connection was made anew.
        from_before: bool,
    },
}

#[derive(Debug)]
struct Origin {
    number: u32,
    last: u64,
    /// Up to where it was had when the connection was made anew.
    resumed: u64,
    /// First and last of what was passed over.
    gaps: Vec<(u64, u64)>,
}

/// What one reader has had of each origin.
#[derive(Debug, Default)]
pub(crate) struct Order {
    origins: Vec<Origin>,
}

impl Order {
    /// A reader who has what this cursor says.
    pub(crate) fn from_cursor(cursor: &str) -> Self {
        let mut order = Self::default();
        for (number, last) in cursor.split(',').filter_map(super::event::id) {
            // 0 stands for many that write no more.
            if number > 0 {
                order.origins.push(Origin { number, last, resumed: last, gaps: Vec::new() });
            }
        }
        order
    }

    /// The connection is made anew.
    pub(crate) fn resume(&mut self) {
        for origin in &mut self.origins {
            origin.resumed = origin.last;
        }
    }

    /// Takes the next event.
    pub(crate) fn take(&mut self, number: u32, seq: u64) -> Came {
        let Some(origin) = self.origins.iter_mut().find(|origin| origin.number == number) else {
            // Where nothing is had of an origin, its first event has number 1 or comes after what the
            // reader did not ask for.
            self.origins.push(Origin { number, last: seq, resumed: 0, gaps: Vec::new() });
            return Came::Next;
        };
        origin.take(seq)
    }

    /// How many were passed over and did not come, and the first of them with its origin.
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
    fn take(&mut self, seq: u64) -> Came {
        if seq > self.last {
            let passed = seq - self.last - 1;
            if passed > 0 && self.gaps.len() < GAPS_MAX {
                self.gaps.push((self.last + 1, seq - 1));
            }
            self.last = seq;
            return if passed == 0 { Came::Next } else { Came::Ahead };
        }
        let within = |(first, last): &(u64, u64)| (*first..=*last).contains(&seq);
        let Some(place) = self.gaps.iter().position(within) else {
            return Came::Again { from_before: seq <= self.resumed };
        };
        let (first, last) = self.gaps.remove(place);
        let parts = [(first, seq - 1), (seq + 1, last)];
        self.gaps.extend(parts.into_iter().filter(|(first, last)| first <= last));
        Came::Late
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn take(order: &mut Order, seqs: &[u64]) -> Vec<Came> {
        seqs.iter().map(|seq| order.take(7, *seq)).collect()
    }

    #[test]
    fn what_is_passed_over_is_missing_until_it_comes() {
        let mut order = Order::from_cursor("0:3,7:40,9:1");
        assert_eq!(
            take(&mut order, &[41, 45, 43, 46]),
            [Came::Next, Came::Ahead, Came::Late, Came::Next]
        );
        assert_eq!(order.missing(), (2, Some((7, 42))));
        assert_eq!(take(&mut order, &[42, 44]), [Came::Late; 2]);
        assert_eq!(order.missing(), (0, None));
        assert_eq!(order.take(9, 2), Came::Next);
    }

    #[test]
    fn what_comes_twice_is_told_from_what_comes_twice_after_a_new_connection() {
        let mut order = Order::from_cursor("");
        assert_eq!(order.take(7, 5), Came::Next, "its first may have any number");
        assert_eq!(take(&mut order, &[6, 5]), [Came::Next, Came::Again { from_before: false }]);
        order.resume();
        assert_eq!(
            take(&mut order, &[7, 7, 6]),
            [Came::Next, Came::Again { from_before: false }, Came::Again { from_before: true }]
        );
    }
}
