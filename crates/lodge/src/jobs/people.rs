//! What other apps keep of accounts that have changed or are gone.

use std::{sync::Arc, time::Duration};

use lodge_domain::{
    accounts::{AccountsClient, Belongings, Leavers},
    board::Guests,
};
use tokio_util::sync::CancellationToken;

use super::ticks::ticks;
use crate::wiring::Services;

/// How often it is asked who has deleted their account.
const PASSES: Duration = Duration::from_secs(1);

/// The same for the board, where others see what people are called now.
const GUESTS: Duration = Duration::from_millis(300);

/// Makes nobody's the passes of accounts that are deleted, here or by another process.
pub(super) async fn release_passes(services: Arc<Services>, stop: CancellationToken) {
    let Some((rides, accounts)) = services.rides.as_ref().zip(services.accounts_client()) else {
        return;
    };
    follow_accounts(accounts, rides.passes(), PASSES, &services, stop).await;
}

/// Keeps what the board knows of people as their accounts have it.
pub(super) async fn update_guests(services: Arc<Services>, stop: CancellationToken) {
    let Some((board, accounts)) = services.board.as_ref().zip(services.accounts_client()) else {
        return;
    };
    let guests = Guests::new(Arc::clone(board), accounts.clone());
    follow_accounts(accounts, &guests, GUESTS, &services, stop).await;
}

async fn follow_accounts(
    accounts: AccountsClient,
    belongings: &dyn Belongings,
    every: Duration,
    services: &Services,
    stop: CancellationToken,
) {
    let mut leavers = Leavers::new(accounts);
    let mut ticks = ticks(every);
    while stop.run_until_cancelled(ticks.tick()).await.is_some() {
        let seen_off = leavers.see_off(belongings, services.clock.now());
        if let Some(Err(error)) = stop.run_until_cancelled(seen_off).await {
            tracing::debug!(%error, "what has become of accounts is not known yet");
        }
    }
}
