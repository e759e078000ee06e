//! What is counted in memory and noted in the store now and then.

use std::{sync::Arc, time::Duration};

use lodge_domain::{board::Board, rides::Rides};
use tokio_util::sync::CancellationToken;

use super::ticks::{LAST_FLUSH, LAST_PAUSE, ticks};

/// How often it is noted.
const NOTE: Duration = Duration::from_secs(1);

/// Notes in the store how many events about rides were refused, and the last ones after `stop`.
pub(super) async fn refused_rides(rides: Arc<Rides>, stop: CancellationToken) {
    let mut ticks = ticks(NOTE);
    while stop.run_until_cancelled(ticks.tick()).await.is_some() {
        if let Err(error) = rides.note_refused().await {
            tracing::warn!(%error, "refused events about rides could not be noted yet");
        }
    }
    let last = async {
        while rides.note_refused().await.is_err() {
            tokio::time::sleep(LAST_PAUSE).await;
        }
    };
    if tokio::time::timeout(LAST_FLUSH, last).await.is_err() {
        tracing::error!("the store did not take the last notes of refused events in time");
    }
}

/// Stores what people have read on the board, and the last of it after `stop`.
pub(super) async fn read_messages(board: Arc<Board>, stop: CancellationToken) {
    let mut ticks = ticks(NOTE);
    while stop.run_until_cancelled(ticks.tick()).await.is_some() {
        if let Err(error) = board.store_read().await {
            tracing::warn!(%error, "what people have read could not be noted yet");
        }
    }
    if !matches!(tokio::time::timeout(LAST_FLUSH, board.store_read()).await, Ok(Ok(()))) {
        tracing::warn!("what people have read in the last seconds is not noted");
    }
}
