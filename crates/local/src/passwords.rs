//! Argon2 on dedicated threads with lowered priority; bcrypt for imported hashes.

use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    sync::Arc,
    thread,
    time::Instant,
};

use argon2_rust::{
    Algorithm, Argon2, Error as Argon2Error, Hasher, Params, Version, params::Memory,
};
use async_trait::async_trait;
use lodge_domain::{
    Error, Result,
    password_hasher::{PasswordHasher, PasswordOf},
    passwords::{LANES, MEMORY_KIB, PASSES, Password, PasswordHash},
};
use parking_lot::{Condvar, Mutex};
use tokio::sync::oneshot;

use super::fair_queue::FairQueue;

/// The niceness of the threads, 0 to 19. With 19, reads beside sign-ins were no faster (nine alternating runs of each
/// on two cores), and sign-ins beside reads that saturated both cores took a second instead of a sixth of a second.
const NICENESS: i32 = 10;

/// A bounded pool of threads that hash passwords. The threads end when it is dropped.
pub struct Argon2Pool {
    /// Shared with each live thread.
    queues: Arc<Queues>,
}

/// A job of a thread, which passes its reusable hasher.
type Work = Box<dyn FnOnce(&mut Hasher) + Send>;

struct Queues {
    waiting: Mutex<Waiting>,
    wake: Condvar,
}

struct Waiting {
    of_accounts: FairQueue<PasswordOf, Work>,
    of_links: FairQueue<PasswordOf, Work>,
    /// Whether the last job was of a link: the queues take turns.
    was_link: bool,
    is_closed: bool,
}

impl Argon2Pool {
    /// Starts `threads` threads (at least 1). At most `queue` passwords of accounts wait, and as many of links; past
    /// that the caller with the most is refused at once. Fails if a thread cannot be started.
    pub fn new(threads: usize, queue: usize) -> std::io::Result<Self> {
        let params = Params::builder()
            .memory(Memory::kib(MEMORY_KIB.into()))
            .passes(PASSES)
            .lanes(LANES)
            .build()
            .map_err(std::io::Error::other)?;
        let argon2 = Argon2::new(Algorithm::Argon2id, Version::V0x13, params);
        let pool = Self { queues: Arc::new(Queues::new(queue)) };
        for _ in 0..threads.max(1) {
            // Each thread reuses the wiped memory of a hash for the next one.
            let (queues, hasher) = (Arc::clone(&pool.queues), argon2.hasher());
            thread::Builder::new()
                .name("lodge-argon2".to_owned())
                .spawn(move || run(&queues, hasher))?;
        }
        Ok(pool)
    }

    /// Runs a job on a thread; it is skipped if the caller is dropped before its start.
    async fn run<T: Send + 'static>(
        &self,
        of: PasswordOf,
        work: impl FnOnce(&mut Hasher) -> Result<T> + Send + 'static,
    ) -> Result<T> {
        let (reply, answer) = oneshot::channel();
        let asked = Instant::now();
        let work: Work = Box::new(move |hasher| {
            if reply.is_closed() {
                return;
            }
            metrics::histogram!("lodge_passwords_wait_seconds").record(asked.elapsed());
            let began = Instant::now();
            // A panic of a library must not end the thread.
            let outcome = catch_unwind(AssertUnwindSafe(|| work(hasher)))
                .unwrap_or_else(|_| Err(Error::internal("hashing a password panicked")));
            // The caller may be dropped.
            drop(reply.send(outcome));
            metrics::histogram!("lodge_passwords_work_seconds").record(began.elapsed());
        });
        // Dropped without the lock. Its caller, which may be this one, then gets no answer.
        drop(self.queues.push(of, work));
        answer.await.unwrap_or_else(|_| {
            Err(Error::unavailable("too many passwords are waiting to be hashed"))
        })
    }
}

impl Drop for Argon2Pool {
    fn drop(&mut self) {
        self.queues.waiting.lock().is_closed = true;
        self.queues.wake.notify_all();
    }
}

impl Queues {
    fn new(length_max: usize) -> Self {
        let waiting = Waiting {
            of_accounts: FairQueue::new(length_max),
            of_links: FairQueue::new(length_max),
            was_link: false,
            is_closed: false,
        };
        Self { waiting: Mutex::new(waiting), wake: Condvar::new() }
    }

    /// Adds a job; returns the job for which there is no room.
    fn push(&self, of: PasswordOf, work: Work) -> Option<Work> {
        let mut waiting = self.waiting.lock();
        let queue = match of {
            PasswordOf::Link(_) | PasswordOf::Visitor(_) => &mut waiting.of_links,
            PasswordOf::Client(_) | PasswordOf::Account(_) => &mut waiting.of_accounts,
        };
        let without_room = queue.push(of.share(), work);
        drop(waiting);
        self.wake.notify_one();
        without_room
    }

    /// Waits for the next job; `None` once the pool is dropped and no job waits.
    fn pop(&self) -> Option<Work> {
        let mut waiting = self.waiting.lock();
        loop {
            match waiting.pop() {
                Some(work) => return Some(work),
                None if waiting.is_closed => return None,
                None => self.wake.wait(&mut waiting),
            }
        }
    }
}

