//! Removes expired data and unused pictures.

use std::{future::Future, sync::Arc, time::Duration};

use jiff::SignedDuration;
use tokio_util::sync::CancellationToken;

use super::ticks::ticks;
use crate::wiring::Services;

/// The interval between two rounds of removing expired data.
const TIDY: Duration = Duration::from_secs(30);

/// The pause between two rounds while more data has expired: requests' writes take precedence.
const TIDY_PAUSE: Duration = Duration::from_millis(50);

/// The interval between two sweeps of unused pictures.
const SWEEP: Duration = Duration::from_hours(1);

/// Removes expired data; shorts stay reserved for `reserved`.
pub(super) async fn remove_expired(
    services: Arc<Services>,
    reserved: SignedDuration,
    stop: CancellationToken,
) {
    let mut pause = Duration::ZERO;
    while stop.run_until_cancelled(tokio::time::sleep(pause)).await.is_some() {
        let now = services.clock.now();
        pause = match services.engines.remove_expired(now, reserved).await {
            Ok(true) => TIDY_PAUSE,
            Ok(false) => TIDY,
            Err(error) => {
                let error = error.log_text();
                tracing::warn!(error, "expired data could not be removed; retrying");
                TIDY
            }
        };
    }
}

/// Removes unused pictures, at the start and at each interval.
pub(super) async fn sweep_pictures(services: Arc<Services>, stop: CancellationToken) {
    let Some(pictures) = services.pictures() else { return };
    let mut ticks = ticks(SWEEP);
    while stop.run_until_cancelled(ticks.tick()).await.is_some() {
        log_sweep(&stop, "of accounts", pictures.sweep(services.clock.now())).await;
        if let Some(board) = &services.board {
            log_sweep(&stop, "of messages", board.sweep_pictures()).await;
        }
    }
}

async fn log_sweep(
    stop: &CancellationToken,
    of: &'static str,
    sweep: impl Future<Output = lodge_domain::Result<usize>>,
) {
    match stop.run_until_cancelled(sweep).await {
        Some(Ok(0)) | None => {}
        Some(Ok(removed)) => tracing::info!(removed, of, "unused pictures were removed"),
        Some(Err(error)) => {
            tracing::warn!(error = error.log_text(), of, "unused pictures could not be removed");
        }
    }
}
