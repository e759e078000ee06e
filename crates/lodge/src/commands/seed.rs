//! `lodge load accounts-seed`.

use std::{
    fs::{File, OpenOptions},
    io::{BufWriter, Write},
    os::unix::fs::OpenOptionsExt,
    path::{Path, PathBuf},
    process::ExitCode,
    time::Instant,
};

use anyhow::{Context, Result, ensure};
use clap::Args;
use indicatif::ProgressBar;
use lodge_domain::{
    Clock, OsRandom, Random, SystemClock,
    accounts::{
        Accounts, NewAccount, NewSession, Nickname, Role, Session, SessionDigest, SessionId,
        TOKEN_PREFIX, Username,
    },
    passwords::{Password, PasswordHash},
    secret,
};
use uuid::Uuid;

use super::admin::progress_bar;
use crate::{
    cli::ConfigOptions,
    config::{self, App, Role as ProcessRole},
    wiring,
};

/// Accounts that are written at once.
const PAGE: u64 = 5_000;

#[derive(Debug, Args)]
pub(crate) struct SeedOptions {
    /// Accounts, called seed00000000, seed00000001 and so on; those that are there stay
    #[arg(long, value_name = "N", default_value_t = 10_000_000, value_parser = clap::value_parser!(u64).range(1..=100_000_000))]
    users: u64,
    /// The password of all of them
    #[arg(long, value_name = "TEXT", default_value = "a lift in the fog")]
    password: String,
    /// Sessions of accounts drawn at random
    #[arg(long, value_name = "N", default_value_t = 0)]
    sessions: u64,
    /// The file to make with the sessions' tokens, one a line
    #[arg(long, value_name = "FILE")]
    tokens: Option<PathBuf>,
    /// The configuration file
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// The data folder
    #[arg(long, value_name = "FOLDER")]
    data: Option<PathBuf>,
}

/// Fills the folder.
pub(crate) fn run(options: &SeedOptions) -> Result<ExitCode> {
    ensure!(
        options.sessions == 0 || options.tokens.is_some(),
        "--sessions needs --tokens: their tokens cannot be had again"
    );
    let config = config::load(&ConfigOptions {
        config: options.config.clone(),
        data: options.data.clone(),
        apps: Some(vec![App::Accounts]),
        roles: Some(vec![ProcessRole::Accounts, ProcessRole::Web]),
        ..ConfigOptions::default()
    })?;
    let tokens = options.tokens.as_ref().map(|file| private(file)).transpose()?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        let services = wiring::services(&config).await?;
        let accounts = services.accounts.clone().context("accounts are not kept here")?;
        let began = Instant::now();
        let made = users(&accounts, options).await?;
        println!("{made} accounts made in {:.1} s", began.elapsed().as_secs_f64());
        if let Some(tokens) = tokens {
            let began = Instant::now();
            sessions(&accounts, options, BufWriter::new(tokens)).await?;
            let seconds = began.elapsed().as_secs_f64();
            println!("{} sessions begun in {seconds:.1} s", options.sessions);
        }
        services.engine.close().await.context("the data folder did not close cleanly")
    })?;
    Ok(ExitCode::SUCCESS)
}

/// A new file that only its owner reads.
fn private(file: &Path) -> Result<File> {
    let made = OpenOptions::new().write(true).create_new(true).mode(0o600).open(file);
    made.with_context(|| format!("{} cannot be made", file.display()))
}

fn name(number: u64) -> Result<Username> {
    Ok(Username::parse(&format!("seed{number:08}"))?)
}

/// Makes the accounts; how many were not there.
async fn users(accounts: &Accounts, options: &SeedOptions) -> Result<u64> {
    let password = Password::parse("password", options.password.clone())?;
    let hash = accounts.passwords.hash(password).await?;
    let bar = progress_bar(options.users, "{bar:40} {pos}/{len} accounts {eta}")?;
    let (mut made, mut next) = (0, 0);
    while next < options.users {
        let until = options.users.min(next + PAGE);
        let page = (next..until).map(|number| account(number, &hash)).collect::<Result<_>>()?;
        let added = accounts.store.add_many(page).await?;
        made += added.iter().filter(|added| **added).count() as u64;
        next = until;
        bar.set_position(next);
    }
    bar.finish_and_clear();
    Ok(made)
}

fn account(number: u64, hash: &PasswordHash) -> Result<NewAccount> {
    let username = name(number)?;
    Ok(NewAccount {
        nickname: Nickname::from(&username),
        username,
        email: None,
        role: Role::Member,
        password: Some(hash.clone()),
        created_at: SystemClock.now(),
    })
}

/// Signs accounts in that are drawn at random, and writes down their tokens.
async fn sessions(
    accounts: &Accounts,
    options: &SeedOptions,
    mut tokens: impl Write,
) -> Result<()> {
    let bar: ProgressBar = progress_bar(options.sessions, "{bar:40} {pos}/{len} sessions {eta}")?;
    for _ in 0..options.sessions {
        let name = name(drawn(options.users))?;
        let found = accounts.store.find(&name).await?;
        let (account, _) = found.with_context(|| format!("{name} is not there"))?;
        let token = secret::random_token(TOKEN_PREFIX, &OsRandom);
        let now = SystemClock.now();
        let session = Session {
            id: SessionId(Uuid::now_v7()),
            account: account.id,
            created_at: now,
            expires_at: now.saturating_add(accounts.settings.session_lifetime)?,
            agent: "lodge load".to_owned(),
        };
        let digest = SessionDigest::of(&token);
        let new = NewSession { session, digest, epoch: account.epoch };
        ensure!(accounts.sessions.begin(new).await?, "{name} cannot be signed in");
        writeln!(tokens, "{token}")?;
        bar.inc(1);
    }
    tokens.flush()?;
    bar.finish_and_clear();
    Ok(())
}

/// A number below `end`, each about as likely as the other.
fn drawn(end: u64) -> u64 {
    let mut bytes = [0; 8];
    OsRandom.fill(&mut bytes);
    u64::from_le_bytes(bytes) % end
}
