//! Who is signed in, in memory.

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
        AccountId, Backend, Call, Changed, FeedPlace, Order, Own, Reply, SessionDigest, SignedIn,
    },
};
use moka::sync::Cache;
use parking_lot::RwLock;
use tokio::time::{Instant, MissedTickBehavior, interval};

use super::flights::Flights;

/// How long somebody is remembered, unless it is said; and never longer.
const KEPT: Duration = Duration::from_mins(1);

/// Sessions in memory: some 50 MB.
const SESSIONS_MAX: u64 = 100_000;

/// Sessions that the backend may be asked for at once, unless it is said; further ones are refused.
const LOOKUPS_MAX: usize = 128;

/// Changes of the last minute that are noted one by one. Past that the oldest goes, and with it all that was
/// read before it.
const CHANGES_MAX: usize = 65_536;

/// How often the feed is asked.
const EVERY: Duration = Duration::from_millis(300);

/// How long ago it may have been asked with success. A change is in the feed before it is acknowledged, so
/// nothing that was acknowledged longer ago than this is unheard of.
const TRUSTED: Duration = Duration::from_millis(800);

/// A [`Backend`] with a cache in front of one question: who is signed in by this token. That nobody is is
/// not remembered.
pub struct CachedAccounts {
    backend: Arc<dyn Backend>,
    clock: Arc<dyn Clock>,
    sessions: Cache<SessionDigest, Remembered>,
    lookups: Flights<SessionDigest, Arc<SignedIn>>,
    kept: Duration,
    heard: RwLock<Heard>,
    /// Rises with everything that is heard: what was read in an earlier turn is not what is so now.
    turn: AtomicU64,
}

#[derive(Clone)]
struct Remembered {
    me: Arc<SignedIn>,
    turn: u64,
    /// When its reading began.
    read_at: Instant,
}

/// What was heard of others' changes.
#[derive(Default)]
struct Heard {
    /// When the feed was last asked with success.
    at: Option<Instant>,
    /// The turn in which an account changed last.
    changes: HashMap<AccountId, u64>,
    /// When what changed in which turn.
    oldest_first: VecDeque<(Instant, AccountId, u64)>,
    /// What was read in this turn or before counts no more.
    floor: u64,
}

impl Heard {
    /// Whether it was heard lately enough.
    fn is_trusted(&self) -> bool {
        self.at.is_some_and(|at| at.elapsed() < TRUSTED)
    }

    /// Notes that these have changed.
    fn note(&mut self, accounts: &[AccountId], turn: u64) {
        let now = Instant::now();
        for account in accounts {
            self.changes.insert(*account, turn);
            self.oldest_first.push_back((now, *account, turn));
        }
        self.let_go(now);
    }

    /// Lets go of changes that nothing is remembered from before any more, and of those past the bound.
    fn let_go(&mut self, now: Instant) {
        while let Some(&(at, account, turn)) = self.oldest_first.front()
            && (now - at >= KEPT || self.oldest_first.len() > CHANGES_MAX)
        {
            self.oldest_first.pop_front();
            // It may have changed again since.
            if self.changes.get(&account) == Some(&turn) {
                self.changes.remove(&account);
            }
            self.floor = self.floor.max(turn);
        }
    }
}

impl CachedAccounts {
    /// A cache before `backend`. Until [`Self::follow`] runs, everything is asked of it.
    pub fn new(backend: Arc<dyn Backend>, clock: Arc<dyn Clock>) -> Self {
        let (sessions, turn) = (remembering(KEPT), AtomicU64::new(1));
        let lookups = Flights::new(LOOKUPS_MAX);
        Self { backend, clock, sessions, lookups, kept: KEPT, heard: RwLock::default(), turn }
    }

    /// The same, remembering somebody for so long, a minute at most, or nobody at all if that is no time.
    #[must_use]
    pub fn keeping(self, kept: Duration) -> Self {
        let kept = kept.min(KEPT);
        Self { sessions: remembering(kept), kept, ..self }
    }

    /// The same, asking the backend for so many sessions at once. It should be able to answer more: however many
    /// ask by tokens that nobody gave out, the feed is to be heard.
    #[must_use]
    pub fn asking_for(self, lookups_max: usize) -> Self {
        Self { lookups: Flights::new(lookups_max), ..self }
    }

