//! Applies account changes and deletions to the data that other apps own for accounts.

use std::{sync::Arc, time::Duration};

use lodge_domain::{
    accounts::{AccountDeletion, AccountsClient, OwnedByAccount},
    board::MemberSync,
    rides::HolderSync,
};
use tokio_util::sync::CancellationToken;

use super::ticks::ticks;
use crate::wiring::Services;

/// The interval between two polls for changed and deleted accounts.
const PASSES: Duration = Duration::from_secs(1);

/// The same for the board, whose members see each other's changes.
const GUESTS: Duration = Duration::from_millis(300);

/// Updates the profiles on leaderboards, and releases the passes of deleted accounts, whichever process changed them.
pub(super) async fn update_pass_holders(services: Arc<Services>, stop: CancellationToken) {
    let Some((rides, accounts)) = services.rides.as_ref().zip(services.accounts_client()) else {
        return;
    };
    let holders = HolderSync::new(rides.passes().clone(), accounts.clone());
    follow_accounts(accounts, &holders, PASSES, &services, stop).await;
}

/// Updates the board's profiles from the accounts.
pub(super) async fn update_profiles(services: Arc<Services>, stop: CancellationToken) {
    let Some((board, accounts)) = services.board.as_ref().zip(services.accounts_client()) else {
        return;
    };
    let guests = MemberSync::new(Arc::clone(board), accounts.clone());
    follow_accounts(accounts, &guests, GUESTS, &services, stop).await;
}

async fn follow_accounts(
    accounts: AccountsClient,
    owned: &dyn OwnedByAccount,
    every: Duration,
    services: &Services,
    stop: CancellationToken,
) {
    let mut deletion = AccountDeletion::new(accounts);
    let mut ticks = ticks(every);
    while stop.run_until_cancelled(ticks.tick()).await.is_some() {
        let deleted = deletion.run(owned, services.clock.now());
        if let Some(Err(error)) = stop.run_until_cancelled(deleted).await {
            tracing::debug!(%error, "account changes could not be applied; retrying");
        }
    }
}
