//! The one place where engines are chosen and services are put together.

mod board;
#[cfg(feature = "cluster")]
mod cluster;
#[cfg(not(feature = "cluster"))]
#[path = "no_cluster.rs"]
mod cluster;
mod engine;
mod pictures;
mod providers;
mod rides;
mod stores;
mod tasks;
pub(crate) mod tiers;

use std::{fs, io, path::Path, sync::Arc, time::Duration};

use anyhow::{Context, Result};
use futures_util::future::BoxFuture;
use jiff::SignedDuration;
use lodge_domain::{
    Clock, OsRandom, Random, SystemClock, Tasks,
    accounts::{
        Accounts, AccountsClient, AccountsPorts, AccountsSettings, Backend, NoProviders, Pictures,
    },
    board::Board,
    keys::Keys,
    links::{
        Blocklist, ClickCounter, LinkStore, Links, LinksPorts, LinksSettings, ManageKeys, Origin,
    },
    passwords::Passwords,
    rides::Rides,
    secret::InstallationSecret,
};
use lodge_local::{Argon2Pool, CachedAccounts, CachedLinks, CountedFailures};
use lodge_web::{Apps, Site, SiteSettings, edge::server::ConnectionLimits};
use parking_lot::Mutex;

pub(crate) use self::{
    cluster::{moving, probe},
    engine::{Backup, Engines},
    pictures::probe_pictures,
    providers::probe_providers,
};
use self::{
    stores::{AccountPorts, LinkPorts, Stores},
    tasks::Tracked,
};
use crate::{
    config::{App, Config},
    descriptors,
};

/// The services over their engines.
pub(crate) struct Services {
    /// The engines: opened here, closed last.
    pub(crate) engines: Engines,
    /// Short links.
    pub(crate) links: Arc<Links>,
    /// Whether those that count are in a cluster that this process does not use.
    pub(crate) links_elsewhere: bool,
    /// Accounts, if they are kept here.
    pub(crate) accounts: Option<Arc<Accounts>>,
    /// Whoever answers for them, here or elsewhere.
    backend: Option<Arc<CachedAccounts>>,
    /// What decodes and keeps their pictures, where the public is answered.
    pictures: Option<pictures::Parts>,
    /// Lift rides, if they are served here.
    pub(crate) rides: Option<Arc<Rides>>,
    /// The message board, if it is served here.
    pub(crate) board: Option<Arc<Board>>,
    /// Who is told what happens there.
    pub(crate) hooks: Option<board::BoardHooks>,
    /// API keys.
    pub(crate) keys: Keys,
    /// Says what time it is.
    pub(crate) clock: Arc<dyn Clock>,
    secret: InstallationSecret,
    cache: Arc<CachedLinks>,
    /// What goes on when whoever asked for it has gone.
    tasks: Arc<Tracked>,
    behind: Mutex<Option<BoxFuture<'static, ()>>>,
}

impl Services {
    /// Hears what other processes change, and stores what is to be stored later, for as long as it is
    /// polled; called once.
    pub(crate) async fn follow(&self) {
        let behind = self.behind.lock().take();
        let behind = async {
            if let Some(behind) = behind {
                behind.await;
            }
        };
        let accounts = async {
            if let Some(backend) = &self.backend {
                backend.follow().await;
            }
        };
        tokio::join!(self.cache.follow(), behind, accounts);
    }

    /// Pictures, where the public is answered for accounts.
    pub(crate) fn pictures(&self) -> Option<Pictures> {
        let accounts = self.accounts_client()?;
        Some(self.pictures.as_ref()?.service(accounts))
    }

    /// Waits for what was begun and goes on, when nobody is answered any more.
    pub(crate) async fn finish(&self) {
        self.tasks.finish().await;
    }

    /// The way to accounts, if they are served.
    pub(crate) fn accounts_client(&self) -> Option<AccountsClient> {
        self.backend.clone().map(|backend| AccountsClient::new(backend))
    }
}

