//! A pool of threads that own a connection each, with a bounded queue per app.

use std::{
    array,
    collections::VecDeque,
    iter, mem,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::Arc,
    thread,
    time::Instant,
};

use lodge_domain::{Error, Result};
use parking_lot::{Condvar, Mutex};
use tokio::sync::oneshot;

use crate::App;

/// A pool of threads that own a connection `C` each. Work waits in a bounded queue per app; the queues are served round
/// robin, so that a busy app delays the others by one job.
pub struct Workers<C> {
    queues: Arc<Queues<C>>,
}

struct Queues<C> {
    state: Mutex<State<C>>,
    wake: Condvar,
    ended: Condvar,
    length_max: usize,
}

struct State<C> {
    waiting: [VecDeque<Job<C>>; App::COUNT],
    /// The app served next.
    next_app: usize,
    /// Running threads.
    threads: usize,
    closed: bool,
}

type Task<C> = Box<dyn FnOnce(&mut C) -> Result<()> + Send>;

struct Job<C> {
    work: Task<C>,
    reply: oneshot::Sender<Result<()>>,
}

impl<C> Job<C> {
    /// Whether the caller has stopped waiting.
    fn is_abandoned(&self) -> bool {
        self.reply.is_closed()
    }

    /// Runs the work and replies to the caller.
    fn run(self, connection: &mut C) {
        let Self { work, reply } = self;
        // A panic in one job must not end the thread.
        let outcome = catch_unwind(AssertUnwindSafe(|| work(connection)))
            .unwrap_or_else(|_| Err(Error::internal("a request to the database panicked")));
        // The caller may have stopped waiting.
        let _ = reply.send(outcome);
    }
}

impl<C: Send + 'static> Workers<C> {
    /// Starts a thread for each connection; up to `length_max` jobs of each app may wait.
    ///
    /// # Errors
    ///
    /// When a thread cannot be started.
    pub fn start(
        name: &str,
        connections: impl IntoIterator<Item = C>,
        length_max: usize,
    ) -> std::io::Result<Self> {
        let waiting = array::from_fn(|_| VecDeque::new());
        let state = State { waiting, next_app: 0, threads: 0, closed: false };
        let queues = Queues {
            state: Mutex::new(state),
            wake: Condvar::new(),
            ended: Condvar::new(),
            length_max,
        };
        let workers = Self { queues: Arc::new(queues) };
        for mut connection in connections {
            let running = Running::count(&workers.queues);
            thread::Builder::new().name(name.to_owned()).spawn(move || {
                while let Some(job) = running.0.take() {
                    job.run(&mut connection);
                }
                // In this order, so that the connection is closed when the thread counts as ended.
                drop(connection);
                drop(running);
            })?;
        }
        Ok(workers)
    }

    /// Runs `work` on one of the threads, unless the caller has stopped waiting before it starts.
    ///
    /// # Errors
    ///
    /// Errors of `work`, and [`Error::Unavailable`] when the app's queue is full or closed.
    pub async fn run(
        &self,
        app: App,
        work: impl FnOnce(&mut C) -> Result<()> + Send + 'static,
    ) -> Result<()> {
        let (reply, answer) = oneshot::channel();
        self.queues.push(app, Job { work: Box::new(work), reply })?;
        answer.await.unwrap_or_else(|_| Err(closed()))
    }
}

impl<C> Workers<C> {
    /// Refuses new work; queued work is still done.
    pub fn close(&self) {
        self.queues.state.lock().closed = true;
        self.queues.wake.notify_all();
    }

    /// Blocks until the threads have ended after [`Self::close`]; returns false if some have not by `deadline`.
    pub fn wait_ended(&self, deadline: Instant) -> bool {
        let mut state = self.queues.state.lock();
        self.queues.ended.wait_while_until(&mut state, |state| state.threads > 0, deadline);
        state.threads == 0
    }
}

impl<C> Drop for Workers<C> {
    fn drop(&mut self) {
        self.close();
    }
}

impl<C> Queues<C> {
    fn push(&self, app: App, job: Job<C>) -> Result<()> {
        let mut state = self.state.lock();
        if state.closed {
            return Err(closed());
        }
        let waiting = &mut state.waiting[app as usize];
        let mut abandoned = VecDeque::new();
        if waiting.len() >= self.length_max && waiting.iter().any(Job::is_abandoned) {
            (abandoned, *waiting) = mem::take(waiting).into_iter().partition(Job::is_abandoned);
        }
        let is_full = waiting.len() >= self.length_max;
        if !is_full {
            waiting.push_back(job);
        }
        drop(state);
        // Dropped without the lock, because dropping a job may close these queues.
        drop(abandoned);
        if is_full {
            let full = format!("the database queue for {} is full", app.name());
            return Err(Error::unavailable(full));
        }
        self.wake.notify_one();
        Ok(())
    }

    /// Waits for the next job whose caller still waits; returns `None` once the queues are closed and empty.
    fn take(&self) -> Option<Job<C>> {
        iter::from_fn(|| self.pop()).find(|job| !job.is_abandoned())
    }

    fn pop(&self) -> Option<Job<C>> {
        let mut state = self.state.lock();
        loop {
            match state.pop() {
                Some(job) => return Some(job),
                None if state.closed => return None,
                None => self.wake.wait(&mut state),
            }
        }
    }
}

