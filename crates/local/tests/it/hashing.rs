//! Password hashing.

use std::time::Duration;

use argon2::{
    Argon2, Params, PasswordHasher as _, PasswordVerifier as _,
    password_hash::phc::PasswordHash as PhcHash,
};
use lodge_domain::{
    Error,
    password_hasher::{PasswordHasher, PasswordOf},
    passwords::{Password, PasswordHash},
};
use lodge_local::Argon2Pool;

const OF: PasswordOf = PasswordOf::Client(None);

fn password(text: &str) -> Password {
    Password::parse("password", text.to_owned()).unwrap()
}

#[tokio::test]
async fn only_the_right_password_matches_its_hash() {
    let pool = Argon2Pool::new(1, 10).unwrap();
    let hash = pool.hash(OF, password("snow")).await.unwrap();
    assert!(hash.0.starts_with("$argon2id$v=19$m=19456,t=2,p=1$"), "{}", hash.0);
    assert_ne!(pool.hash(OF, password("snow")).await.unwrap(), hash);
    assert!(pool.verify(OF, password("snow"), hash.clone()).await.unwrap());
    assert!(!pool.verify(OF, password("Snow"), hash).await.unwrap());
    let broken = pool.verify(OF, password("snow"), PasswordHash("nonsense".to_owned())).await;
    assert!(matches!(broken, Err(Error::Internal(_))));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_full_pool_refuses_at_once_and_keeps_working() {
    let pool = std::sync::Arc::new(Argon2Pool::new(1, 2).unwrap());
    let asked: Vec<_> = (0..40)
        .map(|_| {
            let pool = std::sync::Arc::clone(&pool);
            tokio::spawn(async move { pool.hash(OF, password("x")).await })
        })
        .collect();
    let (mut done, mut refused) = (0, 0);
    for asked in asked {
        match asked.await.unwrap() {
            Ok(_) => done += 1,
            Err(Error::Unavailable { retry_after, .. }) => {
                assert_eq!(retry_after, Duration::from_secs(1));
                refused += 1;
            }
            Err(other) => panic!("{other}"),
        }
    }
    assert!(done >= 2 && refused > 0, "{done} done, {refused} refused");
    assert!(pool.hash(OF, password("x")).await.is_ok());
}

#[tokio::test]
async fn a_cancelled_job_is_not_run() {
    let pool = Argon2Pool::new(1, 1_000).unwrap();
    let mut one = Duration::MAX;
    for _ in 0..3 {
        let begun = std::time::Instant::now();
        pool.hash(OF, password("x")).await.unwrap();
        one = one.min(begun.elapsed());
    }
    for _ in 0..500 {
        // Polled once, so that it waits in the queue, and dropped.
        let mut asked = std::pin::pin!(pool.hash(OF, password("x")));
        assert!(futures_util::poll!(&mut asked).is_pending());
    }
    let last = std::time::Instant::now();
    pool.hash(OF, password("x")).await.unwrap();
    assert!(last.elapsed() < one * 100, "{:?} after {one:?} for one", last.elapsed());
}

/// Guards a change of the library: existing hashes must stay valid.
#[tokio::test]
async fn another_implementation_agrees_on_every_hash() {
    let pool = Argon2Pool::new(1, 1).unwrap();
    for text in ["snow", "Schnee \u{2744} auf der Piste", &"x".repeat(128)] {
        let ours = pool.hash(OF, password(text)).await.unwrap();
        let read = PhcHash::new(&ours.0).unwrap();
        assert_eq!(Argon2::default().verify_password(text.as_bytes(), &read), Ok(()), "{text}");
        for (memory_kib, passes, lanes) in [(19_456, 2, 1), (8, 1, 1), (64, 3, 4)] {
            let params = Params::new(memory_kib, passes, lanes, None).unwrap();
            let theirs = Argon2::from(params).hash_password(text.as_bytes()).unwrap().to_string();
            let theirs = PasswordHash::parse("password_hash", &theirs).unwrap();
            assert!(pool.verify(OF, password(text), theirs.clone()).await.unwrap(), "{text}");
            assert!(!pool.verify(OF, password("Snow"), theirs).await.unwrap(), "{text}");
        }
    }
}

/// Verifying an imported hash never fails with an error.
#[tokio::test]
async fn every_hash_that_an_import_accepts_can_be_verified() {
    let pool = Argon2Pool::new(1, 1).unwrap();
    let (short, long) = ("A".repeat(11), "A".repeat(64));
    let mut taken = Vec::new();
    for cost in ["m=8,t=1,p=1", "m=32,t=1,p=4", "m=33,t=3,p=4", "m=65536,t=4,p=4"] {
        for (salt, hash) in [(&short, "A".repeat(14)), (&long, "A".repeat(86))] {
            taken.push(format!("$argon2id$v=19${cost}${salt}${hash}"));
        }
    }
    for kind in ["2a", "2b", "2y"] {
        taken.push(format!("${kind}$04${}", ".".repeat(53)));
    }
    for text in taken {
        let hash = PasswordHash::parse("password_hash", &text);
        let verified = pool.verify(OF, password("snow"), hash.unwrap()).await;
        assert!(matches!(verified, Ok(false)), "{text}: {verified:?}");
    }
}
