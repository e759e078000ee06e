//! The message board.

use std::sync::Arc;

use lodge_domain::{
    Clock, Random,
    accounts::PictureKeeper,
    board::{BOT_PREFIX, Board, BoardStores, HookDispatcher, HookPorts, HookStore, Hooks},
    keys::{KeyStore, Keys},
};
use lodge_outbound::HookSender;

use crate::config::BoardConfig;

/// An engine's implementations of the board's ports.
pub(super) struct BoardPorts {
    pub(super) stores: BoardStores,
    pub(super) bots: Arc<dyn KeyStore>,
    pub(super) hooks: Arc<dyn HookStore>,
    /// The id of the database, which only a copy of it has as well.
    pub(super) id: [u8; 32],
}

/// Webhooks: the service that manages them and the courier that delivers events.
pub(crate) struct BoardHooks {
    pub(crate) service: Arc<Hooks>,
    pub(crate) courier: HookDispatcher,
}

/// Builds the board service.
pub(super) fn service(
    ports: BoardPorts,
    keeper: PictureKeeper,
    clock: &Arc<dyn Clock>,
    random: &Arc<dyn Random>,
) -> Board {
    let BoardPorts { stores, bots, .. } = ports;
    let bots = Keys::new(bots, Arc::clone(clock), Arc::clone(random)).of_kind(BOT_PREFIX, "bot");
    Board::new(stores, keeper, bots, Arc::clone(clock))
}

/// Builds the webhooks, which are delivered over HTTP.
pub(super) fn hooks(
    ports: &BoardPorts,
    config: &BoardConfig,
    clock: &Arc<dyn Clock>,
    random: &Arc<dyn Random>,
) -> BoardHooks {
    let ports = HookPorts {
        hooks: Arc::clone(&ports.hooks),
        log: Arc::clone(&ports.stores.log) as _,
        deliver: Arc::new(HookSender::new(config.hooks_private)),
        clock: Arc::clone(clock),
        random: Arc::clone(random),
    };
    let service = Arc::new(Hooks::new(ports.clone()));
    BoardHooks { service, courier: HookDispatcher::new(ports, lodge_web::hook_body) }
}
