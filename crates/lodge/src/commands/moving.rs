//! `lodge move`.

use std::{
    path::{Path, PathBuf},
    process::ExitCode,
    time::Instant,
};

use anyhow::{Result, anyhow};
use clap::Args;
use lodge_domain::{
    Clock, Error, SystemClock,
    links::moving::{Differences, Move, Moved, Phase, Progress},
};
use lodge_pictures::PicturesComparison;
use lodge_sql::TableComparison;

use super::progress::progress_bar;
use crate::{
    commands::out::{errln, outln},
    config::{options::ConfigOptions, sources, stores::PictureStorage},
    wiring::{AccountsMove, Moves, PicturesOf},
};

/// `lodge move`.
#[derive(Debug, Args)]
pub(crate) struct MoveOptions {
    /// The data folder to move. It is locked during the move and not changed.
    #[arg(long, value_name = "FOLDER")]
    from: PathBuf,
    /// The folder with the pictures of accounts, if the old configuration has `accounts.pictures`.
    #[arg(long, value_name = "FOLDER")]
    pictures: Option<PathBuf>,
    /// The configuration file of the new servers. [default: ./lodge.toml, if it exists]
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
}

/// Copies, compares and reports. Returns exit code 1 if the copies differ.
pub(crate) fn run(options: &MoveOptions) -> Result<ExitCode> {
    let config = sources::load(&ConfigOptions {
        config: options.config.clone(),
        ..ConfigOptions::default()
    })?;
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    runtime.block_on(async {
        let moves = Moves::prepare(&config, &options.from, options.pictures.as_deref()).await?;
        let mut are_equal = true;
        if let Some(links) = &moves.links {
            are_equal &= move_links(links).await?;
        }
        // Before the accounts that have them: servers may use these once they are compared.
        for pictures in &moves.pictures {
            if !move_pictures(pictures).await? {
                errln!("accounts are not moved before their pictures");
                return Ok(ExitCode::FAILURE);
            }
        }
        if let Some(accounts) = &moves.accounts {
            are_equal &= move_accounts(accounts).await?;
            if config.pictures.store == PictureStorage::Files {
                outln!("{}", pictures_notice(&options.from));
            }
        }
        if moves.leaves_accounts().await? {
            outln!("{}", accounts_notice(&options.from));
        }
        Ok(if are_equal { ExitCode::SUCCESS } else { ExitCode::FAILURE })
    })
}

/// Returns whether the copies are equal.
async fn move_links(links: &Move) -> Result<bool> {
    let began = Instant::now();
    let bar = progress_bar(0, "{bar:40} {pos}/{len} {msg}")?;
    let watch = |progress: Progress| {
        bar.set_length(progress.of.unwrap_or(progress.done));
        bar.set_position(progress.done);
        bar.set_message(match progress.phase {
            Phase::Links => "links",
            Phase::Outcomes => "Idempotency-Keys of the last day",
            Phase::Comparing => "links compared",
        });
    };
    let moved = links.run(SystemClock.now(), &watch).await.map_err(with_cause);
    bar.finish_and_clear();
    Ok(report(&moved?, began))
}

/// Returns whether the copies are equal.
async fn move_accounts(accounts: &AccountsMove) -> Result<bool> {
    let began = Instant::now();
    let bar = progress_bar(0, "{pos} {msg}")?;
    let watch = |table: &'static str, rows: u64| {
        bar.set_position(rows);
        bar.set_message(format!("rows of {table}"));
    };
    let compared = accounts.run(&watch).await.map_err(with_cause);
    bar.finish_and_clear();
    let compared = compared?;
    for TableComparison { table, differences, .. } in &compared {
        if *differences > 0 {
            errln!("{table}: rows that differ: {differences}");
        }
    }
    let rows_of = |name: &str| {
        let table = compared.iter().find(|table| table.table == name);
        table.map_or(0, |table| table.rows)
    };
    let differences = compared.iter().map(|table| table.differences).sum();
    outln!(
        "{} accounts, {} sessions, {} identities, {:.1} s, {}",
        rows_of("accounts"),
        rows_of("sessions"),
        rows_of("identities"),
        began.elapsed().as_secs_f64(),
        verdict(differences)
    );
    Ok(differences == 0)
}

/// Returns whether the copies are equal, and as many as there must be.
async fn move_pictures(of: &PicturesOf) -> Result<bool> {
    let PicturesOf { what, expected, .. } = of;
    let (began, folder) = (Instant::now(), of.folder.display());
    let Some(pictures) = &of.pictures else {
        outln!("pictures of {what}: none, because there is no folder {folder}");
        return Ok(has_all(*expected, 0, of));
    };
    let bar = progress_bar(0, "{pos} {msg}")?;
    let watch = |done, number| {
        bar.set_position(number);
        bar.set_message(format!("folders of pictures of {what} {done}"));
    };
    let compared = pictures.run(&watch).await.map_err(with_cause);
    bar.finish_and_clear();
    let PicturesComparison { pictures, differences } = compared?;
    outln!(
        "pictures of {what}: {pictures}, {:.1} s, {}",
        began.elapsed().as_secs_f64(),
        verdict(differences)
    );
    Ok(differences == 0 && has_all(*expected, pictures, of))
}

/// Whether there are as many pictures as there must be.
fn has_all(expected: u64, found: u64, of: &PicturesOf) -> bool {
    if found < expected {
        let (what, folder) = (of.what, of.folder.display());
        errln!("{expected} {what} have a picture, but {folder} has {found}; name it by --pictures");
    }
    found >= expected
}

/// Says how the new servers find the pictures of the moved accounts.
fn pictures_notice(folder: &Path) -> String {
    format!(
        "account pictures stay in {}: set accounts.pictures of every web process to this folder, or to a copy of it",
        folder.join("pictures").display()
    )
}

/// Explains how to serve the accounts that stay in the folder.
fn accounts_notice(folder: &Path) -> String {
    let folder = folder.display();
    format!(
        "accounts stay in {folder}: serve them with `lodge serve --apps accounts --role accounts \
         --data {folder}`, and set accounts.servers, accounts.key_file and accounts.pictures for the new \
         servers (docs/operating.md)"
    )
}

fn verdict(differences: u64) -> String {
    if differences == 0 {
        "verified".to_owned()
    } else {
        format!("NOT VERIFIED: {differences} differences")
    }
}

/// Returns whether there are no differences.
fn report(moved: &Moved, began: Instant) -> bool {
    let Moved { extent, put_before, differences } = moved;
    if *put_before > 0 {
        outln!("{put_before} links were already copied by an earlier run");
    }
    let Differences { shown, count } = differences;
    for difference in shown {
        errln!("{difference}");
    }
    let more = count - shown.len() as u64;
    if more > 0 {
        errln!("… and {more} more");
    }
    outln!(
        "{} links, {} keys, {} clicks, {:.1} s, {}",
        extent.links,
        extent.keys,
        extent.clicks,
        began.elapsed().as_secs_f64(),
        verdict(*count)
    );
    *count == 0
}

/// Includes the causes, which the operator may read but a caller may not.
fn with_cause(error: Error) -> anyhow::Error {
    match error {
        Error::Unavailable { .. } => anyhow!(error.log_text())
            .context("the move was interrupted; run the command again to resume"),
        Error::Internal(_) => anyhow!(error.log_text()).context("the move failed"),
        error => error.into(),
    }
}
