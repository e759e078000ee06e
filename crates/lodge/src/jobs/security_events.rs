//! Stores security events.

use std::{sync::Arc, time::Duration};

use lodge_domain::{
    Error,
    accounts::AccountsClient,
    security::{SECURITY_EVENTS_PER_CALL_MAX, SecurityEvent},
};
use lodge_local::SECURITY_EVENTS_WAITING_MAX;
use tokio_util::sync::CancellationToken;

use super::ticks::{FINAL_FLUSH_PAUSE, FINAL_FLUSH_TIMEOUT, ticks};
use crate::wiring::Services;

/// The interval between two flushes.
const FLUSH: Duration = Duration::from_secs(1);

/// The batches of as many events as can wait, of both sorts. A flood of repetitions makes events that are stored
/// already wait again, and must not keep the store busy without a pause.
const BATCHES_MAX: usize = 2 * SECURITY_EVENTS_WAITING_MAX / SECURITY_EVENTS_PER_CALL_MAX + 1;

/// Stores the events at each interval, and the last ones after `stop`.
pub(super) async fn store(services: Arc<Services>, stop: CancellationToken) {
    let mut ticks = ticks(FLUSH);
    let mut unstored = Vec::new();
    while stop.run_until_cancelled(ticks.tick()).await.is_some() {
        if let Err(error) = store_all(&services, &mut unstored).await {
            tracing::warn!(%error, "security events could not be stored; retrying");
        }
    }
    let last = async {
        while store_all(&services, &mut unstored).await.is_err() {
            tokio::time::sleep(FINAL_FLUSH_PAUSE).await;
        }
    };
    if tokio::time::timeout(FINAL_FLUSH_TIMEOUT, last).await.is_err() {
        tracing::error!("the last security events could not be stored; they are in the log only");
    }
}

/// Stores the events that wait, with the accounts; without accounts, they are in the log only. Those that arrive
/// meanwhile may wait for the next call. A batch that fails stays in `unstored`.
pub(crate) async fn store_all(
    services: &Services,
    unstored: &mut Vec<SecurityEvent>,
) -> lodge_domain::Result<()> {
    let accounts = services.accounts_client();
    for _ in 0..BATCHES_MAX {
        if unstored.is_empty() {
            *unstored = services.security.take(SECURITY_EVENTS_PER_CALL_MAX);
        }
        let is_last = unstored.len() < SECURITY_EVENTS_PER_CALL_MAX;
        if let Some(accounts) = accounts.as_ref().filter(|_| !unstored.is_empty()) {
            store_batch(accounts, unstored).await?;
        }
        unstored.clear();
        if is_last {
            break;
        }
    }
    Ok(())
}

async fn store_batch(
    accounts: &AccountsClient,
    batch: &[SecurityEvent],
) -> lodge_domain::Result<()> {
    match accounts.store_security_events(batch.to_vec()).await {
        // An accounts tier of an earlier version does not know the call.
        Err(Error::Invalid { .. }) => Ok(()),
        stored => stored,
    }
}