impl<C> State<C> {
    fn pop(&mut self) -> Option<Job<C>> {
        let mut apps = (0..App::COUNT).map(|step| (self.next_app + step) % App::COUNT);
        let app = apps.find(|app| !self.waiting[*app].is_empty())?;
        self.next_app = (app + 1) % App::COUNT;
        self.waiting[app].pop_front()
    }
}

/// Counts a running thread until it ends, also by a panic.
struct Running<C>(Arc<Queues<C>>);

impl<C> Running<C> {
    fn count(queues: &Arc<Queues<C>>) -> Self {
        queues.state.lock().threads += 1;
        Self(Arc::clone(queues))
    }
}

impl<C> Drop for Running<C> {
    fn drop(&mut self) {
        self.0.state.lock().threads -= 1;
        self.0.ended.notify_all();
    }
}

fn closed() -> Error {
    Error::unavailable("the database is closed")
}

#[cfg(test)]
mod tests {
    use std::{
        sync::mpsc::{Sender, channel},
        time::Duration,
    };

    use tokio::task::JoinHandle;

    use super::*;
    use crate::Returned;

    /// A pool of one thread, whose connection is a list that jobs append to.
    fn one_thread(length_max: usize) -> Arc<Workers<Vec<u8>>> {
        Arc::new(Workers::start("test", [Vec::new()], length_max).unwrap())
    }

    /// Keeps the thread busy until the sender is used or dropped.
    async fn occupy(workers: &Arc<Workers<Vec<u8>>>) -> (Sender<()>, JoinHandle<Result<()>>) {
        let (go_on, wait) = channel();
        let (begun, has_begun) = oneshot::channel();
        let workers = Arc::clone(workers);
        let work = move |_: &mut Vec<u8>| {
            begun.send(()).unwrap();
            let _ = wait.recv();
            Ok(())
        };
        let running = tokio::spawn(async move { workers.run(App::Links, work).await });
        has_begun.await.unwrap();
        (go_on, running)
    }

    async fn append(workers: &Workers<Vec<u8>>, app: App, number: u8) -> Result<()> {
        let append = move |list: &mut Vec<u8>| {
            list.push(number);
            Ok(())
        };
        workers.run(app, append).await
    }

    async fn list(workers: &Workers<Vec<u8>>) -> Vec<u8> {
        let listed = Returned::default();
        let result = listed.clone();
        let list = move |list: &mut Vec<u8>| {
            result.set(list.clone());
            Ok(())
        };
        workers.run(App::Board, list).await.unwrap();
        listed.take().unwrap()
    }

    #[tokio::test]
    async fn a_full_queue_refuses_without_affecting_other_apps() {
        let workers = one_thread(1);
        let (go_on, running) = occupy(&workers).await;
        let first = append(&workers, App::Accounts, 1);
        let second = append(&workers, App::Accounts, 2);
        let other = append(&workers, App::Rides, 3);
        let finish = async {
            drop(go_on);
            running.await.unwrap()
        };
        let (first, second, other, finish) = tokio::join!(biased; first, second, other, finish);
        assert!(matches!(second, Err(Error::Unavailable { .. })));
        assert!(first.is_ok() && other.is_ok() && finish.is_ok());
        assert_eq!(list(&workers).await, [1, 3]);
    }

    #[tokio::test]
    async fn abandoned_work_does_not_run_or_fill_the_queue() {
        let workers = one_thread(1);
        let (go_on, running) = occupy(&workers).await;
        let abandoned = tokio::time::timeout(Duration::ZERO, append(&workers, App::Accounts, 1));
        assert!(abandoned.await.is_err());
        let finish = async {
            drop(go_on);
            running.await.unwrap()
        };
        let (next, finish) = tokio::join!(biased; append(&workers, App::Accounts, 2), finish);
        assert!(next.is_ok() && finish.is_ok());
        assert_eq!(list(&workers).await, [2]);
    }

    #[tokio::test]
    async fn apps_are_served_round_robin() {
        let workers = one_thread(9);
        let (go_on, running) = occupy(&workers).await;
        let (one, two) = (append(&workers, App::Rides, 1), append(&workers, App::Rides, 2));
        let (other, finish) = (append(&workers, App::Accounts, 3), async {
            drop(go_on);
            running.await.unwrap()
        });
        let done = tokio::join!(biased; one, two, other, finish);
        assert!(matches!(done, (Ok(()), Ok(()), Ok(()), Ok(()))));
        assert_eq!(list(&workers).await, [3, 1, 2]);
    }

    #[tokio::test]
    async fn a_thread_outlives_work_that_panics() {
        let workers = one_thread(1);
        let panicked = workers.run(App::Links, |_| -> Result<()> { panic!("on purpose") }).await;
        assert!(matches!(panicked, Err(Error::Internal(_))));
        append(&workers, App::Links, 1).await.unwrap();
        assert_eq!(list(&workers).await, [1]);
    }

    #[tokio::test]
    async fn closing_finishes_queued_work_and_refuses_new_work() {
        let workers = one_thread(9);
        let (go_on, running) = occupy(&workers).await;
        let waits = append(&workers, App::Links, 1);
        let close = async {
            workers.close();
            assert!(!workers.wait_ended(Instant::now()), "a thread is at work");
            drop(go_on);
            running.await.unwrap()
        };
        let (waits, close) = tokio::join!(biased; waits, close);
        assert!(waits.is_ok() && close.is_ok());
        let late = append(&workers, App::Links, 2).await;
        assert!(matches!(late, Err(Error::Unavailable { .. })));
        assert!(workers.wait_ended(Instant::now() + Duration::from_secs(10)));
    }
}
