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
    accounts::{Accounts, EventKind, NewAccount, Username},
    passwords::{Password, PasswordHash},
};
use lodge_load::{SEED_PASSWORD, SEEDED_MAX, seeded_name};
use tokio::time::sleep;

use super::progress::progress_bar;
use crate::{
    commands::out::{complain, say},
    config::{App, Config, Role as ProcessRole, options::ConfigOptions, sources},
    wiring,
};

/// Accounts that are written at once. Names come in no order, so that nearly every page of their index
/// changes with each page of accounts: the larger the page, the fewer times each is written.
const PAGE: u64 = 250_000;

/// MiB of pages that the database keeps in memory meanwhile: the index of ten million names.
const PAGE_CACHE_MIB: u32 = 512;

/// Sessions that begin at the same time, and so share a commit.
const SESSIONS_AT_ONCE: usize = 1_000;

/// A page may find the write-ahead log full of the one before: so often it is tried again, after a pause.
const TRIES: u32 = 60;
const PAUSE: Duration = Duration::from_secs(1);

/// The file that tells a folder that was made for load.
const MARK: &str = "seeded";

/// How often it is told how far it has come.
const TOLD_EVERY: Duration = Duration::from_secs(10);

#[derive(Debug, Args)]
pub(crate) struct SeedOptions {
    /// Accounts. Their names follow from their numbers; those that are there stay, so that what was broken
    /// off can be started again
    #[arg(long, value_name = "N", default_value_t = 10_000_000, value_parser = clap::value_parser!(u64).range(1..=SEEDED_MAX))]
    users: u64,
    /// The password of all of them: one hash, made once
    #[arg(long, value_name = "TEXT", default_value = SEED_PASSWORD)]
    password: String,
    /// Sessions, each of another account, drawn at random
    #[arg(long, value_name = "N", default_value_t = 0, requires = "tokens")]
    sessions: u64,
    /// The file to make with the sessions' tokens, one a line; only its owner may read it
    #[arg(long, value_name = "FILE")]
    tokens: Option<PathBuf>,
    /// The configuration file
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// The data folder: a new one, or one that was seeded before. Anybody knows the password of its accounts
    #[arg(long, value_name = "FOLDER")]
    data: PathBuf,
}

/// Fills the folder.
pub(crate) fn run(options: &SeedOptions) -> Result<ExitCode> {
    ensure!(
        options.sessions <= options.users,
        "--sessions: each is of another account, so there can be as many as --users at most"
    );
    let mut config = sources::load(&ConfigOptions {
        config: options.config.clone(),
        data: Some(options.data.clone()),
        apps: Some(vec![App::Accounts]),
        roles: Some(vec![ProcessRole::Accounts, ProcessRole::Web]),
        ..ConfigOptions::default()
    })?;
    config.embedded.page_cache_mib = config.embedded.page_cache_mib.max(PAGE_CACHE_MIB);
    mark(&options.data)?;
    let tokens = options.tokens.as_ref().map(|file| private(file)).transpose()?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let made =
        runtime.block_on(opened(&config, async |accounts| users(accounts, options).await))?;
    let bytes = folder_bytes(&config.data)?;
    say!(
        "{} accounts, {made} of them new; {bytes} bytes on disk, {} for each",
        options.users,
        bytes / options.users
    );
    if let Some(tokens) = tokens {
        let tokens = BufWriter::new(tokens);
        runtime.block_on(opened(&config, async |accounts| {
            sessions(accounts, options, tokens).await
        }))?;
        say!(
            "{} sessions; {} bytes on disk more",
            options.sessions,
            folder_bytes(&config.data)?.saturating_sub(bytes)
        );
    }
    Ok(ExitCode::SUCCESS)
}

/// Says in a new folder that it is for load. What holds something else may be people's.
fn mark(folder: &Path) -> Result<()> {
    let mark = folder.join(MARK);
    if mark.exists() {
        return Ok(());
    }
    let is_new = fs::read_dir(folder).map_or(true, |mut files| files.next().is_none());
    ensure!(is_new, "--data {}: it was not seeded before, and is not empty", folder.display());
    DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
    Ok(fs::write(mark, "")?)
}

/// A new file that only its owner reads.
fn private(file: &Path) -> Result<File> {
    let made = OpenOptions::new().write(true).create_new(true).mode(0o600).open(file);
    made.with_context(|| format!("{} cannot be made", file.display()))
}

