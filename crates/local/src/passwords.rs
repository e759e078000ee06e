//! Argon2 on dedicated threads with lowered priority; bcrypt for imported hashes.

use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{
        Arc,
        mpsc::{Receiver, SyncSender, TrySendError, sync_channel},
    },
    thread,
    time::Instant,
};

use argon2_rust::{
    Algorithm, Argon2, Error as Argon2Error, Hasher, Params, Version, params::Memory,
};
use async_trait::async_trait;
use lodge_domain::{
    Error, Result,
    passwords::{LANES, MEMORY_KIB, PASSES, Password, PasswordHash, PasswordHasher},
};
use parking_lot::Mutex;
use tokio::sync::oneshot;

/// The niceness of the threads, 0 to 19. With 19, reads beside sign-ins were no faster (nine alternating runs of each
/// on two cores), and sign-ins beside reads that saturated both cores took a second instead of a sixth of a second.
const NICENESS: i32 = 10;

/// A bounded pool of threads that hash passwords. The threads end when it is dropped.
pub struct Argon2Pool {
    queue: SyncSender<Work>,
    /// Each live thread holds a reference.
    #[cfg(test)]
    threads: std::sync::Weak<Mutex<Receiver<Work>>>,
}

/// A job of a thread, which passes its reusable hasher.
type Work = Box<dyn FnOnce(&mut Hasher) + Send>;

impl Argon2Pool {
    /// Starts `threads` threads (at least 1). At most `queue` jobs wait; one more is refused at once. Fails if a thread
    /// cannot be started.
    pub fn new(threads: usize, queue: usize) -> std::io::Result<Self> {
        let params = Params::builder()
            .memory(Memory::kib(MEMORY_KIB.into()))
            .passes(PASSES)
            .lanes(LANES)
            .build()
            .map_err(std::io::Error::other)?;
        let argon2 = Argon2::new(Algorithm::Argon2id, Version::V0x13, params);
        let (sender, receiver) = sync_channel(queue);
        let receiver = Arc::new(Mutex::new(receiver));
        for _ in 0..threads.max(1) {
            // Each thread reuses the wiped memory of a hash for the next one.
            let (receiver, hasher) = (Arc::clone(&receiver), argon2.hasher());
            thread::Builder::new()
                .name("lodge-argon2".to_owned())
                .spawn(move || run(&receiver, hasher))?;
        }
        Ok(Self {
            queue: sender,
            #[cfg(test)]
            threads: Arc::downgrade(&receiver),
        })
    }

    /// Runs a job on a thread; it is skipped if the caller is dropped before its start.
    async fn run<T: Send + 'static>(
        &self,
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
        self.queue.try_send(work).map_err(|refused| match refused {
            TrySendError::Full(_) => {
                Error::unavailable("too many passwords are waiting to be hashed")
            }
            TrySendError::Disconnected(_) => ended(),
        })?;
        answer.await.unwrap_or_else(|_| Err(ended()))
    }
}

#[async_trait]
impl PasswordHasher for Argon2Pool {
    async fn hash(&self, password: Password) -> Result<PasswordHash> {
        self.run(move |hasher| hash(hasher, &password)).await
    }

    async fn verify(&self, password: Password, hash: PasswordHash) -> Result<bool> {
        self.run(move |hasher| verify(hasher, &password, &hash)).await
    }
}

fn ended() -> Error {
    Error::unavailable("the password hashing threads have ended")
}

fn run(queue: &Mutex<Receiver<Work>>, mut hasher: Hasher) {
    // On Linux this sets the niceness of this thread only. If it fails, hashing runs at normal priority.
    if let Err(error) = rustix::process::nice(NICENESS) {
        tracing::warn!(%error, "password hashing runs at normal priority");
    }
    loop {
        let work = queue.lock().recv();
        let Ok(work) = work else { return };
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
                    assert!(pool.verify(password(), nonsense).await.is_err());
                }
                1 => {
                    // The caller gives up at once.
                    let mut cancelled = pool.hash(password());
                    assert!(!matches!(poll!(&mut cancelled), std::task::Poll::Ready(Ok(_))));
                }
                _ => {
                    // Times out, or nearly.
                    drop(timeout(Duration::from_micros(100), pool.hash(password())).await);
                }
            }
        }
        let deadline = Instant::now() + Duration::from_secs(10);
        while pool.hash(password()).await.is_err() {
            assert!(Instant::now() < deadline, "cancelled jobs leave the queue");
            tokio::task::yield_now().await;
        }
        assert_eq!(pool.threads.strong_count(), THREADS);
        let hashed = join_all((0..QUEUE).map(|_| pool.hash(password()))).await;
        assert!(hashed.iter().all(Result::is_ok), "every place is free: {hashed:?}");
    }
}
