//! The latest changes of accounts, as far as the change feed has been read.

use std::{
    collections::{HashMap, VecDeque},
    time::Duration,
};

use lodge_domain::{
    Error, Result,
    accounts::{AccountId, Backend, Call, FeedPage, FeedPosition, Reply},
};
use parking_lot::RwLock;
use tokio::time::{Instant, MissedTickBehavior, interval};

/// The time for which changes are tracked, and the longest time for which a session is cached.
pub(crate) const TRACKED: Duration = Duration::from_mins(1);

/// Changes that are tracked one by one. Past the limit the oldest is dropped, and all entries read before it become
/// invalid.
const CHANGES_MAX: usize = 65_536;

/// Interval between two polls of the feed.
const EVERY: Duration = Duration::from_millis(300);

/// The longest time since the start of the last successful poll for which a cache is trusted. A change is in the feed
/// before it is acknowledged, so every change that was acknowledged longer ago than this is known.
const TRUSTED: Duration = Duration::from_millis(800);

/// The latest change of each account. Changes and cached entries have turns, which the caller numbers: an entry is
/// current if its turn is higher than that of its account's latest change.
#[derive(Default)]
pub(crate) struct AccountChanges(RwLock<State>);

#[derive(Default)]
struct State {
    /// The start of the last successful poll.
    polled_at: Option<Instant>,
    /// The position up to which the feed has been read.
    place: Option<FeedPosition>,
    /// The turn of each account's latest change.
    latest: HashMap<AccountId, u64>,
    /// The time, account and turn of each change.
    oldest_first: VecDeque<(Instant, AccountId, u64)>,
    /// Entries of this turn or an earlier one are invalid.
    floor: u64,
    /// The highest turn of a page.
    highest: u64,
    /// The time of each account's latest change by this process, until a poll that began later has succeeded.
    own: HashMap<AccountId, Instant>,
}

impl AccountChanges {
    /// Returns the position up to which the feed has been read, and the result of `turn` at that moment; `None` if the
    /// last successful poll is too long ago.
    pub(crate) fn trusted<T>(&self, turn: impl FnOnce() -> T) -> Option<(FeedPosition, T)> {
        let state = self.0.read();
        let place = state.place.filter(|_| state.is_trusted())?;
        Some((place, turn()))
    }

    /// Whether an entry of this turn lacks no change of its account that was acknowledged more than [`TRUSTED`] ago.
    pub(crate) fn is_current(&self, account: AccountId, turn: u64) -> bool {
        let state = self.0.read();
        state.is_trusted()
            && turn > state.floor
            && state.latest.get(&account).is_none_or(|changed| turn > *changed)
    }

    /// Records changes by this process before they are read from the feed.
    pub(crate) fn record(&self, accounts: &[AccountId], turn: impl FnOnce() -> u64) {
        let mut state = self.0.write();
        let (turn, now) = (turn(), Instant::now());
        state.record(accounts, turn);
        state.own.extend(accounts.iter().map(|account| (*account, now)));
    }

    /// Whether this process has changed the account, and may not have read that from the feed yet.
    pub(crate) fn was_changed_here(&self, account: AccountId) -> bool {
        self.0.read().own.contains_key(&account)
    }

    /// Polls the feed; never returns. `turn` numbers the changes of a page.
    pub(crate) async fn follow(&self, backend: &dyn Backend, turn: impl Fn(&FeedPage) -> u64) {
        let mut ticks = interval(EVERY);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let mut place = None;
        loop {
            ticks.tick().await;
            let asked = Instant::now();
            match self.poll(backend, &mut place, &turn).await {
                Ok(()) => {
                    let mut state = self.0.write();
                    state.polled_at = Some(asked);
                    state.own.retain(|_, changed_at| *changed_at >= asked);
                    state.let_go(asked);
                }
                Err(error) => {
                    tracing::debug!(%error, "cannot read the feed of changed accounts");
                }
            }
        }
    }

    /// Reads the feed from `place` to its end.
    async fn poll(
        &self,
        backend: &dyn Backend,
        place: &mut Option<FeedPosition>,
        turn: &impl Fn(&FeedPage) -> u64,
    ) -> Result<()> {
        loop {
            let Reply::Changed(page) = backend.call(Call::ChangedSince(*place)).await? else {
                return Err(Error::internal("unexpected reply to a poll of the feed"));
            };
            if page.begins_anew {
                tracing::info!(
                    "the accounts tier was restarted or has another database: the session cache is cleared"
                );
            }
            // Entries that were read before may have changed unnoticed.
            let begins = page.begins_anew || place.is_none();
            self.0.write().apply(&page, begins, turn);
            *place = Some(page.place);
            if !page.more {
                return Ok(());
            }
        }
    }
}

impl State {
    fn is_trusted(&self) -> bool {
        self.polled_at.is_some_and(|at| at.elapsed() < TRUSTED)
    }

    fn apply(&mut self, page: &FeedPage, begins: bool, turn: impl Fn(&FeedPage) -> u64) {
        if begins {
            self.latest.clear();
            self.oldest_first.clear();
            // Positions in another history may be lower.
            self.highest = self.highest.max(turn(page));
            self.floor = self.highest;
        }
        if !page.accounts.is_empty() {
            let turn = turn(page);
            self.highest = self.highest.max(turn);
            self.record(&page.accounts, turn);
        }
        self.place = Some(page.place);
    }

    fn record(&mut self, accounts: &[AccountId], turn: u64) {
        let now = Instant::now();
        for account in accounts {
            self.latest.insert(*account, turn);
            self.oldest_first.push_back((now, *account, turn));
        }
        self.let_go(now);
    }

    /// Drops changes that are older than every cached entry, and those past the limit.
    fn let_go(&mut self, now: Instant) {
        while let Some(&(at, account, turn)) = self.oldest_first.front()
            && (now - at >= TRACKED || self.oldest_first.len() > CHANGES_MAX)
        {
            self.oldest_first.pop_front();
            // The account may have a later change.
            if self.latest.get(&account) == Some(&turn) {
                self.latest.remove(&account);
            }
            self.floor = self.floor.max(turn);
        }
    }
}
