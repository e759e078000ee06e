//! The stores under test.

use std::sync::Arc;

use lodge_domain::{
    accounts::{Account, AccountStore, IdentityStore, SessionStore},
    board::{BoardLog, BoardMembers, Channels, HookStore, MessagePictures, ReadPositions, Reports},
    key_sessions::KeySessionStore,
    keys::KeyStore,
    links::{ClickStore, LinkStore},
    rides::{GateStore, PassStore, RideLog, RideSearch, RideTallies},
    security::SecurityEventStore,
};

use crate::accounts::{fresh_name, made};

/// The accounts' stores.
pub struct AccountsFixture {
    /// Accounts.
    pub accounts: Arc<dyn AccountStore>,
    /// Sessions of the same accounts.
    pub sessions: Arc<dyn SessionStore>,
    /// Identities of the same accounts.
    pub identities: Arc<dyn IdentityStore>,
    /// Security events.
    pub security_events: Arc<dyn SecurityEventStore>,
}

impl AccountsFixture {
    /// Creates an account whose name no other test uses.
    pub async fn sign_up(&self) -> Account {
        made(&*self.accounts, &fresh_name()).await
    }
}

/// The stores of gates and passes, without rides.
pub struct PassesFixture {
    /// Gates.
    pub gates: Arc<dyn GateStore>,
    /// Passes.
    pub passes: Arc<dyn PassStore>,
}

impl AsRef<dyn GateStore> for PassesFixture {
    fn as_ref(&self) -> &(dyn GateStore + 'static) {
        &*self.gates
    }
}

impl AsRef<dyn PassStore> for PassesFixture {
    fn as_ref(&self) -> &(dyn PassStore + 'static) {
        &*self.passes
    }
}

/// The rides' stores.
pub struct RidesFixture {
    /// Gates.
    pub gates: Arc<dyn GateStore>,
    /// The rides of the gates.
    pub log: Arc<dyn RideLog>,
    /// Passes.
    pub passes: Arc<dyn PassStore>,
    /// Totals of the same rides.
    pub tallies: Arc<dyn RideTallies>,
    /// Searches of the same rides.
    pub search: Arc<dyn RideSearch>,
}

impl AsRef<dyn GateStore> for RidesFixture {
    fn as_ref(&self) -> &(dyn GateStore + 'static) {
        &*self.gates
    }
}

impl AsRef<dyn PassStore> for RidesFixture {
    fn as_ref(&self) -> &(dyn PassStore + 'static) {
        &*self.passes
    }
}

/// The board's stores.
pub struct BoardFixture {
    /// Event log and messages.
    pub log: Arc<dyn BoardLog>,
    /// Channels.
    pub channels: Arc<dyn Channels>,
    /// Known members.
    pub people: Arc<dyn BoardMembers>,
    /// Read positions.
    pub positions: Arc<dyn ReadPositions>,
    /// Reports of messages.
    pub reports: Arc<dyn Reports>,
    /// The pictures of messages.
    pub pictures: Arc<dyn MessagePictures>,
    /// Hooks.
    pub hooks: Arc<dyn HookStore>,
}

/// The links' stores.
pub struct Fixture {
    /// Links.
    pub links: Arc<dyn LinkStore>,
    /// Clicks of the same links.
    pub clicks: Arc<dyn ClickStore>,
    /// API keys.
    pub keys: Arc<dyn KeyStore>,
    /// Page sessions of API keys.
    pub key_sessions: Arc<dyn KeySessionStore>,
    /// Whether lists can be searched.
    pub can_search: bool,
    /// Whether a replacement is stored after the answer (write-behind), so that its version is a guess.
    pub stores_later: bool,
}

impl AsRef<dyn KeyStore> for Fixture {
    fn as_ref(&self) -> &(dyn KeyStore + 'static) {
        &*self.keys
    }
}

impl AsRef<dyn KeySessionStore> for Fixture {
    fn as_ref(&self) -> &(dyn KeySessionStore + 'static) {
        &*self.key_sessions
    }
}
