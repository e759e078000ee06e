//! A cache of sessions.

use std::{
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
        AccountId, Backend, Call, FeedPosition, ModerationCommand, OwnAccountCall, Reply,
        SessionDigest, SignedIn,
    },
    security::{self, SecurityActor},
};
use quick_cache::sync::Cache;
use tokio::time::Instant;

use super::{
    account_changes::{AccountChanges, TRACKED},
    single_flight::SingleFlight,
};

/// Cached sessions: about 50 MB.
const SESSIONS_MAX: usize = 100_000;

/// Default limit of concurrent session lookups; one more is refused.
const LOOKUPS_MAX: usize = 128;

/// A [`Backend`] with a cache for one call: [`Call::Who`], the lookup of a session. Unknown sessions are not cached.
pub struct CachedAccounts {
    backend: Arc<dyn Backend>,
    clock: Arc<dyn Clock>,
    sessions: Arc<Cache<SessionDigest, CachedSession>>,
    lookups: SingleFlight<SessionDigest, Arc<SignedIn>>,
    kept: Duration,
    changes: Arc<AccountChanges>,
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

/// A lookup at the backend.
#[derive(Debug, Clone, Copy)]
struct Lookup {
    /// Changes read from now on invalidate its result.
    turn: u64,
    /// A copy that has the changes up to this position is good enough.
    since: Option<FeedPosition>,
}

impl CachedAccounts {
    /// Creates a cache in front of `backend`. Until [`Self::follow`] runs, every call goes to the backend.
    pub fn new(backend: Arc<dyn Backend>, clock: Arc<dyn Clock>) -> Self {
        Self {
            backend,
            clock,
            sessions: Arc::new(Cache::new(SESSIONS_MAX)),
            lookups: SingleFlight::new(LOOKUPS_MAX),
            kept: TRACKED,
            changes: Arc::default(),
            turn: AtomicU64::new(1),
        }
    }

    /// Sets the time for which sessions are cached, at most one minute; zero disables the cache.
    #[must_use]
    pub fn with_ttl(self, kept: Duration) -> Self {
        Self { kept: kept.min(TRACKED), ..self }
    }

    /// Sets the limit of concurrent session lookups. The backend should allow more calls than this, so that a flood of
    /// invalid tokens does not block the polling of the feed.
    #[must_use]
    pub fn with_lookups_max(self, lookups_max: usize) -> Self {
        Self { lookups: SingleFlight::new(lookups_max), ..self }
    }

    /// Polls the feed and invalidates changed accounts; never returns.
    pub async fn follow(&self) {
        self.changes.follow(&*self.backend, |_| self.next_turn()).await;
    }

    /// Ends the current turn, and returns its number.
    fn next_turn(&self) -> u64 {
        self.turn.fetch_add(1, Ordering::SeqCst)
    }

    fn forget(&self, accounts: &[AccountId]) {
        self.changes.record(accounts, || self.next_turn());
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
        self.changes.is_current(me.account.id, *turn)
            && read_at.elapsed() < self.kept
            && self.clock.now() < me.session.expires_at
    }

    /// Returns the account of a session; looks it up if it is not cached.
    async fn account_of(&self, session: SessionDigest) -> Result<AccountId> {
        match self.sessions.get(&session) {
            Some(cached) => Ok(cached.me.account.id),
            None => Ok(self.who(session).await?.account.id),
        }
    }

    async fn who(&self, session: SessionDigest) -> Result<Arc<SignedIn>> {
        let began = Instant::now();
        if let Some(me) = self.remembered(&session) {
            metrics::counter!("lodge_accounts_cache_hits_total").increment(1);
            metrics::histogram!("lodge_accounts_cache_hit_seconds").record(began.elapsed());
            return Ok(me);
        }
        metrics::counter!("lodge_accounts_cache_misses_total").increment(1);
        let lookup = self.begin_lookup();
        let me = self.lookups.join(&session, lookup.turn, || self.look_up(session, lookup)).await;
        metrics::histogram!("lodge_accounts_cache_miss_seconds").record(began.elapsed());
        me
    }

    /// Lookups of one turn are shared, unless the feed is unavailable or the cache is disabled: then each lookup has a
    /// turn of its own, because a shared one could return the state before the last change.
    fn begin_lookup(&self) -> Lookup {
        // The position is not older than the turn: the lookup returns what the changes before it have made.
        match self.changes.trusted(|| self.turn.load(Ordering::SeqCst)) {
            Some((place, turn)) if !self.kept.is_zero() => Lookup { turn, since: Some(place) },
            _ => Lookup { turn: self.next_turn() + 1, since: None },
        }
    }

    /// Looks up a session at the backend and caches it.
    fn look_up(
        &self,
        session: SessionDigest,
        Lookup { turn, since }: Lookup,
    ) -> impl Future<Output = Result<Arc<SignedIn>>> + use<> {
        let (backend, sessions) = (Arc::clone(&self.backend), Arc::clone(&self.sessions));
        let changes = Arc::clone(&self.changes);
        let keeps = !self.kept.is_zero();
        let read_at = Instant::now();
        async move {
            let mut me = found(&*backend, session, since).await?;
            // A copy may be older than the change.
            if since.is_some() && changes.was_changed_here(me.account.id) {
                me = found(&*backend, session, None).await?;
            }
            let (answered, me) = (Instant::now(), Arc::new(me));
            if keeps {
                sessions.insert(session, CachedSession { me: Arc::clone(&me), turn, read_at });
            }
            metrics::histogram!("lodge_accounts_cache_write_seconds").record(answered.elapsed());
            Ok(me)
        }
    }

    async fn call_own(&self, session: SessionDigest, call: OwnAccountCall) -> Result<Reply> {
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
        if !changes {
            return self.backend.call(Call::Own { session, call }).await;
        }
        let account = self.account_of(session).await?;
        let outcome = self.backend.call(Call::Own { session, call }).await;
        let is_refused = matches!(
            outcome,
            Err(Error::Invalid { .. } | Error::Forbidden(_) | Error::TooMany { .. })
        );
        if !is_refused {
            // In this process at once, also after an unknown outcome; in others by the feed.
            self.sessions.remove(&session);
            self.forget(&[account]);
            // A moderator changes another account than their own.
            if let Ok(Reply::Account(changed) | Reply::PictureSet { account: changed, .. }) =
                &outcome
            {
                self.forget(&[changed.id]);
            }
        }
        outcome
    }
}

/// Looks up a session at the backend.
async fn found(
    backend: &dyn Backend,
    session: SessionDigest,
    since: Option<FeedPosition>,
) -> Result<SignedIn> {
    match backend.call(Call::Who { session, since }).await? {
        Reply::Who(me) => Ok(me),
        _ => Err(Error::internal("unexpected reply to a session lookup")),
    }
}

#[async_trait]
impl Backend for CachedAccounts {
    async fn call(&self, call: Call) -> Result<Reply> {
        match call {
            Call::Who { session, .. } => {
                let me = self.who(session).await?;
                security::acting_as(SecurityActor::Account(me.account.id));
                Ok(Reply::Who((*me).clone()))
            }
            Call::RenewToken(session) => {
                let account = self.account_of(session).await?;
                let outcome = self.backend.call(Call::RenewToken(session)).await;
                self.sessions.remove(&session);
                self.forget(&[account]);
                outcome
            }
            Call::Own { session, call } => self.call_own(session, call).await,
            call => self.backend.call(call).await,
        }
    }
}
