//! Chooses the engines and builds the services. No other module knows which engine is behind a port.

mod board;
mod breached;
mod cluster;
mod engine;
mod mariadb;
mod moving;
mod pictures;
mod providers;
mod redis;
mod rides;
mod setting_file;
mod stores;
mod tasks;
pub(crate) mod tiers;

use std::{fs, path::Path, sync::Arc, time::Duration};

use anyhow::{Context, Result};
use futures_util::future::BoxFuture;
use jiff::SignedDuration;
use lodge_domain::{
    Clock, OsRandom, Random, SystemClock, Tasks,
    accounts::{
        Accounts, AccountsClient, AccountsPorts, AccountsSettings, Backend, NoProviders, Pictures,
    },
    board::Board,
    key_sessions::KeySessions,
    keys::Keys,
    links::{
        Blocklist, ClickCounter, LinkStore, Links, LinksPorts, LinksSettings, ManageKeys, Origin,
    },
    password_hasher::PasswordHasher,
    rides::Rides,
    secret::InstallationSecret,
};
use lodge_local::{Argon2Pool, CachedAccounts, CachedLinks, CountedFailures, SecurityLog};
use lodge_web::{Apps, BrandSettings, Logo, Site, SiteSettings, edge::server::ConnectionLimits};
use parking_lot::Mutex;

pub(crate) use self::{
    breached::probe_breached_passwords,
    cluster::probe,
    engine::{Backup, Engines},
    mariadb::probe_mariadb,
    moving::{AccountsMove, Moves},
    pictures::{PicturesOf, probe_pictures},
    providers::probe_providers,
    redis::probe_redis,
};
use self::{
    redis::SessionCopies,
    setting_file::read_setting_file,
    stores::{AccountPorts, LinkPorts, Stores},
    tasks::BackgroundTasks,
};
use crate::{
    config::{App, Config, sources::BadConfig},
    descriptors,
};

/// The services of a process and their engines.
pub(crate) struct Services {
    /// The engines; closed last.
    pub(crate) engines: Engines,
    /// Short links.
    pub(crate) links: Arc<Links>,
    /// Whether the deployment's links are in a cluster that this process does not use.
    pub(crate) has_remote_links: bool,
    /// Accounts, if this process stores them.
    pub(crate) accounts: Option<Arc<Accounts>>,
    /// Copies of sessions in front of the accounts of this process, if configured.
    session_copies: Option<SessionCopies>,
    /// The accounts backend, in this process or on the accounts tier, behind a session cache.
    backend: Option<Arc<CachedAccounts>>,
    /// The decoder and store of account pictures, on web processes.
    pictures: Option<pictures::PictureParts>,
    /// Lift rides, if this process serves them.
    pub(crate) rides: Option<Arc<Rides>>,
    /// The message board, if this process serves it.
    pub(crate) board: Option<Arc<Board>>,
    /// The board's webhooks.
    pub(crate) hooks: Option<board::BoardHooks>,
    /// API keys.
    pub(crate) keys: Keys,
    /// Page sessions of API keys.
    key_sessions: KeySessions,
    /// The clock of all services.
    pub(crate) clock: Arc<dyn Clock>,
    /// The security events that are not stored yet.
    pub(crate) security: Arc<SecurityLog>,
    secret: InstallationSecret,
    cache: Arc<CachedLinks>,
    /// Work that continues after its caller has gone.
    tasks: Arc<BackgroundTasks>,
    write_behind: Mutex<Option<BoxFuture<'static, ()>>>,
}

impl Services {
    /// Follows the change feeds of other processes and runs write-behind, for as long as it is polled. Must be
    /// called only once.
    pub(crate) async fn follow(&self) {
        let behind = self.write_behind.lock().take();
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
        let copies = async {
            if let Some(copies) = &self.session_copies {
                copies.follow().await;
            }
        };
        tokio::join!(self.cache.follow(), behind, copies, accounts);
    }

    /// Returns the picture service of accounts, on web processes.
    pub(crate) fn pictures(&self) -> Option<Pictures> {
        let accounts = self.accounts_client()?;
        Some(self.pictures.as_ref()?.service(accounts))
    }

    /// Returns the accounts of this process for the web tier.
    pub(crate) fn own_accounts(&self) -> Option<Arc<dyn Backend>> {
        self.accounts.as_ref().map(|accounts| own_backend(accounts, self.session_copies.as_ref()))
    }

    /// Waits for background work to finish, after the last response.
    pub(crate) async fn finish(&self) {
        self.tasks.finish().await;
    }

    /// Returns a client of the accounts backend, if accounts are served.
    pub(crate) fn accounts_client(&self) -> Option<AccountsClient> {
        self.backend.clone().map(|backend| AccountsClient::new(backend))
    }
}

