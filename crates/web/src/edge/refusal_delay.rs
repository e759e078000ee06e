//! A pause before a client is told that it sends too much.

use std::{ops::RangeInclusive, time::Duration};

use http::StatusCode;
use tokio::{sync::Semaphore, time::timeout};
use tokio_util::sync::CancellationToken;

use super::address::Peer;

/// The shortest and the longest pause, in milliseconds. A client that repeats its request at once sends a few a
/// second over each connection. Their lengths differ, so that the connections of a client do not come back all at once.
const PAUSE_MS: RangeInclusive<u64> = 150..=350;

/// Concurrent pauses over connections of proxies; further refusals there are sent at once. A proxy's clients share its
/// connections, while others occupy only their own.
const PROXIED_MAX: usize = 512;

/// Delays 429 (Too Many Requests).
pub(crate) struct RefusalDelay {
    proxied: Semaphore,
    stop: CancellationToken,
}

impl RefusalDelay {
    /// The delay ends at `stop`.
    pub(crate) fn new(stop: CancellationToken) -> Self {
        Self { proxied: Semaphore::new(PROXIED_MAX), stop }
    }

    /// Waits before `peer` is sent an answer with this status, if it has to.
    pub(crate) async fn delay(&self, status: StatusCode, peer: Peer) {
        if status != StatusCode::TOO_MANY_REQUESTS {
            return;
        }
        let place = peer.is_trusted().then(|| self.proxied.try_acquire()).transpose();
        if place.is_ok() {
            let pause = Duration::from_millis(rand::random_range(PAUSE_MS));
            let _ = timeout(pause, self.stop.cancelled()).await;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::net::IpAddr;

    use futures_util::FutureExt as _;
    use tokio::time::Instant;

    use super::*;
    use crate::edge::proxies::TrustedProxies;

    /// A peer at an address; 127.0.0.1 is a trusted proxy.
    fn peer(address: &str) -> Peer {
        let proxies = TrustedProxies::parse(&["127.0.0.1"]).unwrap();
        Peer::of_socket((address.parse::<IpAddr>().unwrap(), 5).into(), &proxies)
    }

    #[tokio::test(start_paused = true)]
    async fn only_too_many_requests_wait_and_only_until_the_server_stops() {
        let (stop, peer) = (CancellationToken::new(), peer("192.0.2.1"));
        let delay = RefusalDelay::new(stop.clone());
        let began = Instant::now();
        delay.delay(StatusCode::FORBIDDEN, peer).await;
        assert_eq!(began.elapsed(), Duration::ZERO);
        delay.delay(StatusCode::TOO_MANY_REQUESTS, peer).await;
        assert!(began.elapsed() >= Duration::from_millis(*PAUSE_MS.start()));
        stop.cancel();
        assert!(delay.delay(StatusCode::TOO_MANY_REQUESTS, peer).now_or_never().is_some());
    }

    #[tokio::test(start_paused = true)]
    async fn a_proxys_refusal_beyond_the_maximum_is_sent_at_once() {
        let waits = |delay: &RefusalDelay, from| {
            delay.delay(StatusCode::TOO_MANY_REQUESTS, peer(from)).now_or_never().is_none()
        };
        let delay = RefusalDelay::new(CancellationToken::new());
        let all = delay.proxied.try_acquire_many(u32::try_from(PROXIED_MAX).unwrap()).unwrap();
        assert!(!waits(&delay, "127.0.0.1") && waits(&delay, "192.0.2.1"));
        drop(all);
        assert!(waits(&delay, "127.0.0.1"));
    }
}