/// Opens the engines and puts the services on them.
pub(crate) async fn services(config: &Config) -> Result<Services> {
    let Stores { engines, links, accounts, rides, board } = Stores::open(config).await?;
    let LinkPorts { links: cache, clicks, keys, secret, behind } = links;
    let clock: Arc<dyn Clock> = Arc::new(SystemClock);
    let random: Arc<dyn Random> = Arc::new(OsRandom);
    let passwords: Arc<dyn Passwords> =
        Arc::new(Argon2Pool::new(hashing_threads(config), config.passwords.queue_max)?);
    let links = Links::new(LinksPorts {
        store: Arc::clone(&cache) as Arc<dyn LinkStore>,
        click_store: clicks,
        counter: Arc::new(ClickCounter::new(&*random, clock.now())),
        passwords: Arc::clone(&passwords),
        blocklist: Arc::new(Blocklist::default()),
        manage_keys: ManageKeys::new(secret.clone()),
        clock: Arc::clone(&clock),
        random: Arc::clone(&random),
        settings: links_settings(config),
    });
    reload_blocklist(links.blocklist(), &config.links.blocklist)?;
    let kept_here = config.keeps_accounts();
    let providers = if kept_here { providers::providers(config)? } else { Arc::new(NoProviders) };
    let service = |ports: AccountPorts| {
        Accounts::new(AccountsPorts {
            store: ports.accounts,
            sessions: ports.sessions,
            identities: ports.identities,
            providers,
            secret: ports.secret,
            failures: Arc::new(CountedFailures::default()),
            passwords,
            clock: Arc::clone(&clock),
            random: Arc::clone(&random),
            settings: accounts_settings(config),
        })
    };
    let accounts = accounts.map(service).map(Arc::new);
    let tasks = Tracked::here();
    let pictures = config
        .answers_for_accounts()
        .then(|| pictures::open(config, Arc::clone(&tasks)))
        .transpose()?;
    let backend = stack(config, accounts.as_ref(), pictures.as_ref(), &clock)?;
    let rides = rides.map(|of_rides| {
        let tasks = Arc::clone(&tasks) as Arc<dyn Tasks>;
        Arc::new(rides::service(of_rides, &config.rides, &clock, &random, tasks))
    });
    let hooks = board.as_ref().map(|ports| board::hooks(ports, &config.board, &clock, &random));
    let board = match board.zip(pictures.as_ref()) {
        Some((of_board, pictures)) => {
            let keeper = pictures.of_messages(config)?;
            Some(Arc::new(board::service(of_board, keeper, &clock, &random)))
        }
        None => None,
    };
    let keys = Keys::new(keys, Arc::clone(&clock), random);
    let behind = Mutex::new(behind);
    Ok(Services {
        engines,
        links: Arc::new(links),
        links_elsewhere: config.has_links_elsewhere(),
        accounts,
        backend,
        pictures,
        rides,
        board,
        hooks,
        keys,
        clock,
        secret,
        cache,
        tasks,
        behind,
    })
}

/// Whoever answers for accounts, if that is anybody: those that are kept here, or the way to those that
/// are not; beside them their pictures, where the public is answered; and before them who is signed in, in
/// memory.
fn stack(
    config: &Config,
    accounts: Option<&Arc<Accounts>>,
    pictures: Option<&pictures::Parts>,
    clock: &Arc<dyn Clock>,
) -> Result<Option<Arc<CachedAccounts>>> {
    let (mut backend, lookups_max): (Arc<dyn Backend>, _) = match accounts {
        Some(accounts) => (Arc::clone(accounts) as _, None),
        None if config.answers_for_accounts() => {
            let (pool, lookups_max) = tiers::pool(config)?;
            (pool, Some(lookups_max))
        }
        None => return Ok(None),
    };
    if let Some(pictures) = pictures {
        backend = Arc::new(pictures.with(backend));
    }
    let kept = Duration::from_secs(config.accounts.session_cache_s);
    let cache = CachedAccounts::new(backend, Arc::clone(clock)).keeping(kept);
    let cache = if let Some(most) = lookups_max { cache.asking_for(most) } else { cache };
    Ok(Some(Arc::new(cache)))
}

