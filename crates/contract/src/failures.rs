//! Counters of wrong passwords.

use std::{
    net::{IpAddr, Ipv6Addr},
    time::{Duration, Instant},
};

use jiff::SignedDuration;
use lodge_domain::{
    Error,
    failures::{Failures, PER_ADDRESS_MAX, PER_NAME_MAX, PER_SITE_MAX, WINDOW},
};

use crate::samples::{at, fresh};

fn name() -> String {
    fresh("name").to_string()
}

fn address(last: u8) -> IpAddr {
    IpAddr::from([192, 0, 2, last])
}

/// Counts failures until one is refused. Returns how many were counted.
async fn all(failures: &dyn Failures, name: &str, from: IpAddr, seconds: i64) -> u32 {
    let mut counted = 0;
    loop {
        match failures.count(name, Some(from), at(seconds)).await {
            Ok(()) => counted += 1,
            Err(Error::TooMany { .. }) => return counted,
            Err(error) => panic!("{error:?}"),
        }
        assert!(counted <= PER_NAME_MAX);
    }
}

/// Waits until a reverted failure leaves room for another.
async fn again(failures: &dyn Failures, name: &str, from: Option<IpAddr>) {
    let deadline = Instant::now() + Duration::from_secs(10);
    while failures.count(name, from, at(1)).await.is_err() {
        assert!(Instant::now() < deadline, "a failure was not reverted");
        tokio::task::yield_now().await;
    }
}

/// And no other address, and no other name.
pub async fn ten_failures_from_an_address_block_it_for_a_quarter_of_an_hour(
    fixture: &impl AsRef<dyn Failures>,
) {
    let (failures, ada) = (fixture.as_ref(), name());
    assert_eq!(all(failures, &ada, address(1), 0).await, PER_ADDRESS_MAX);
    let refused = failures.count(&ada, Some(address(1)), at(60)).await;
    let Err(Error::TooMany { retry_after }) = refused else { panic!("{refused:?}") };
    assert_eq!(retry_after + Duration::from_mins(1), WINDOW);
    assert_eq!(all(failures, &ada, address(2), 60).await, PER_ADDRESS_MAX, "another address");
    assert_eq!(all(failures, &name(), address(1), 60).await, PER_ADDRESS_MAX, "another name");
    let later = 1 + i64::try_from(WINDOW.as_secs()).unwrap();
    assert_eq!(all(failures, &ada, address(1), later).await, PER_ADDRESS_MAX);
}

/// Also without an address.
pub async fn a_hundred_failures_block_a_name_for_all_addresses(fixture: &impl AsRef<dyn Failures>) {
    let (failures, ada) = (fixture.as_ref(), name());
    let mut counted = 0;
    for last in 0..20 {
        counted += all(failures, &ada, address(last), 0).await;
    }
    assert_eq!(counted, PER_NAME_MAX);
    assert!(failures.count(&ada, None, at(1)).await.is_err());
    let later = SignedDuration::try_from(WINDOW).unwrap().as_secs();
    failures.count(&ada, None, at(later)).await.unwrap();
}

/// A site gets a whole /48.
pub async fn thirty_failures_block_the_48_of_an_ipv6_site_and_no_other(
    fixture: &impl AsRef<dyn Failures>,
) {
    let (failures, ada) = (fixture.as_ref(), name());
    let from = |site: u16, subnet: u16| {
        Some(IpAddr::V6(Ipv6Addr::new(0x2001, 0xdb8, site, subnet, 0, 0, 0, 0)))
    };
    let mut counted = 0;
    for subnet in 0..10 {
        for _ in 0..PER_ADDRESS_MAX {
            counted += u32::from(failures.count(&ada, from(1, subnet), at(0)).await.is_ok());
        }
    }
    assert_eq!(counted, PER_SITE_MAX);
    failures.count(&ada, from(2, 0), at(0)).await.unwrap();
    failures.revert(&ada, from(1, 0));
    again(failures, &ada, from(1, 9)).await;
    assert!(failures.count(&ada, from(1, 8), at(0)).await.is_err());
}

/// However often.
pub async fn a_reverted_failure_allows_only_one_more(fixture: &impl AsRef<dyn Failures>) {
    let (failures, ada) = (fixture.as_ref(), name());
    assert_eq!(all(failures, &ada, address(1), 0).await, PER_ADDRESS_MAX);
    for _ in 0..3 {
        failures.revert(&ada, Some(address(1)));
        again(failures, &ada, Some(address(1))).await;
        assert!(failures.count(&ada, Some(address(1)), at(1)).await.is_err());
    }
}

/// And takes one from the name.
pub async fn a_success_resets_its_own_address_and_no_other(fixture: &impl AsRef<dyn Failures>) {
    let (failures, ada) = (fixture.as_ref(), name());
    for _ in 0..PER_ADDRESS_MAX {
        failures.count(&ada, Some(address(1)), at(0)).await.unwrap();
    }
    failures.reset(&ada, Some(address(1))).await;
    assert_eq!(all(failures, &ada, address(2), 2).await, PER_ADDRESS_MAX);
    failures.count(&ada, Some(address(1)), at(3)).await.unwrap();
    failures.reset(&ada, Some(address(1))).await;
    assert!(failures.count(&ada, Some(address(2)), at(4)).await.is_err());
}

/// Concurrent guesses cannot exceed the limit.
pub async fn of_fifty_concurrent_guesses_ten_are_counted(fixture: &impl AsRef<dyn Failures>) {
    let (failures, ada) = (fixture.as_ref(), name());
    let guesses = (0..50).map(|_| failures.count(&ada, Some(address(1)), at(0)));
    let counted = futures_util::future::join_all(guesses).await;
    let refused = |guess: &lodge_domain::Result<()>| matches!(guess, Err(Error::TooMany { .. }));
    assert!(counted.iter().all(|guess| guess.is_ok() || refused(guess)), "{counted:?}");
    let counted = counted.iter().filter(|guess| guess.is_ok()).count();
    assert_eq!(u32::try_from(counted), Ok(PER_ADDRESS_MAX));
}