/// Opens the engines and builds the services.
pub(crate) async fn services(config: &Config) -> Result<Services> {
    let Stores { engines, links, accounts, rides, board, site_secret } =
        Stores::open(config).await?;
    let LinkPorts { links: cache, clicks, keys, key_sessions, secret, write_behind: behind } =
        links;
    let clock: Arc<dyn Clock> = Arc::new(SystemClock);
    let random: Arc<dyn Random> = Arc::new(OsRandom);
    let passwords: Arc<dyn PasswordHasher> =
        Arc::new(Argon2Pool::new(hashing_threads(config), config.passwords.queue_max)?);
    let links = Links::new(LinksPorts {
        store: Arc::clone(&cache) as Arc<dyn LinkStore>,
        click_store: clicks,
        counter: Arc::new(ClickCounter::new(&*random, clock.now())),
        passwords: Arc::clone(&passwords),
        failures: Arc::new(CountedFailures::default()),
        blocklist: Arc::new(Blocklist::default()),
        manage_keys: ManageKeys::new(secret),
        clock: Arc::clone(&clock),
        random: Arc::clone(&random),
        settings: links_settings(config),
    });
    reload_blocklist(links.blocklist(), &config.links.blocklist)?;
    let kept_here = config.stores_accounts();
    let providers = if kept_here { providers::providers(config)? } else { Arc::new(NoProviders) };
    let breached = breached::breached_passwords(config)?;
    let security = Arc::new(SecurityLog::new(
        config.log.addresses,
        site_secret.clone(),
        Arc::clone(&clock),
        Arc::clone(&random),
    ));
    let service = |ports: AccountPorts| {
        Accounts::new(AccountsPorts {
            store: ports.accounts,
            sessions: ports.sessions,
            identities: ports.identities,
            providers,
            secret: ports.secret,
            security_events: ports.security_events,
            failures: ports.failures,
            passwords,
            breached,
            clock: Arc::clone(&clock),
            random: Arc::clone(&random),
            settings: accounts_settings(config),
        })
    };
    let accounts_secret = accounts.as_ref().map(|ports| ports.secret.clone());
    let accounts = accounts.map(service).map(Arc::new);
    let session_copies = match accounts.clone().zip(accounts_secret) {
        Some((accounts, secret)) => {
            SessionCopies::open(config, accounts, secret, Arc::clone(&clock))?
        }
        None => None,
    };
    let own = accounts.as_ref().map(|accounts| own_backend(accounts, session_copies.as_ref()));
    let tasks = BackgroundTasks::on_current_runtime();
    let pictures =
        config.serves_accounts().then(|| pictures::open(config, Arc::clone(&tasks))).transpose()?;
    let backend = accounts_backend(config, own, pictures.as_ref(), &clock)?;
    let rides = rides.map(|of_rides| {
        let tasks = Arc::clone(&tasks) as Arc<dyn Tasks>;
        Arc::new(rides::service(of_rides, &config.rides, &clock, &random, tasks))
    });
    let hooks = board.as_ref().map(|ports| board::hooks(ports, &config.board, &clock, &random));
    let board = match board.zip(pictures.as_ref()) {
        Some((of_board, pictures)) => {
            let keeper = pictures.message_keeper(config, of_board.id)?;
            Some(Arc::new(board::service(of_board, keeper, &clock, &random)))
        }
        None => None,
    };
    let keys = Keys::new(keys, Arc::clone(&clock), Arc::clone(&random));
    let key_sessions = KeySessions::new(key_sessions, keys.clone(), Arc::clone(&clock), random);
    let behind = Mutex::new(behind);
    Ok(Services {
        engines,
        links: Arc::new(links),
        has_remote_links: config.has_remote_links(),
        accounts,
        session_copies,
        backend,
        pictures,
        rides,
        board,
        hooks,
        keys,
        key_sessions,
        clock,
        security,
        secret: site_secret,
        cache,
        tasks,
        write_behind: behind,
    })
}

/// Returns the accounts of this process, with copies of sessions in front if there are any.
fn own_backend(accounts: &Arc<Accounts>, copies: Option<&SessionCopies>) -> Arc<dyn Backend> {
    match copies {
        Some(copies) => Arc::clone(&copies.backend) as _,
        None => Arc::clone(accounts) as _,
    }
}

/// Builds the accounts backend, if this process needs one: local accounts or a connection pool to the accounts tier,
/// with pictures on web processes, behind a session cache.
fn accounts_backend(
    config: &Config,
    own: Option<Arc<dyn Backend>>,
    pictures: Option<&pictures::PictureParts>,
    clock: &Arc<dyn Clock>,
) -> Result<Option<Arc<CachedAccounts>>> {
    let (mut backend, lookups_max): (Arc<dyn Backend>, _) = match own {
        Some(own) => (own, None),
        None if config.serves_accounts() => {
            let (pool, lookups_max) = tiers::pool(config)?;
            (pool, Some(lookups_max))
        }
        None => return Ok(None),
    };
    if let Some(pictures) = pictures {
        backend = Arc::new(pictures.wrap_backend(backend));
    }
    let kept = Duration::from_secs(config.accounts.session_cache_s);
    let cache = CachedAccounts::new(backend, Arc::clone(clock)).with_ttl(kept);
    let cache = if let Some(most) = lookups_max { cache.with_lookups_max(most) } else { cache };
    Ok(Some(Arc::new(cache)))
}