/// Does something with the accounts of a folder, which is whole on the disk afterwards.
async fn opened<T>(config: &Config, work: impl AsyncFnOnce(&Accounts) -> Result<T>) -> Result<T> {
    let services = wiring::services(config).await?;
    let accounts = services.accounts.clone().context("accounts are not kept here")?;
    let done = work(&accounts).await;
    services.engines.close().await.context("the data folder did not close cleanly")?;
    done
}

/// What the folder's files come to.
fn folder_bytes(folder: &Path) -> Result<u64> {
    let mut bytes = 0;
    for file in fs::read_dir(folder)? {
        let metadata = file?.metadata()?;
        bytes += if metadata.is_file() { metadata.len() } else { 0 };
    }
    Ok(bytes)
}

/// Tells how far something has come: a bar at a terminal, and lines for whoever reads later.
struct Told {
    what: &'static str,
    all: u64,
    bar: ProgressBar,
    began: Instant,
    last: Instant,
}

impl Told {
    fn new(what: &'static str, all: u64) -> Result<Self> {
        let bar = progress_bar(all, "{bar:40} {pos}/{len} {eta}")?;
        let began = Instant::now();
        Ok(Self { what, all, bar, began, last: began })
    }

    fn at(&mut self, place: u64) {
        self.bar.set_position(place);
        if self.last.elapsed() < TOLD_EVERY && place < self.all {
            return;
        }
        self.last = Instant::now();
        let seconds = self.began.elapsed().as_secs_f64();
        let (what, all) = (self.what, self.all);
        self.bar.suspend(|| {
            complain!(
                "{place} of {all} {what} after {seconds:.0} s, {:.0}/s",
                rate(place, seconds)
            );
        });
    }
}

#[expect(clippy::cast_precision_loss, reason = "it is told to people")]
fn rate(count: u64, seconds: f64) -> f64 {
    count as f64 / seconds.max(0.001)
}

fn name(number: u64) -> Result<Username> {
    Ok(Username::parse(&seeded_name(number))?)
}

/// Makes the accounts; how many were not there.
async fn users(accounts: &Accounts, options: &SeedOptions) -> Result<u64> {
    let password = Password::parse("password", options.password.clone())?;
    let hash = accounts.hash(password).await?;
    let mut told = Told::new("accounts", options.users)?;
    let (mut made, mut next) = (0, 0);
    while next < options.users {
        let until = options.users.min(next + PAGE);
        made += page(accounts, next..until, &hash).await?;
        next = until;
        told.at(next);
    }
    Ok(made)
}

/// Makes one page of them; how many were not there.
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
            Err(Error::Unavailable { .. }) if tries < TRIES => tries += 1,
            Err(error) => return Err(error.into()),
        }
        sleep(PAUSE).await;
    }
}

fn account(number: u64, hash: &PasswordHash) -> Result<NewAccount> {
    Ok(NewAccount::new(name(number)?, Some(hash.clone()), SystemClock.now()))
}

/// Signs accounts in that are drawn at random, and writes down their tokens.
async fn sessions(
    accounts: &Accounts,
    options: &SeedOptions,
    mut tokens: impl Write,
) -> Result<()> {
    let (users, count) = (usize::try_from(options.users)?, usize::try_from(options.sessions)?);
    let drawn = rand::seq::index::sample(&mut rand::rng(), users, count);
    let mut told = Told::new("sessions", options.sessions)?;
    let begun = stream::iter(drawn).map(|number| session(accounts, number as u64));
    let mut begun = begun.buffered(SESSIONS_AT_ONCE);
    let mut count = 0;
    while let Some(token) = begun.try_next().await? {
        writeln!(tokens, "{token}")?;
        count += 1;
        told.at(count);
    }
    Ok(tokens.flush()?)
}

/// Signs one account in; its token.
async fn session(accounts: &Accounts, number: u64) -> Result<String> {
    let name = name(number)?;
    let account = accounts.user(&name).await.with_context(|| format!("{name} is not there"))?;
    let begun = accounts.begin(account, EventKind::SignedIn, "lodge load").await?;
    Ok(begun.with_context(|| format!("{name} cannot be signed in"))?.token)
}
