//! Writing secret files; copying and removing folders.

use std::{
    fs,
    io::{ErrorKind, Write as _},
    os::unix::fs::OpenOptionsExt as _,
    path::Path,
    process::Command,
};

use anyhow::{Context as _, Result};

use crate::process::run;

/// Writes a file with mode 0600.
pub(crate) fn write_secret(file: &Path, text: &str) -> Result<()> {
    let mut options = fs::File::options();
    let mut file = options.create(true).write(true).truncate(true).mode(0o600).open(file)?;
    Ok(file.write_all(text.as_bytes())?)
}

/// Copies the contents of a folder into another folder.
pub(crate) fn copy(from: &Path, to: &Path) -> Result<()> {
    run(Command::new("cp").arg("-rT").arg(from).arg(to))
}

/// Removes a folder if it exists.
pub(crate) fn remove(folder: &Path) -> Result<()> {
    match fs::remove_dir_all(folder) {
        Err(error) if error.kind() != ErrorKind::NotFound => {
            Err(error).with_context(|| format!("cannot remove {}", folder.display()))
        }
        _ => Ok(()),
    }
}
