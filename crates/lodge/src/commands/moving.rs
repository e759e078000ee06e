//! `lodge move`.

use std::{
    path::{Path, PathBuf},
    process::ExitCode,
    time::Instant,
};

use anyhow::{Context, Result, anyhow, ensure};
use clap::Args;
use lodge_domain::{
    Clock, Error, SystemClock,
    links::moving::{Differences, Moved, Phase, Progress},
};

use super::progress::progress_bar;
use crate::{
    commands::out::{errln, outln},
    config::{
        options::ConfigOptions,
        sources::{self, BadConfig},
        stores::LinkStore,
    },
    wiring,
};

/// `lodge move`.
#[derive(Debug, Args)]
pub(crate) struct MoveOptions {
    /// The data folder to move. It is locked during the move and not changed.
    #[arg(long, value_name = "FOLDER")]
    from: PathBuf,
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
    check_store(config.links.store).context(BadConfig)?;
    let began = Instant::now();
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
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
    let moved = runtime.block_on(async {
        let (moving, accounts) = wiring::moving(&config, &options.from).await?;
        let moved = moving.run(SystemClock.now(), &watch).await.map_err(with_cause)?;
        anyhow::Ok((moved, accounts))
    });
    bar.finish_and_clear();
    let (moved, accounts) = moved?;
    let code = report(&moved, began);
    if accounts {
        outln!("{}", accounts_notice(&options.from));
    }
    Ok(code)
}

/// Explains how to serve the accounts, which only the embedded engine can store.
fn accounts_notice(folder: &Path) -> String {
    let folder = folder.display();
    format!(
        "accounts stay in {folder}: serve them with `lodge serve --apps accounts --role accounts \
         --data {folder}`, and set accounts.servers, accounts.key_file and accounts.pictures for the new \
         servers (docs/operating.md)"
    )
}

fn check_store(store: LinkStore) -> Result<()> {
    ensure!(
        store == LinkStore::Cassandra,
        "links.store must be \"cassandra\": the configuration must describe the destination of the move"
    );
    Ok(())
}

fn report(moved: &Moved, began: Instant) -> ExitCode {
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
    let verdict = if *count == 0 {
        "verified".to_owned()
    } else {
        format!("NOT VERIFIED: {count} differences")
    };
    outln!(
        "{} links, {} keys, {} clicks, {:.1} s, {verdict}",
        extent.links,
        extent.keys,
        extent.clicks,
        began.elapsed().as_secs_f64()
    );
    if *count == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// Includes the cause, which the operator may read but a caller may not.
fn with_cause(error: Error) -> anyhow::Error {
    match error {
        Error::Unavailable { cause, .. } => {
            anyhow!(cause).context("the move was interrupted; run the command again to resume")
        }
        Error::Internal(cause) => anyhow!(cause).context("the move failed"),
        error => error.into(),
    }
}
