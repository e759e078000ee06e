//! A cache of sessions.

use std::{
    collections::{HashMap, VecDeque},
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use async_trait::async_trait;
use lodge_domain::{
    Clock, Error, Result,
    accounts::{
        AccountId, Backend, Call, FeedPage, FeedPosition, ModerationCommand, OwnAccountCall, Reply,
        SessionDigest, SignedIn,
    },
    security::{self, SecurityActor},
};
use parking_lot::RwLock;
use quick_cache::sync::Cache;
use tokio::time::{Instant, MissedTickBehavior, interval};

use super::single_flight::SingleFlight;

/// The default and longest time for which a session is cached.
const KEPT: Duration = Duration::from_mins(1);

/// Cached sessions: about 50 MB.
const SESSIONS_MAX: usize = 100_000;

/// Default limit of concurrent session lookups; one more is refused.
const LOOKUPS_MAX: usize = 128;

/// Changes of the last minute that are tracked one by one. Past the limit the oldest is dropped, and all entries read
/// before it become invalid.
const CHANGES_MAX: usize = 65_536;

/// Interval between two polls of the feed.
const EVERY: Duration = Duration::from_millis(300);

/// The longest time since the start of the last successful poll for which the cache is trusted. A change is in the
/// feed before it is acknowledged, so every change that was acknowledged longer ago than this is known.
const TRUSTED: Duration = Duration::from_millis(800);

/// A [`Backend`] with a cache for one call: [`Call::Who`], the lookup of a session. Unknown sessions are not cached.
pub struct CachedAccounts {
    backend: Arc<dyn Backend>,
    clock: Arc<dyn Clock>,
    sessions: Arc<Cache<SessionDigest, CachedSession>>,
    lookups: SingleFlight<SessionDigest, Arc<SignedIn>>,
    kept: Duration,
    feed: RwLock<FeedState>,
    /// Rises with every batch of changes: an entry read in an earlier turn may be stale.
    turn: AtomicU64,
}

#[derive(Clone)]
struct CachedSession {
    me: Arc<SignedIn>,
    turn: u64,
    /// The start of the lookup.
    read_at: Instant,
}

/// The changes read from the feed.
#[derive(Default)]
struct FeedState {
    /// The start of the last successful poll.
    at: Option<Instant>,
    /// The turn of each account's latest change.
    changes: HashMap<AccountId, u64>,
    /// The time, account and turn of each change.
    oldest_first: VecDeque<(Instant, AccountId, u64)>,
    /// Entries read in this turn or earlier are invalid.
    floor: u64,
}

impl FeedState {
    /// Whether the last successful poll is recent enough.
    fn is_trusted(&self) -> bool {
        self.at.is_some_and(|at| at.elapsed() < TRUSTED)
    }

    /// Tracks changes of accounts.
    fn note(&mut self, accounts: &[AccountId], turn: u64) {
        let now = Instant::now();
        for account in accounts {
            self.changes.insert(*account, turn);
            self.oldest_first.push_back((now, *account, turn));
        }
        self.let_go(now);
    }

    /// Drops changes that are older than every cached entry, and those past the limit.
    fn let_go(&mut self, now: Instant) {
        while let Some(&(at, account, turn)) = self.oldest_first.front()
            && (now - at >= KEPT || self.oldest_first.len() > CHANGES_MAX)
        {
            self.oldest_first.pop_front();
            // The account may have a later change.
            if self.changes.get(&account) == Some(&turn) {
                self.changes.remove(&account);
            }
            self.floor = self.floor.max(turn);
        }
    }
}

impl CachedAccounts {
    /// Creates a cache in front of `backend`. Until [`Self::follow`] runs, every call goes to the backend.
    pub fn new(backend: Arc<dyn Backend>, clock: Arc<dyn Clock>) -> Self {
        let (sessions, turn) = (Arc::new(Cache::new(SESSIONS_MAX)), AtomicU64::new(1));
        let lookups = SingleFlight::new(LOOKUPS_MAX);
        Self { backend, clock, sessions, lookups, kept: KEPT, feed: RwLock::default(), turn }
    }

    /// Sets the time for which sessions are cached, at most one minute; zero disables the cache.
    #[must_use]
    pub fn with_ttl(self, kept: Duration) -> Self {
        Self { kept: kept.min(KEPT), ..self }
    }

    /// Sets the limit of concurrent session lookups. The backend should allow more calls than this, so that a flood of
    /// invalid tokens does not block the polling of the feed.
    #[must_use]
    pub fn with_lookups_max(self, lookups_max: usize) -> Self {
        Self { lookups: SingleFlight::new(lookups_max), ..self }
    }

    /// Polls the feed and invalidates changed accounts; never returns.
    pub async fn follow(&self) {
        let mut place = None;
        let mut ticks = interval(EVERY);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            ticks.tick().await;
            let asked = Instant::now();
            match self.poll_feed(&mut place).await {
                Ok(()) => {
                    let mut heard = self.feed.write();
                    heard.at = Some(asked);
                    heard.let_go(asked);
                }
                Err(error) => {
                    tracing::debug!(%error, "cannot read the feed of changed accounts");
                }
            }
        }
    }

    /// Reads the feed from `place` to its end.
    async fn poll_feed(&self, place: &mut Option<FeedPosition>) -> Result<()> {
        loop {
            let Reply::Changed(changed) = self.backend.call(Call::ChangedSince(*place)).await?
            else {
                return Err(Error::internal("unexpected reply to a poll of the feed"));
            };
            let FeedPage { accounts, place: next, more, begins_anew } = changed;
            if begins_anew {
                tracing::info!(
                    "the accounts tier was restarted or has another database: the session cache is cleared"
                );
            }
            if begins_anew || place.is_none() {
                // Entries that were read before may have changed unnoticed.
                self.forget_all();
            }
            if !accounts.is_empty() {
                self.forget(&accounts);
            }
            *place = Some(next);
            if !more {
                return Ok(());
            }
        }
    }

    fn forget(&self, accounts: &[AccountId]) {
        let mut heard = self.feed.write();
        let turn = self.turn.fetch_add(1, Ordering::SeqCst);
        heard.note(accounts, turn);
    }

    fn forget_all(&self) {
        let mut heard = self.feed.write();
        heard.changes.clear();
        heard.oldest_first.clear();
        heard.floor = self.turn.fetch_add(1, Ordering::SeqCst);
    }

    /// Returns a cached session if it is known to be current.
    fn remembered(&self, session: &SessionDigest) -> Option<Arc<SignedIn>> {
        let cached = self.sessions.get(session)?;
        if self.is_current(&cached) {
            return Some(cached.me);
        }
        // Another lookup may have replaced it.
        self.sessions.remove_if(session, |stored| stored.turn == cached.turn);
        None
    }

    fn is_current(&self, CachedSession { me, turn, read_at }: &CachedSession) -> bool {
        let heard = self.feed.read();
        heard.is_trusted()
            && read_at.elapsed() < self.kept
            && *turn > heard.floor
            && heard.changes.get(&me.account.id).is_none_or(|changed| turn > changed)
            && self.clock.now() < me.session.expires_at
    }

    async fn who(&self, session: SessionDigest) -> Result<Reply> {
        let began = Instant::now();
        if let Some(me) = self.remembered(&session) {
            metrics::counter!("lodge_accounts_cache_hits_total").increment(1);
            metrics::histogram!("lodge_accounts_cache_hit_seconds").record(began.elapsed());
            return Ok(Reply::Who((*me).clone()));
        }
        metrics::counter!("lodge_accounts_cache_misses_total").increment(1);
        let turn = self.begin_turn();
        let look_up = || self.look_up(session, turn);
        let me = self.lookups.join(&session, turn, look_up).await;
        metrics::histogram!("lodge_accounts_cache_miss_seconds").record(began.elapsed());
        me.map(|me| Reply::Who((*me).clone()))
    }

    /// Returns the turn of a new lookup: changes read from now on invalidate its result. Lookups of one turn are
    /// shared, unless the feed is unavailable or the cache is disabled: then each lookup has a turn of its own, because
    /// a shared one could return the state before the last change.
    fn begin_turn(&self) -> u64 {
        if self.feed.read().is_trusted() && !self.kept.is_zero() {
            self.turn.load(Ordering::SeqCst)
        } else {
            self.turn.fetch_add(1, Ordering::SeqCst) + 1
        }
    }

    /// Looks up a session at the backend and caches it.
    fn look_up(
        &self,
        session: SessionDigest,
        turn: u64,
    ) -> impl Future<Output = Result<Arc<SignedIn>>> + use<> {
        let (backend, sessions) = (Arc::clone(&self.backend), Arc::clone(&self.sessions));
        let caches = !self.kept.is_zero();
        let read_at = Instant::now();
        async move {
            let Reply::Who(me) = backend.call(Call::Who(session)).await? else {
                return Err(Error::internal("unexpected reply to a session lookup"));
            };
            let (answered, me) = (Instant::now(), Arc::new(me));
            if caches {
                sessions.insert(session, CachedSession { me: Arc::clone(&me), turn, read_at });
            }
            metrics::histogram!("lodge_accounts_cache_write_seconds").record(answered.elapsed());
            Ok(me)
        }
    }
}

