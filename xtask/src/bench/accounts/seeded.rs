//! The folder that is measured on: made once, and kept.

use std::{fs, path::PathBuf};

use anyhow::{Context, Result};

use super::AccountsOptions;
use crate::{
    bench::lodge::{Lodge, binary},
    process,
};

/// What was said of the folder when it was made, its size among it.
const SAID: &str = "said.txt";

/// The folder of this size, with the data folder `data` and the sessions' tokens in `tokens`; made if it is not
/// there. What was broken off is made anew. Remove `target/bench` after some weeks: sessions last 30 days.
pub(super) fn folder(options: &AccountsOptions) -> Result<PathBuf> {
    let name = format!("accounts-{}-{}", options.users, options.sessions);
    let folder = process::root().join("target/bench").join(name);
    let note = folder.join(SAID);
    if note.exists() {
        return Ok(folder);
    }
    if folder.exists() {
        fs::remove_dir_all(&folder)?;
    }
    fs::create_dir_all(&folder)?;
    println!("making {} accounts in {}", options.users, folder.display());
    let said = Lodge::of(&binary(), folder.clone()).seed(options.users, options.sessions)?;
    fs::write(&note, said).with_context(|| format!("{} cannot be written", note.display()))?;
    Ok(folder)
}

/// Bytes on disk, as they were when the folder was made.
pub(super) fn size(options: &AccountsOptions) -> Result<()> {
    let said = fs::read_to_string(folder(options)?.join(SAID))?;
    println!("the folder, when it was made (a seed's estimate: 220 bytes for each account):");
    print!("{said}");
    Ok(())
}
