//! Flushes in-memory counts and read positions to the store.

use std::{sync::Arc, time::Duration};

use lodge_domain::{board::Board, rides::Rides};
use tokio_util::sync::CancellationToken;

use super::ticks::{FINAL_FLUSH_PAUSE, FINAL_FLUSH_TIMEOUT, ticks};

/// The interval between two flushes.
const NOTE: Duration = Duration::from_secs(1);

/// Flushes the counts of refused ride events at each interval, and once more after `stop`.
pub(super) async fn flush_refused_rides(rides: Arc<Rides>, stop: CancellationToken) {
    let mut ticks = ticks(NOTE);
    while stop.run_until_cancelled(ticks.tick()).await.is_some() {
        if let Err(error) = rides.note_refused().await {
            tracing::warn!(%error, "counts of refused ride events could not be stored; retrying");
        }
    }
    let last = async {
        while rides.note_refused().await.is_err() {
            tokio::time::sleep(FINAL_FLUSH_PAUSE).await;
        }
    };
    if tokio::time::timeout(FINAL_FLUSH_TIMEOUT, last).await.is_err() {
        tracing::error!(
            "the last counts of refused ride events could not be stored; they are lost"
        );
    }
}

/// Flushes the read positions of board members at each interval, and once more after `stop`.
pub(super) async fn flush_read_positions(board: Arc<Board>, stop: CancellationToken) {
    let mut ticks = ticks(NOTE);
    while stop.run_until_cancelled(ticks.tick()).await.is_some() {
        if let Err(error) = board.flush_read_positions().await {
            tracing::warn!(%error, "read positions could not be stored; retrying");
        }
    }
    if !matches!(
        tokio::time::timeout(FINAL_FLUSH_TIMEOUT, board.flush_read_positions()).await,
        Ok(Ok(()))
    ) {
        tracing::warn!("read positions of the last seconds could not be stored; they are lost");
    }
}
