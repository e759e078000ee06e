//! Delivers the board's webhooks.

use std::{sync::Arc, time::Duration};

use futures_util::{StreamExt, stream};
use lodge_domain::board::HookWakeup;
use tokio::{sync::broadcast::error::RecvError, time::interval};
use tokio_util::sync::CancellationToken;

use crate::wiring::Services;

/// The interval at which webhooks are checked for pending deliveries, in addition to checks after each event.
const CHECK_EVERY: Duration = Duration::from_secs(1);

/// Delivers events of the board to webhooks. A delivery in flight at `stop` is repeated after the next start.
pub(super) async fn deliver(services: Arc<Services>, stop: CancellationToken) {
    let Some((board, hooks)) = services.board.as_ref().zip(services.hooks.as_ref()) else { return };
    let now_and_then = stream::unfold(interval(CHECK_EVERY), async |mut ticks| {
        ticks.tick().await;
        Some((HookWakeup::Everywhere, ticks))
    });
    let rings = stream::unfold(board.wakeups(), async |mut rings| match rings.recv().await {
        Ok(channel) => Some((HookWakeup::Channel(channel), rings)),
        Err(RecvError::Lagged(_)) => Some((HookWakeup::Everywhere, rings)),
        Err(RecvError::Closed) => None,
    });
    let looks = stream::select(now_and_then.boxed(), rings.boxed());
    stop.run_until_cancelled(hooks.courier.run(looks)).await;
}
