//! Argon2 on threads of its own, of lowered priority; bcrypt for hashes from elsewhere.

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
    passwords::{LANES, MEMORY_KIB, PASSES, Password, PasswordHash, Passwords},
};
use parking_lot::Mutex;
use tokio::sync::oneshot;

/// How much less than the rest of the process the threads matter to the scheduler, 0 to 19. With 19 reads beside
/// sign-ins were no quicker (nine runs of each in turn on two cores), and sign-ins beside reads that took
/// all of both took a second rather than a sixth of one.
const NICENESS: i32 = 10;

/// Hashes passwords on a bounded number of threads. They end when it is dropped.
pub struct Argon2Pool {
    queue: SyncSender<Work>,
    /// Held by each thread for as long as it lives.
    #[cfg(test)]
    threads: std::sync::Weak<Mutex<Receiver<Work>>>,
}

/// What a thread does, with the memory that it keeps.
type Work = Box<dyn FnOnce(&mut Hasher) + Send>;

impl Argon2Pool {
    /// Starts `threads` threads (1 or more); `queue` requests may wait for them, further ones are
    /// refused at once.
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
            // Each keeps the memory of a hash, wiped, for the next one.
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

    /// Has a thread do some work, unless the caller has gone by then.
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
            // A defect of a library in one password must not end the thread.
            let outcome = catch_unwind(AssertUnwindSafe(|| work(hasher)))
                .unwrap_or_else(|_| Err(Error::internal("hashing a password panicked")));
            // The caller may have gone meanwhile.
            drop(reply.send(outcome));
            metrics::histogram!("lodge_passwords_work_seconds").record(began.elapsed());
        });
        self.queue.try_send(work).map_err(|refused| match refused {
            TrySendError::Full(_) => Error::unavailable("too many passwords wait for their hashes"),
            TrySendError::Disconnected(_) => ended(),
        })?;
        answer.await.unwrap_or_else(|_| Err(ended()))
    }
}

#[async_trait]
impl Passwords for Argon2Pool {
    async fn hash(&self, password: Password) -> Result<PasswordHash> {
        self.run(move |hasher| hash(hasher, &password)).await
    }

    async fn verify(&self, password: Password, hash: PasswordHash) -> Result<bool> {
        self.run(move |hasher| verify(hasher, &password, &hash)).await
    }
}

fn ended() -> Error {
    Error::unavailable("the threads that hash passwords have ended")
}

fn run(queue: &Mutex<Receiver<Work>>, mut hasher: Hasher) {
    // On Linux this is the thread's priority alone. Where it is refused, hashing matters as much as
    // the rest.
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

    /// The seed's own fault: what had failed kept its connection.
    #[tokio::test]
    async fn twenty_times_as_many_failures_as_places_take_none_away() {
        let pool = Argon2Pool::new(THREADS, QUEUE).unwrap();
        for number in 0..20 * (THREADS + QUEUE) {
            match number % 3 {
                0 => {
                    let nonsense = PasswordHash("nonsense".to_owned());
                    assert!(pool.verify(password(), nonsense).await.is_err());
                }
                1 => {
                    // Is not waited for.
                    let mut cancelled = pool.hash(password());
                    assert!(!matches!(poll!(&mut cancelled), std::task::Poll::Ready(Ok(_))));
                }
                _ => {
                    // Runs out of time, or nearly.
                    drop(timeout(Duration::from_micros(100), pool.hash(password())).await);
                }
            }
        }
        let deadline = Instant::now() + Duration::from_secs(10);
        while pool.hash(password()).await.is_err() {
            assert!(Instant::now() < deadline, "what was given up goes");
            tokio::task::yield_now().await;
        }
        assert_eq!(pool.threads.strong_count(), THREADS);
        let hashed = join_all((0..QUEUE).map(|_| pool.hash(password()))).await;
        assert!(hashed.iter().all(Result::is_ok), "every place is there: {hashed:?}");
    }
}
