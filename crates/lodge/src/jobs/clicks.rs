//! Flushes counted clicks to the store.

use std::{sync::Arc, time::Duration};

use lodge_domain::links::{ClickBatch, Links};
use tokio_util::sync::CancellationToken;

use super::ticks::{FINAL_FLUSH_PAUSE, FINAL_FLUSH_TIMEOUT, ticks};

/// The interval between two flushes, below the promised maximum of one second.
const FLUSH: Duration = Duration::from_millis(850);

/// Flushes clicks at each interval, and the last clicks after `stop`.
pub(super) async fn store(links: Arc<Links>, stop: CancellationToken) {
    let mut ticks = ticks(FLUSH);
    let mut unstored = None;
    while stop.run_until_cancelled(ticks.tick()).await.is_some() {
        let _ = store_batch(&links, &mut unstored).await;
        #[expect(clippy::cast_precision_loss, reason = "a metric")]
        metrics::gauge!("lodge_links_clicks_lost").set(links.counter().lost() as f64);
    }
    let last = async {
        loop {
            match store_batch(&links, &mut unstored).await {
                Ok(true) => {}
                Ok(false) => return,
                Err(_) => tokio::time::sleep(FINAL_FLUSH_PAUSE).await,
            }
        }
    };
    if tokio::time::timeout(FINAL_FLUSH_TIMEOUT, last).await.is_err() {
        tracing::error!(
            "the last clicks could not be stored within {FINAL_FLUSH_TIMEOUT:?}; they are lost"
        );
    }
}

/// Stores one batch. Returns `false` if there are no clicks. A failed batch stays in `unstored` and is retried under
/// the same number before a newer one.
async fn store_batch(
    links: &Links,
    unstored: &mut Option<Arc<ClickBatch>>,
) -> lodge_domain::Result<bool> {
    if unstored.is_none() {
        *unstored = links.counter().drain().map(Arc::new);
    }
    let Some(batch) = unstored else { return Ok(false) };
    if let Err(error) = links.store_clicks(Arc::clone(batch)).await {
        metrics::counter!("lodge_links_click_batches_failed_total").increment(1);
        tracing::warn!(%error, "clicks could not be stored; retrying");
        return Err(error);
    }
    let stored = batch.clicks.iter().map(|(_, count)| count).sum();
    metrics::counter!("lodge_links_clicks_stored_total").increment(stored);
    *unstored = None;
    Ok(true)
}
