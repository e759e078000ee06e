//! `lodge load accounts-seed`.

use std::{
    fs::{self, DirBuilder, File, OpenOptions},
    io::{BufWriter, Write},
    os::unix::fs::{DirBuilderExt, OpenOptionsExt},
    path::{Path, PathBuf},
    process::ExitCode,
    time::{Duration, Instant},
};

use anyhow::{Context, Result, ensure};
use clap::Args;
use futures_util::{StreamExt, TryStreamExt, stream};
use indicatif::ProgressBar;
use lodge_domain::{
    Clock, Error, SystemClock,
    accounts::{
        AccountEventKind, AccountQuery, Accounts, NewAccount, Picture, SessionDigest, Username,
    },
    passwords::{Password, PasswordHash},
};
use lodge_load::{SEED_PASSWORD, SEEDED_MAX, seeded_name};
use tokio::time::sleep;

use super::progress::progress_bar;
use crate::{
    commands::out::{errln, outln},
    config::{
        App, Config, Role as ProcessRole, options::ConfigOptions, sources, stores::AccountsStore,
    },
    wiring::{self, Services},
};

/// Accounts per transaction in a data folder. Names are in random order, so each transaction changes nearly every page of
/// their index: the larger the transaction, the fewer times each page is written.
const PAGE: u64 = 250_000;

/// Accounts per transaction in MariaDB, and concurrent transactions: each account is a round trip to the server.
const MARIADB_PAGE: u64 = 5_000;
const MARIADB_PAGES_AT_ONCE: usize = 8;

/// The page cache during seeding, in MiB: it holds the index of ten million names.
const PAGE_CACHE_MIB: u32 = 512;

/// Concurrent sign-ins, which share a commit.
const SESSIONS_AT_ONCE: usize = 1_000;

/// As many with pictures: the store of pictures has a bound.
const PICTURES_AT_ONCE: usize = 32;

/// Attempts per transaction, and the pause between them: the previous transaction may have filled the
/// write-ahead log.
const ATTEMPTS_MAX: u32 = 60;
const PAUSE: Duration = Duration::from_secs(1);

/// The file that marks a data folder as seeded.
const SEED_MARKER: &str = "seeded";

/// The interval between progress lines on standard error.
const PROGRESS_EVERY: Duration = Duration::from_secs(10);

#[derive(Debug, Args)]
pub(crate) struct SeedOptions {
    /// The number of accounts. Names are derived from numbers and existing accounts stay, so that an
    /// interrupted run can be repeated
    #[arg(long, value_name = "N", default_value_t = 10_000_000, value_parser = clap::value_parser!(u64).range(1..=SEEDED_MAX))]
    users: u64,
    /// The password of all accounts; it is hashed only once
    #[arg(long, value_name = "TEXT", default_value = SEED_PASSWORD)]
    password: String,
    /// The number of sessions to start, each for a different, randomly drawn account
    #[arg(long, value_name = "N", default_value_t = 0, requires = "tokens")]
    sessions: u64,
    /// The file to create with the session tokens, one per line, readable only by its owner
    #[arg(long, value_name = "FILE")]
    tokens: Option<PathBuf>,
    /// A picture for each account with a session
    #[arg(long, value_name = "FILE", requires = "sessions")]
    picture: Option<PathBuf>,
    /// The configuration file
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// The data folder: a new one, or one that was seeded before. Not for real accounts: the password is public
    #[arg(long, value_name = "FOLDER")]
    data: PathBuf,
}

