//! The message board.

use std::sync::Arc;

use lodge_domain::{
    Clock, Random,
    board::{BOT_PREFIX, Board, BoardStores},
    keys::{KeyStore, Keys},
};

/// An engine's side of the ports of the board.
pub(super) struct BoardPorts {
    pub(super) stores: BoardStores,
    pub(super) bots: Arc<dyn KeyStore>,
}

/// The service.
pub(super) fn service(
    ports: BoardPorts,
    clock: &Arc<dyn Clock>,
    random: &Arc<dyn Random>,
) -> Board {
    let BoardPorts { stores, bots } = ports;
    let bots = Keys::new(bots, Arc::clone(clock), Arc::clone(random)).with_prefix(BOT_PREFIX);
    Board::new(stores, bots, Arc::clone(clock))
}