impl Waiting {
    fn pop(&mut self) -> Option<Work> {
        let account_first = self.was_link;
        let account = if account_first { self.of_accounts.pop() } else { None };
        if account.is_none()
            && let Some(link) = self.of_links.pop()
        {
            self.was_link = true;
            return Some(link);
        }
        self.was_link = false;
        account.or_else(|| self.of_accounts.pop())
    }
}

#[async_trait]
impl PasswordHasher for Argon2Pool {
    async fn hash(&self, of: PasswordOf, password: Password) -> Result<PasswordHash> {
        self.run(of, move |hasher| hash(hasher, &password)).await
    }

    async fn verify(&self, of: PasswordOf, password: Password, hash: PasswordHash) -> Result<bool> {
        self.run(of, move |hasher| verify(hasher, &password, &hash)).await
    }
}

fn run(queues: &Queues, mut hasher: Hasher) {
    // On Linux this sets the niceness of this thread only. If it fails, hashing runs at normal priority.
    if let Err(error) = rustix::process::nice(NICENESS) {
        tracing::warn!(%error, "password hashing runs at normal priority");
    }
    while let Some(work) = queues.pop() {
        work(&mut hasher);
    }
}

fn hash(hasher: &mut Hasher, password: &Password) -> Result<PasswordHash> {
    let hash = hasher.hash_password_with_random_salt(password.as_bytes());
    hash.map(PasswordHash).map_err(Error::internal)
}

fn verify(hasher: &mut Hasher, password: &Password, hash: &PasswordHash) -> Result<bool> {
    if hash.0.starts_with("$2") {
        return bcrypt::verify(password.as_bytes(), &hash.0).map_err(Error::internal);
    }
    match hasher.verify_encoded(&hash.0, password.as_bytes(), Algorithm::Argon2id) {
        Ok(()) => Ok(true),
        Err(Argon2Error::VerifyMismatch) => Ok(false),
        Err(error) => Err(Error::internal(error)),
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use futures_util::{future::join_all, poll};
    use tokio::time::timeout;

    use super::*;

    const THREADS: usize = 2;
    const QUEUE: usize = 4;
    const OF: PasswordOf = PasswordOf::Client(None);

    fn password() -> Password {
        Password::parse("password", "snow".to_owned()).unwrap()
    }

    /// The seed had this defect: a failed call kept its connection.
    #[tokio::test]
    async fn failures_twenty_times_the_number_of_places_leak_none() {
        let pool = Argon2Pool::new(THREADS, QUEUE).unwrap();
        for number in 0..20 * (THREADS + QUEUE) {
            match number % 3 {
                0 => {
                    let nonsense = PasswordHash("nonsense".to_owned());
                    assert!(pool.verify(OF, password(), nonsense).await.is_err());
                }
                1 => {
                    // The caller gives up at once.
                    let mut cancelled = pool.hash(OF, password());
                    assert!(!matches!(poll!(&mut cancelled), std::task::Poll::Ready(Ok(_))));
                }
                _ => {
                    // Times out, or nearly.
                    drop(timeout(Duration::from_micros(100), pool.hash(OF, password())).await);
                }
            }
        }
        let deadline = Instant::now() + Duration::from_secs(10);
        while pool.hash(OF, password()).await.is_err() {
            assert!(Instant::now() < deadline, "cancelled jobs leave the queue");
            tokio::task::yield_now().await;
        }
        assert_eq!(Arc::strong_count(&pool.queues), 1 + THREADS);
        let hashed = join_all((0..QUEUE).map(|_| pool.hash(OF, password()))).await;
        assert!(hashed.iter().all(Result::is_ok), "every place is free: {hashed:?}");
    }

    #[tokio::test]
    async fn a_sign_in_waits_for_one_link_at_most_and_is_not_refused() {
        let pool = Argon2Pool::new(1, QUEUE).unwrap();
        let done = Arc::new(Mutex::new(Vec::new()));
        let (go_on, wait) = std::sync::mpsc::channel::<()>();
        let job = |of| {
            let done = Arc::clone(&done);
            pool.run(of, move |_| {
                done.lock().push(of);
                Ok(())
            })
        };
        let link = PasswordOf::Link(None);
        let first = pool.run(link, move |_| Ok(wait.recv().is_err()));
        let jobs = join_all([link, link, link, OF].map(job));
        let (held, jobs, ()) = tokio::join!(biased; first, jobs, async { drop(go_on) });
        assert!(held.unwrap() && jobs.iter().all(Result::is_ok));
        assert_eq!(*done.lock(), [OF, link, link, link]);
    }

    #[tokio::test]
    async fn passwords_of_links_do_not_fill_the_queue_of_accounts() {
        let pool = Argon2Pool::new(1, QUEUE).unwrap();
        let (go_on, wait) = std::sync::mpsc::channel::<()>();
        let link = PasswordOf::Link(None);
        let first = pool.run(link, move |_| Ok(wait.recv().is_err()));
        let links = join_all((0..3 * QUEUE).map(|_| pool.run(link, |_| Ok(()))));
        let sign_ins = join_all((0..QUEUE).map(|_| pool.run(OF, |_| Ok(()))));
        let (_, links, sign_ins, ()) =
            tokio::join!(biased; first, links, sign_ins, async { drop(go_on) });
        assert!(links.iter().any(Result::is_err));
        assert!(sign_ins.iter().all(Result::is_ok));
    }
}