/// Seeds the data folder.
pub(crate) fn run(options: &SeedOptions) -> Result<ExitCode> {
    ensure!(
        options.sessions <= options.users,
        "--sessions must be at most --users: each session is for a different account"
    );
    let mut config = sources::load(&ConfigOptions {
        config: options.config.clone(),
        data: Some(options.data.clone()),
        apps: Some(vec![App::Accounts]),
        roles: Some(vec![ProcessRole::Accounts, ProcessRole::Web]),
        ..ConfigOptions::default()
    })?;
    config.embedded.page_cache_mib = config.embedded.page_cache_mib.max(PAGE_CACHE_MIB);
    mark_seeded(&options.data)?;
    let tokens = options.tokens.as_ref().map(|file| create_private_file(file)).transpose()?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let made = runtime.block_on(with_services(&config, async |services| {
        refuse_real_accounts(accounts(services)?).await?;
        users(accounts(services)?, options, config.accounts.store).await
    }))?;
    outln!("{} accounts, {made} of them new", options.users);
    let bytes = folder_bytes(&config.data)?;
    if config.stores_accounts_in(AccountsStore::Sqlite) {
        outln!("{bytes} bytes on disk, {} per account", bytes / options.users);
    }
    if let Some(tokens) = tokens {
        let tokens = BufWriter::new(tokens);
        runtime.block_on(with_services(&config, async |services| {
            sessions(services, options, tokens).await
        }))?;
        outln!("{} sessions", options.sessions);
        if config.stores_accounts_in(AccountsStore::Sqlite) {
            outln!("{} more bytes on disk", folder_bytes(&config.data)?.saturating_sub(bytes));
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// Marks a new folder as seeded. Refuses any other folder, which may contain real accounts.
fn mark_seeded(folder: &Path) -> Result<()> {
    let mark = folder.join(SEED_MARKER);
    if mark.exists() {
        return Ok(());
    }
    let is_new = fs::read_dir(folder).map_or(true, |mut files| files.next().is_none());
    ensure!(is_new, "--data {}: not empty and not seeded before", folder.display());
    DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
    Ok(fs::write(mark, "")?)
}

/// Refuses a store that has accounts but not the first seeded one: they may be real, and the seeded password is public.
async fn refuse_real_accounts(accounts: &Accounts) -> Result<()> {
    let query = AccountQuery { prefix: String::new(), after: None, limit: 1 };
    let is_empty = accounts.list(query).await?.is_empty();
    let is_seeded = match accounts.user(&name(0)?).await {
        Ok(_) => true,
        Err(Error::NotFound(_)) => false,
        Err(error) => return Err(error.into()),
    };
    ensure!(is_empty || is_seeded, "the store has accounts that were not seeded");
    Ok(())
}

/// Creates a file with mode 0600.
fn create_private_file(file: &Path) -> Result<File> {
    let made = OpenOptions::new().write(true).create_new(true).mode(0o600).open(file);
    made.with_context(|| format!("cannot create {}", file.display()))
}

/// Opens the folder, runs `work` on its services and closes the folder, so that all data is on disk.
async fn with_services<T>(
    config: &Config,
    work: impl AsyncFnOnce(&Services) -> Result<T>,
) -> Result<T> {
    let services = wiring::services(config).await?;
    let done = work(&services).await;
    services.engines.close().await.context("the data folder did not close cleanly")?;
    done
}

fn accounts(services: &Services) -> Result<&Accounts> {
    services.accounts.as_deref().context("accounts are not stored here")
}

/// Returns the total size of the folder's files, in bytes.
fn folder_bytes(folder: &Path) -> Result<u64> {
    let mut bytes = 0;
    for file in fs::read_dir(folder)? {
        let metadata = file?.metadata()?;
        bytes += if metadata.is_file() { metadata.len() } else { 0 };
    }
    Ok(bytes)
}

/// Reports progress: a bar on a terminal, and lines on standard error for a log.
struct ProgressLog {
    what: &'static str,
    all: u64,
    bar: ProgressBar,
    began: Instant,
    last: Instant,
}

impl ProgressLog {
    fn new(what: &'static str, all: u64) -> Result<Self> {
        let bar = progress_bar(all, "{bar:40} {pos}/{len} {eta}")?;
        let began = Instant::now();
        Ok(Self { what, all, bar, began, last: began })
    }

    fn update(&mut self, place: u64) {
        self.bar.set_position(place);
        if self.last.elapsed() < PROGRESS_EVERY && place < self.all {
            return;
        }
        self.last = Instant::now();
        let seconds = self.began.elapsed().as_secs_f64();
        let (what, all) = (self.what, self.all);
        self.bar.suspend(|| {
            errln!("{place} of {all} {what} after {seconds:.0} s, {:.0}/s", rate(place, seconds));
        });
    }
}

#[expect(clippy::cast_precision_loss, reason = "only displayed")]
fn rate(count: u64, seconds: f64) -> f64 {
    count as f64 / seconds.max(0.001)
}

fn name(number: u64) -> Result<Username> {
    Ok(Username::parse(&seeded_name(number))?)
}

/// Creates the accounts. Returns the number of new accounts.
async fn users(accounts: &Accounts, options: &SeedOptions, store: AccountsStore) -> Result<u64> {
    let password = Password::parse("password", options.password.clone())?;
    let hash = &accounts.hash(password).await?;
    let (size, at_once) = match store {
        AccountsStore::Sqlite => (PAGE, 1),
        AccountsStore::MariaDb => (MARIADB_PAGE, MARIADB_PAGES_AT_ONCE),
    };
    // Alone, because its existence tells that the store is seeded.
    let mut made = page(accounts, 0..1, hash).await?;
    let ends = (0..options.users).step_by(usize::try_from(size)?);
    let ends = ends.map(|begin| (begin, options.users.min(begin + size)));
    let pages = stream::iter(ends).map(|(begin, end)| async move {
        Ok::<_, anyhow::Error>((end, page(accounts, begin..end, hash).await?))
    });
    let mut pages = pages.buffered(at_once);
    let mut told = ProgressLog::new("accounts", options.users)?;
    while let Some((end, made_there)) = pages.try_next().await? {
        made += made_there;
        told.update(end);
    }
    Ok(made)
}

/// Creates one transaction's accounts. Returns the number of new accounts.
async fn page(
    accounts: &Accounts,
    numbers: std::ops::Range<u64>,
    hash: &PasswordHash,
) -> Result<u64> {
    let mut tries = 1;
    loop {
        let page = numbers.clone().map(|number| account(number, hash)).collect::<Result<_>>()?;
        match accounts.add_many(page).await {
            Ok(added) => return Ok(added.iter().filter(|added| **added).count() as u64),
            Err(Error::Unavailable { .. }) if tries < ATTEMPTS_MAX => tries += 1,
            Err(error) => return Err(error.into()),
        }
        sleep(PAUSE).await;
    }
}

fn account(number: u64, hash: &PasswordHash) -> Result<NewAccount> {
    Ok(NewAccount::new(name(number)?, Some(hash.clone()), SystemClock.now()))
}

/// Starts sessions for randomly drawn accounts, and writes their tokens.
async fn sessions(
    services: &Services,
    options: &SeedOptions,
    mut tokens: impl Write,
) -> Result<()> {
    let (users, count) = (usize::try_from(options.users)?, usize::try_from(options.sessions)?);
    let drawn = rand::seq::index::sample(&mut rand::rng(), users, count);
    let mut told = ProgressLog::new("sessions", options.sessions)?;
    let picture = picture(services, options).await?;
    let begun = stream::iter(drawn).map(|number| session(services, number as u64, picture.clone()));
    let at_once = if picture.is_some() { PICTURES_AT_ONCE } else { SESSIONS_AT_ONCE };
    let mut begun = begun.buffered(at_once);
    let mut count = 0;
    while let Some(token) = begun.try_next().await? {
        writeln!(tokens, "{token}")?;
        count += 1;
        told.update(count);
    }
    Ok(tokens.flush()?)
}

/// Decodes the picture of the options.
async fn picture(services: &Services, options: &SeedOptions) -> Result<Option<Picture>> {
    let Some(file) = &options.picture else { return Ok(None) };
    let upload = fs::read(file).with_context(|| format!("cannot read {}", file.display()))?;
    let pictures = services.pictures().context("pictures are not served here")?;
    Ok(Some(pictures.decoded(upload.into()).await?))
}

/// Starts a session for one account, and sets its picture. Returns its token.
async fn session(services: &Services, number: u64, picture: Option<Picture>) -> Result<String> {
    let (accounts, name) = (accounts(services)?, name(number)?);
    let account = accounts.user(&name).await.with_context(|| format!("no account {name}"))?;
    let begun = accounts.begin(account, AccountEventKind::SignedIn, "lodge load", None).await?;
    let token = begun.with_context(|| format!("cannot start a session for {name}"))?.token;
    if let Some(picture) = picture {
        let pictures = services.pictures().context("pictures are not served here")?;
        let session = SessionDigest::of(&token);
        let me = accounts.who(session).await?;
        pictures.set(session, &me, picture).await?;
    }
    Ok(token)
}
