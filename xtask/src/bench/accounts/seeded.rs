//! The folder that is measured on: made once, and kept.

use std::{fs, path::PathBuf};

use anyhow::{Context, Result};

use super::AccountsOptions;
use crate::{bench::servers, process};

/// A data folder, and the tokens of its sessions.
pub(super) struct Seeded {
    pub(super) data: PathBuf,
    pub(super) tokens: PathBuf,
    /// What was said when it was made, its size among it.
    pub(super) said: String,
}

/// The folder of this size; made if it is not there. What was broken off is made anew. Remove
/// `target/bench` after some weeks: sessions last 30 days.
pub(super) fn folder(options: &AccountsOptions) -> Result<Seeded> {
    let name = format!("accounts-{}-{}", options.users, options.sessions);
    let folder = process::root().join("target/bench").join(name);
    let (data, tokens) = (folder.join("data"), folder.join("tokens"));
    let note = folder.join("said.txt");
    if let Ok(said) = fs::read_to_string(&note) {
        return Ok(Seeded { data, tokens, said });
    }
    if folder.exists() {
        fs::remove_dir_all(&folder)?;
    }
    fs::create_dir_all(&folder)?;
    println!("making {} accounts in {}", options.users, folder.display());
    let said = process::output(
        &servers::lodge_binary().display().to_string(),
        &[
            "load",
            "accounts-seed",
            "--users",
            &options.users.to_string(),
            "--sessions",
            &options.sessions.to_string(),
            "--tokens",
            &tokens.display().to_string(),
            "--data",
            &data.display().to_string(),
        ],
    )?;
    fs::write(&note, &said).with_context(|| format!("{} cannot be written", note.display()))?;
    Ok(Seeded { data, tokens, said })
}

/// Bytes on disk, as they were when the folder was made.
pub(super) fn size(options: &AccountsOptions) -> Result<()> {
    let seeded = folder(options)?;
    println!("the folder, when it was made (a seed's estimate: 220 bytes for each account):");
    print!("{}", seeded.said);
    Ok(())
}
