//! Those who have not proved their key. They have few places of their own, so that they take none from those
//! who have it; and whoever comes anew goes before whoever has taken longest.

use std::{collections::VecDeque, sync::Arc};

use parking_lot::Mutex;
use tokio_util::sync::CancellationToken;

/// A bounded number of them.
pub(super) struct Strangers {
    max: usize,
    inside: Mutex<Inside>,
}

#[derive(Default)]
struct Inside {
    next: u64,
    oldest_first: VecDeque<(u64, CancellationToken)>,
}

/// One of them.
pub(super) struct Stranger {
    number: u64,
    /// That there is no room for this one any more.
    out: CancellationToken,
    all: Arc<Strangers>,
}

impl Strangers {
    /// At most `max` at once.
    pub(super) fn new(max: usize) -> Arc<Self> {
        Arc::new(Self { max: max.max(1), inside: Mutex::default() })
    }

    /// Lets one more in; the oldest goes, if there are too many.
    pub(super) fn enter(self: &Arc<Self>) -> Stranger {
        let mut inside = self.inside.lock();
        if inside.oldest_first.len() >= self.max
            && let Some((_, oldest)) = inside.oldest_first.pop_front()
        {
            oldest.cancel();
            metrics::counter!("lodge_wire_strangers_dropped_total").increment(1);
        }
        let (number, out) = (inside.next, CancellationToken::new());
        inside.next += 1;
        inside.oldest_first.push_back((number, out.clone()));
        Stranger { number, out, all: Arc::clone(self) }
    }
}

impl Stranger {
    /// What comes of `meeting`, with which this one is none any more; `None` also if others need the room.
    pub(super) async fn while_there_is_room<T>(
        self,
        meeting: impl Future<Output = Option<T>>,
    ) -> Option<T> {
        self.out.run_until_cancelled(meeting).await.flatten()
    }
}

impl Drop for Stranger {
    fn drop(&mut self) {
        let mut inside = self.all.inside.lock();
        // Their numbers rise.
        if let Ok(at) =
            inside.oldest_first.binary_search_by_key(&self.number, |(number, _)| *number)
        {
            inside.oldest_first.remove(at);
        }
    }
}