#[async_trait]
impl Backend for CachedAccounts {
    async fn call(&self, call: Call) -> Result<Reply> {
        match call {
            Call::Who(session) => {
                let reply = self.who(session).await?;
                if let Reply::Who(me) = &reply {
                    security::acting_as(SecurityActor::Account(me.account.id));
                }
                Ok(reply)
            }
            Call::RenewToken(session) => {
                let account = self.sessions.get(&session).map(|cached| cached.me.account.id);
                let outcome = self.backend.call(Call::RenewToken(session)).await;
                self.sessions.remove(&session);
                self.forget(account.as_slice());
                outcome
            }
            Call::Own { session, call } => {
                let changes = !matches!(
                    call,
                    OwnAccountCall::Sessions
                        | OwnAccountCall::Export
                        | OwnAccountCall::Moderate(
                            ModerationCommand::List(_) | ModerationCommand::SecurityEvents(_)
                        )
                        | OwnAccountCall::Identities
                        | OwnAccountCall::BeginLink { .. }
                );
                let account =
                    self.sessions.get(&session).map(|remembered| remembered.me.account.id);
                let outcome = self.backend.call(Call::Own { session, call }).await;
                let is_refused = matches!(
                    outcome,
                    Err(Error::Invalid { .. } | Error::Forbidden(_) | Error::TooMany { .. })
                );
                if changes && !is_refused {
                    // In this process at once, also after an unknown outcome; in others by the feed.
                    self.sessions.remove(&session);
                    if let Some(account) = account {
                        self.forget(&[account]);
                    }
                    // A moderator changes another account than their own.
                    if let Ok(
                        Reply::Account(changed) | Reply::PictureSet { account: changed, .. },
                    ) = &outcome
                    {
                        self.forget(&[changed.id]);
                    }
                }
                outcome
            }
            call => self.backend.call(call).await,
        }
    }
}
