//! What is past its time, and what nothing names any more.

use std::{future::Future, sync::Arc, time::Duration};

use jiff::SignedDuration;
use tokio_util::sync::CancellationToken;

use super::ticks::ticks;
use crate::wiring::Services;

/// How often what is past its time is removed.
const TIDY: Duration = Duration::from_secs(30);

/// The pause between two rounds of tidying while there is more to do: writes go before.
const TIDY_PAUSE: Duration = Duration::from_millis(50);

/// How often pictures that nothing names are removed.
const SWEEP: Duration = Duration::from_hours(1);

/// Removes what is past its time; shorts stay reserved for `reserved`.
pub(super) async fn tidy(
    services: Arc<Services>,
    reserved: SignedDuration,
    stop: CancellationToken,
) {
    let mut pause = Duration::ZERO;
    while stop.run_until_cancelled(tokio::time::sleep(pause)).await.is_some() {
        let now = services.clock.now();
        pause = match services.engines.tidy(now, reserved).await {
            Ok(true) => TIDY_PAUSE,
            Ok(false) => TIDY,
            Err(error) => {
                tracing::warn!(%error, "tidying up failed; it is tried again");
                TIDY
            }
        };
    }
}

/// Removes pictures that nobody has, now and every now and then.
pub(super) async fn sweep_pictures(services: Arc<Services>, stop: CancellationToken) {
    let Some(pictures) = services.pictures() else { return };
    let mut ticks = ticks(SWEEP);
    while stop.run_until_cancelled(ticks.tick()).await.is_some() {
        swept(&stop, "of accounts", pictures.sweep(services.clock.now())).await;
        if let Some(board) = &services.board {
            swept(&stop, "of messages", board.sweep_pictures()).await;
        }
    }
}

async fn swept(
    stop: &CancellationToken,
    of: &'static str,
    sweep: impl Future<Output = lodge_domain::Result<usize>>,
) {
    match stop.run_until_cancelled(sweep).await {
        Some(Ok(0)) | None => {}
        Some(Ok(removed)) => tracing::info!(removed, of, "pictures that nobody has are gone"),
        Some(Err(error)) => tracing::warn!(%error, of, "pictures that nobody has may be left"),
    }
}
