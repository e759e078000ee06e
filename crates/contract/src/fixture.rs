//! The stores under test.

use std::sync::Arc;

use lodge_domain::{
    accounts::{Account, AccountStore, IdentityStore, SessionStore},
    board::{BoardLog, BoardPeople, Channels, HookStore, MessagePictures, ReadPositions, Reports},
    keys::KeyStore,
    links::{ClickStore, LinkStore},
    rides::{GateStore, PassStore, RideLog, RideSearch, RideTallies},
};

use crate::accounts::{fresh_name, made};

/// The accounts' stores under test.
pub struct AccountsFixture {
    /// Accounts.
    pub accounts: Arc<dyn AccountStore>,
    /// Sessions of the same accounts.
    pub sessions: Arc<dyn SessionStore>,
    /// Identities of the same accounts.
    pub identities: Arc<dyn IdentityStore>,
}

impl AccountsFixture {
    /// An account whose name no other test has.
    pub async fn sign_up(&self) -> Account {
        made(&*self.accounts, &fresh_name()).await
    }
}

/// The stores of gates and passes under test, alone.
pub struct PassesFixture {
    /// Who sends rides.
    pub gates: Arc<dyn GateStore>,
    /// Whose skiers' numbers are.
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

/// The rides' stores under test.
pub struct RidesFixture {
    /// Who tells it.
    pub gates: Arc<dyn GateStore>,
    /// What gates told.
    pub log: Arc<dyn RideLog>,
    /// Whose skiers' numbers are.
    pub passes: Arc<dyn PassStore>,
    /// Sums of the same rides.
    pub tallies: Arc<dyn RideTallies>,
    /// The same rides, searched.
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

/// The board's stores under test.
pub struct BoardFixture {
    /// What happens.
    pub log: Arc<dyn BoardLog>,
    /// Where.
    pub channels: Arc<dyn Channels>,
    /// Who is there.
    pub people: Arc<dyn BoardPeople>,
    /// How far they have read.
    pub positions: Arc<dyn ReadPositions>,
    /// What is to be looked at.
    pub reports: Arc<dyn Reports>,
    /// The pictures of messages.
    pub pictures: Arc<dyn MessagePictures>,
    /// Who is told what happens.
    pub hooks: Arc<dyn HookStore>,
}

/// The links' stores under test.
pub struct Fixture {
    /// Links.
    pub links: Arc<dyn LinkStore>,
    /// Clicks, of the same links.
    pub clicks: Arc<dyn ClickStore>,
    /// API keys.
    pub keys: Arc<dyn KeyStore>,
    /// Whether lists can be searched.
    pub can_search: bool,
    /// Whether what replaces a link is stored after the answer, which then guesses its version.
    pub stores_later: bool,
}

impl AsRef<dyn KeyStore> for Fixture {
    fn as_ref(&self) -> &(dyn KeyStore + 'static) {
        &*self.keys
    }
}
