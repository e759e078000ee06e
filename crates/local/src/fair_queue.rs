//! A bounded queue that is fair between callers.

use std::collections::VecDeque;

/// Jobs by caller, served round robin. When it is full, the caller with the most jobs gives one up.
pub(crate) struct FairQueue<K, T> {
    /// The callers with jobs, in the order in which they are served; no list is empty.
    callers: VecDeque<(K, VecDeque<T>)>,
    length: usize,
    length_max: usize,
}

impl<K: PartialEq, T> FairQueue<K, T> {
    /// Creates a queue of at most `length_max` jobs.
    pub(crate) fn new(length_max: usize) -> Self {
        Self { callers: VecDeque::new(), length: 0, length_max }
    }

    /// Adds a job. Returns the job for which there is no room: the newest of the caller with the most jobs, or this one
    /// if no caller has at least two more than this one.
    pub(crate) fn push(&mut self, caller: K, job: T) -> Option<T> {
        let place = self.callers.iter().position(|(known, _)| *known == caller);
        let own = place.map_or(0, |place| self.callers[place].1.len());
        let mut without_room = None;
        if self.length >= self.length_max {
            match self.callers.iter_mut().max_by_key(|(_, jobs)| jobs.len()) {
                Some((_, jobs)) if jobs.len() > own + 1 => without_room = jobs.pop_back(),
                _ => return Some(job),
            }
            self.length -= 1;
        }
        match place {
            Some(place) => self.callers[place].1.push_back(job),
            None => self.callers.push_back((caller, VecDeque::from([job]))),
        }
        self.length += 1;
        without_room
    }

    /// Removes the next job.
    pub(crate) fn pop(&mut self) -> Option<T> {
        let (caller, mut jobs) = self.callers.pop_front()?;
        let job = jobs.pop_front()?;
        self.length -= 1;
        if !jobs.is_empty() {
            self.callers.push_back((caller, jobs));
        }
        Some(job)
    }
}

#[cfg(test)]
mod tests {
    use std::iter;

    use proptest::{collection::vec, prelude::*};

    use super::*;

    fn queue(length_max: usize, jobs: &[(u8, usize)]) -> FairQueue<u8, (u8, usize)> {
        let mut queue = FairQueue::new(length_max);
        for (caller, number) in jobs {
            assert_eq!(queue.push(*caller, (*caller, *number)), None);
        }
        queue
    }

    fn drained(mut queue: FairQueue<u8, (u8, usize)>) -> Vec<(u8, usize)> {
        iter::from_fn(|| queue.pop()).collect()
    }

    #[test]
    fn callers_are_served_in_turn_and_their_own_jobs_in_order() {
        let queue = queue(9, &[(1, 1), (1, 2), (1, 3), (2, 1), (3, 1), (3, 2)]);
        assert_eq!(drained(queue), [(1, 1), (2, 1), (3, 1), (1, 2), (3, 2), (1, 3)]);
    }

    #[test]
    fn a_full_queue_refuses_the_newest_job_of_the_caller_with_the_most() {
        let mut queue = queue(4, &[(1, 1), (1, 2), (1, 3), (2, 1)]);
        assert_eq!(queue.push(1, (1, 4)), Some((1, 4)));
        assert_eq!(queue.push(2, (2, 2)), Some((1, 3)));
        assert_eq!(queue.push(2, (2, 3)), Some((2, 3)), "both would only change places");
        assert_eq!(queue.push(3, (3, 1)), Some((2, 2)));
        assert_eq!(drained(queue), [(1, 1), (2, 1), (3, 1), (1, 2)]);
    }

    proptest! {
        #[test]
        fn the_queue_is_bounded_and_a_new_caller_finds_room_beside_one_with_two_jobs(
            pushes in vec((0..5_u8, any::<bool>()), 0..60),
        ) {
            let mut queue = FairQueue::new(6);
            for (number, (caller, pops)) in pushes.into_iter().enumerate() {
                let most = queue.callers.iter().map(|(_, jobs): &(u8, VecDeque<(u8, usize)>)| jobs.len()).max();
                let is_new = queue.callers.iter().all(|(known, _)| *known != caller);
                let without_room = queue.push(caller, (caller, number));
                if is_new && most > Some(1) {
                    prop_assert_ne!(without_room, Some((caller, number)));
                }
                if pops {
                    queue.pop();
                }
                let length: usize = queue.callers.iter().map(|(_, jobs)| jobs.len()).sum();
                prop_assert_eq!(length, queue.length);
                prop_assert!(length <= 6 && queue.callers.iter().all(|(_, jobs)| !jobs.is_empty()));
            }
        }
    }
}