    /// Forgets what has changed, for as long as it is polled.
    pub async fn follow(&self) {
        let mut place = None;
        let mut ticks = interval(EVERY);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            ticks.tick().await;
            let asked = Instant::now();
            match self.hear(&mut place).await {
                Ok(()) => {
                    let mut heard = self.heard.write();
                    heard.at = Some(asked);
                    heard.let_go(asked);
                }
                Err(error) => {
                    tracing::debug!(%error, "the feed of changed accounts cannot be read");
                }
            }
        }
    }

    /// Reads the feed from `place` to its end.
    async fn hear(&self, place: &mut Option<FeedPlace>) -> Result<()> {
        loop {
            let Reply::Changed(changed) = self.backend.call(Call::ChangedSince(*place)).await?
            else {
                return Err(Error::internal("the feed was answered with something else"));
            };
            let Changed { accounts, place: next, more, begins_anew } = changed;
            if begins_anew {
                tracing::info!(
                    "the accounts were started again, or are those of another database: what was remembered of them is forgotten"
                );
            }
            if begins_anew || place.is_none() {
                // What was read before may have changed before.
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
        let mut heard = self.heard.write();
        let turn = self.turn.fetch_add(1, Ordering::SeqCst);
        heard.note(accounts, turn);
    }

    fn forget_all(&self) {
        let mut heard = self.heard.write();
        heard.changes.clear();
        heard.oldest_first.clear();
        heard.floor = self.turn.fetch_add(1, Ordering::SeqCst);
    }

    /// Who is remembered, if that is known to be so still.
    fn remembered(&self, session: &SessionDigest) -> Option<Arc<SignedIn>> {
        let Remembered { me, turn, read_at } = self.sessions.get(session)?;
        let heard = self.heard.read();
        let is_trusted = heard.is_trusted()
            && read_at.elapsed() < self.kept
            && turn > heard.floor
            && heard.changes.get(&me.account.id).is_none_or(|changed| turn > *changed);
        (is_trusted && self.clock.now() < me.session.expires_at).then_some(me)
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

    /// The turn of a lookup that begins: what is heard from now on counts against what is read from now on.
    /// Others of the turn share it, unless nothing is heard or remembered: then each is in a turn of its own,
    /// or somebody could learn what was so before the last change.
    fn begin_turn(&self) -> u64 {
        if self.heard.read().is_trusted() && !self.kept.is_zero() {
            self.turn.load(Ordering::SeqCst)
        } else {
            self.turn.fetch_add(1, Ordering::SeqCst) + 1
        }
    }

    /// Asks the backend, and remembers what it says.
    fn look_up(
        &self,
        session: SessionDigest,
        turn: u64,
    ) -> impl Future<Output = Result<Arc<SignedIn>>> + use<> {
        let (backend, sessions) = (Arc::clone(&self.backend), self.sessions.clone());
        let read_at = Instant::now();
        async move {
            let Reply::Who(me) = backend.call(Call::Who(session)).await? else {
                return Err(Error::internal("the accounts answered something else than was asked"));
            };
            let (answered, me) = (Instant::now(), Arc::new(me));
            sessions.insert(session, Remembered { me: Arc::clone(&me), turn, read_at });
            metrics::histogram!("lodge_accounts_cache_write_seconds").record(answered.elapsed());
            Ok(me)
        }
    }
}

fn remembering(kept: Duration) -> Cache<SessionDigest, Remembered> {
    let most = if kept.is_zero() { 0 } else { SESSIONS_MAX };
    Cache::builder().max_capacity(most).time_to_live(kept).build()
}

#[async_trait]
impl Backend for CachedAccounts {
    async fn call(&self, call: Call) -> Result<Reply> {
        match call {
            Call::Who(session) => self.who(session).await,
            Call::Own { session, wish } => {
                let changes = !matches!(
                    wish,
                    Own::Sessions
                        | Own::Export
                        | Own::KeepOrder(Order::List(_))
                        | Own::Identities
                        | Own::Depart { .. }
                );
                let account =
                    self.sessions.get(&session).map(|remembered| remembered.me.account.id);
                let outcome = self.backend.call(Call::Own { session, wish }).await;
                if changes {
                    // Here at once, whatever came of it; elsewhere by the feed.
                    self.sessions.invalidate(&session);
                    if let Some(account) = account {
                        self.forget(&[account]);
                    }
                    // Of staff, it is somebody else's.
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