/// The site over the services.
pub(crate) fn site(config: &Config, services: &Services) -> Site {
    let settings = SiteSettings {
        public_url: Some(config.public_url.clone()).filter(|url| !url.is_empty()),
        request_timeout: Duration::from_secs(config.http.request_timeout_s),
        creations_per_minute: config.limits.creations_per_minute,
        sign_ups_per_minute: config.limits.sign_ups_per_minute,
        attempts_per_minute: config.limits.attempts_per_minute,
        access_log: config.log.requests,
        pictures_per_minute: config.limits.pictures_per_minute,
        picture_kib_max: config.accounts.picture_kib_max,
        ride_events_per_second: config.rides.events_per_second,
        connections_max: connection_limits(config).connections_max,
        rides_per_minute: config.limits.rides_per_minute,
        posts_per_minute: config.limits.posts_per_minute,
    };
    Site {
        keys: services.keys.clone(),
        accounts: services.accounts_client(),
        secret: services.secret.clone(),
        clock: Arc::clone(&services.clock),
        random: Arc::new(OsRandom),
        settings,
    }
}

/// The apps that the site serves.
pub(crate) fn apps(config: &Config, services: &Services) -> Apps {
    let has_links = config.apps.contains(&App::Links);
    Apps {
        links: has_links.then(|| Arc::clone(&services.links)),
        pictures: services.pictures(),
        rides: services.rides.clone(),
        board: services.board.clone(),
        hooks: services.hooks.as_ref().map(|hooks| Arc::clone(&hooks.service)),
    }
}

/// The bounds of a listener.
pub(crate) fn connection_limits(config: &Config) -> ConnectionLimits {
    ConnectionLimits {
        connections_max: descriptors::connections_max(config.http.connections_max),
        header_timeout: Duration::from_secs(config.http.header_timeout_s),
        write_timeout: Duration::from_secs(config.http.write_timeout_s),
        grace: Duration::from_secs(config.http.shutdown_grace_s),
    }
}

/// Reads the list of blocked hosts, if there is to be one.
pub(crate) fn reload_blocklist(blocklist: &Blocklist, file: &Path) -> Result<()> {
    let Some(text) = named_file("links.blocklist", file, fs::read_to_string)? else {
        return Ok(());
    };
    let listed = blocklist.replace(&text);
    tracing::info!(hosts = listed.hosts, file = %file.display(), "blocklist read");
    let unreadable = listed.unreadable;
    if unreadable > 0 {
        tracing::warn!(file = %file.display(), "{unreadable} entries of the blocklist cannot be read");
    }
    Ok(())
}

/// What is read of a file that the setting `key` names, if it names one.
fn named_file<'a, T>(
    key: &str,
    file: &'a Path,
    read: impl FnOnce(&'a Path) -> io::Result<T>,
) -> Result<Option<T>> {
    if file.as_os_str().is_empty() {
        return Ok(None);
    }
    read(file).with_context(|| format!("{key}: {} cannot be read", file.display())).map(Some)
}

/// How long shorts stay reserved.
pub(crate) fn reserved(config: &Config) -> SignedDuration {
    SignedDuration::from_hours(24 * i64::from(config.links.reserved_days))
}

fn links_settings(config: &Config) -> LinksSettings {
    LinksSettings {
        mode: config.links.mode,
        reserved: reserved(config),
        anonymous_creation: config.links.anonymous_creation,
        origins: own_origins(config),
    }
}

fn accounts_settings(config: &Config) -> AccountsSettings {
    AccountsSettings {
        session_lifetime: SignedDuration::from_hours(24 * i64::from(config.accounts.session_days)),
        open_sign_up: config.accounts.open_sign_up,
    }
}

/// Where this server answers, as far as it can know: a link to one of its own shorts would be a loop.
fn own_origins(config: &Config) -> Vec<Origin> {
    let port = config.http.listen.port();
    let here = ["localhost", "127.0.0.1", "[::1]"].map(|host| format!("http://{host}:{port}"));
    let listen = format!("http://{}", config.http.listen);
    let known = [&config.public_url, &listen].into_iter().chain(&here);
    known.filter_map(|url| Origin::parse(url)).collect()
}

/// As many as the configuration says, or as there are cores, less one for everything else.
fn hashing_threads(config: &Config) -> usize {
    let cores = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    if config.passwords.threads > 0 {
        config.passwords.threads
    } else {
        cores.saturating_sub(1).max(1)
    }
}
