//! The turns of a thread's connections at one pace, and what is noted of all of them.

use std::cell::{Cell, RefCell};
use std::io;
use std::rc::Rc;
use std::time::{Duration, Instant};

use rand::SeedableRng;
use rand::rngs::SmallRng;
use tokio::task::JoinSet;

use crate::control::{Control, Progress};
use crate::pace::{Next, Pace};
use crate::record::Times;

/// How long a connection of a closed loop waits after it could not connect, instead of spinning.
const REDIAL_PAUSE: Duration = Duration::from_millis(10);

/// A connection with what it does when it is its turn.
pub(crate) trait Turns {
    /// Whether it has no more turns, however many are left.
    fn is_done(&self) -> bool {
        false
    }

    /// Does what was due at `intended` and begins at `now`; false if there was no connection.
    async fn take(&mut self, intended: Instant, now: Instant) -> bool;

    /// Notes a turn whose deadline passed, or whose run was stopped, before a connection was free.
    fn miss(&mut self, intended: Instant, now: Instant);
}

/// What a thread notes of all turns.
#[derive(Debug)]
pub(crate) struct Notes {
    /// Open loop: from the intended time to the sending, where a connection lay idle.
    lag: RefCell<Times>,
    /// Open loop: turns that waited for a free connection.
    queued: Cell<u64>,
    last_success: Cell<Duration>,
    last_end: Cell<Duration>,
}

/// The same at its end.
#[derive(Debug)]
pub(crate) struct Noted {
    pub(crate) lag: Times,
    pub(crate) queued: u64,
    /// The last success, and the last end of any turn, since the start.
    pub(crate) last_success: Duration,
    pub(crate) last_end: Duration,
}

impl Notes {
    pub(crate) fn new() -> Self {
        Self {
            lag: RefCell::new(Times::new()),
            queued: Cell::new(0),
            last_success: Cell::default(),
            last_end: Cell::default(),
        }
    }

    pub(crate) fn into_inner(self) -> Noted {
        Noted {
            lag: self.lag.into_inner(),
            queued: self.queued.get(),
            last_success: self.last_success.get(),
            last_end: self.last_end.get(),
        }
    }

    /// A turn has ended, so long after the start.
    pub(crate) fn ended(&self, at: Duration, is_success: bool, progress: &Progress) {
        progress.count(is_success);
        self.last_end.set(self.last_end.get().max(at));
        if is_success {
            self.last_success.set(self.last_success.get().max(at));
        }
    }

    fn began(&self, late: Duration, queued: bool) {
        if queued {
            self.queued.set(self.queued.get() + 1);
        } else {
            self.lag.borrow_mut().record(late);
        }
    }
}

/// Has `connections` take turns at `pace`, each as one of `tasks`; in an open loop one more wakes them.
pub(crate) fn start<T: Turns + 'static>(
    pace: Pace,
    control: &Control,
    notes: &Rc<Notes>,
    connections: impl IntoIterator<Item = T>,
    tasks: &mut JoinSet<io::Result<()>>,
) {
    let pace = Rc::new(pace);
    for turns in connections {
        tasks.spawn_local(drive(Rc::clone(&pace), control.clone(), Rc::clone(notes), turns));
    }
    let control = control.clone();
    tasks.spawn_local(async move {
        match &*pace {
            Pace::Open(open) => open.pace(&control).await,
            Pace::Closed(_) => Ok(()),
        }
    });
}

/// One connection, from the first turn to the last.
async fn drive(
    pace: Rc<Pace>,
    control: Control,
    notes: Rc<Notes>,
    mut turns: impl Turns,
) -> io::Result<()> {
    let mut woken = false;
    while !turns.is_done() {
        let (now, stopped) = (Instant::now(), control.stopped());
        let next = match &*pace {
            Pace::Closed(closed) => closed.take(now, stopped),
            Pace::Open(open) => {
                open.take(now, woken, stopped, |intended| turns.miss(intended, now))
            }
        };
        match (next, &*pace) {
            (Next::Send { intended, queued }, pace) => {
                let is_closed = matches!(pace, Pace::Closed(_));
                if !is_closed {
                    notes.began(now - intended, queued);
                }
                let connected = turns.take(intended, now).await;
                if !connected && is_closed {
                    tokio::time::sleep(REDIAL_PAUSE).await;
                }
                woken = false;
            }
            (Next::Wait, Pace::Open(open)) => {
                open.lie_idle().await;
                woken = true;
            }
            (Next::Wait | Next::End, _) => return Ok(()),
        }
    }
    Ok(())
}

/// The choices of a connection at random, which has these numbers within the run.
pub(crate) fn rng(seed: u64, numbers: &[u64]) -> SmallRng {
    SmallRng::seed_from_u64(
        numbers.iter().fold(seed, |seed, part| {
            seed.wrapping_mul(0x9e37_79b9_7f4a_7c15).wrapping_add(part + 1)
        }),
    )
}