/// Builds the site's shared state.
pub(crate) fn site(config: &Config, services: &Services) -> Result<Site> {
    let limits = connection_limits(config)?;
    let settings = SiteSettings {
        brand: BrandSettings {
            name: config.site.name.clone(),
            logo: logo(config)?,
            color: config.site.color()?,
        },
        trusted_proxies: Arc::clone(&limits.trusted_proxies),
        public_url: Some(config.public_url.clone()).filter(|url| !url.is_empty()),
        hsts_subdomains: config.http.hsts_subdomains,
        request_timeout: Duration::from_secs(config.http.request_timeout_s),
        creations_per_minute: config.limits.creations_per_minute,
        owner_creations_per_minute: config.limits.owner_creations_per_minute,
        owner_creations_per_day: config.limits.owner_creations_per_day,
        open_sign_up: config.accounts.open_sign_up,
        sign_ups_per_minute: config.limits.sign_ups_per_minute,
        attempts_per_minute: config.limits.attempts_per_minute,
        access_log: config.log.requests,
        pictures_per_minute: config.limits.pictures_per_minute,
        picture_kib_max: config.accounts.picture_kib_max,
        ride_events_per_second: config.rides.events_per_second,
        connections_max: limits.connections_max,
        rides_per_minute: config.limits.rides_per_minute,
        posts_per_minute: config.limits.posts_per_minute,
    };
    Ok(Site {
        keys: services.keys.clone(),
        key_sessions: services.key_sessions.clone(),
        accounts: services.accounts_client(),
        secret: services.secret.clone(),
        security: Arc::clone(&services.security) as _,
        setup_code: services.accounts.as_ref().map(|accounts| accounts.setup_code().clone()),
        clock: Arc::clone(&services.clock),
        random: Arc::new(OsRandom),
        settings,
    })
}

/// Reads the logo, if one is configured.
fn logo(config: &Config) -> Result<Option<Logo>> {
    let file = &config.site.logo;
    let bytes = read_setting_file("site.logo", file, fs::read)?;
    let read = |bytes| {
        let logo = Logo::read(bytes);
        logo.with_context(|| format!("site.logo: {}", file.display())).context(BadConfig)
    };
    bytes.map(read).transpose()
}

/// Checks the logo, if one is configured.
pub(crate) fn probe_logo(config: &Config) -> Option<Result<String>> {
    logo(config).map(|logo| logo.map(|_| "site.logo: usable".to_owned())).transpose()
}

/// Returns the apps that the site serves.
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

/// Returns the connection limits of a listener.
pub(crate) fn connection_limits(config: &Config) -> Result<ConnectionLimits> {
    let http = &config.http;
    Ok(ConnectionLimits {
        connections_max: descriptors::connections_max(http.connections_max),
        connections_per_address_max: http.connections_per_address_max,
        header_timeout: Duration::from_secs(http.header_timeout_s),
        write_timeout: Duration::from_secs(http.write_timeout_s),
        grace: Duration::from_secs(http.shutdown_grace_s),
        trusted_proxies: Arc::new(http.trusted_proxies()?),
        proxy_protocol: http.proxy_protocol,
    })
}

/// Reads the blocklist, if one is configured.
pub(crate) fn reload_blocklist(blocklist: &Blocklist, file: &Path) -> Result<()> {
    let Some(text) = read_setting_file("links.blocklist", file, fs::read_to_string)? else {
        return Ok(());
    };
    let listed = blocklist.replace(&text);
    tracing::info!(hosts = listed.hosts, file = %file.display(), "blocklist read");
    if let Some(first) = listed.first_unreadable {
        let count = listed.unreadable;
        tracing::warn!(file = %file.display(), count, first, "entries of the blocklist are not host names");
    }
    Ok(())
}

/// Returns how long a short stays reserved after its link has ended.
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
        session_idle: SignedDuration::from_hours(24 * i64::from(config.accounts.idle_days)),
        open_sign_up: config.accounts.open_sign_up,
    }
}

/// Returns the known origins of this server. A link to a short on one of them would be a loop.
fn own_origins(config: &Config) -> Vec<Origin> {
    let port = config.http.listen.port();
    let here = ["localhost", "127.0.0.1", "[::1]"].map(|host| format!("http://{host}:{port}"));
    let listen = format!("http://{}", config.http.listen);
    let known = [&config.public_url, &listen].into_iter().chain(&here);
    known.filter_map(|url| Origin::parse(url)).collect()
}

/// Returns the configured number of threads, or by default one less than the cores and at least 1.
fn hashing_threads(config: &Config) -> usize {
    let cores = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    if config.passwords.threads > 0 {
        config.passwords.threads
    } else {
        cores.saturating_sub(1).max(1)
    }
}
