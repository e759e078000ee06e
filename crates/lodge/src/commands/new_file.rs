//! Files that a command creates.

use std::{
    fs::{self, File, OpenOptions},
    io,
    os::unix::fs::OpenOptionsExt,
    path::{Path, PathBuf},
};

use anyhow::{Context, Result, bail};
use uuid::Uuid;

/// Creates `file` with these permissions and what `write` writes: to a temporary file with a unique name in the same
/// folder, which is synced to disk and moved to `file` when it is complete. `command` is named if the file exists.
pub(super) fn create<T>(
    command: &str,
    file: &Path,
    permissions: u32,
    write: impl FnOnce(&File) -> Result<T>,
) -> Result<T> {
    if file.try_exists().with_context(|| format!("cannot write {}", file.display()))? {
        bail!(already_exists(command, file));
    }
    let mut unfinished = file.as_os_str().to_owned();
    unfinished.push(format!(".unfinished-{}", Uuid::now_v7().simple()));
    let unfinished = PathBuf::from(unfinished);
    let mut options = OpenOptions::new();
    let created = options.write(true).create_new(true).mode(permissions).open(&unfinished);
    let created = created.with_context(|| format!("cannot write {}", file.display()))?;
    let written = write(&created).and_then(|written| {
        created.sync_all().with_context(|| format!("cannot write {}", file.display()))?;
        move_into_place(command, &unfinished, file).map(|()| written)
    });
    // The first error is reported, not a failure to remove the temporary file.
    written.inspect_err(|_| drop(fs::remove_file(&unfinished)))
}

fn already_exists(command: &str, file: &Path) -> String {
    format!("{} already exists; {command} does not overwrite files", file.display())
}

/// Gives the file its final name. A hard link, unlike a rename, never replaces a file that was created in the
/// meantime. A file system without hard links falls back to a rename.
fn move_into_place(command: &str, unfinished: &Path, file: &Path) -> Result<()> {
    let put = match fs::hard_link(unfinished, file) {
        Ok(()) => fs::remove_file(unfinished),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
            bail!(already_exists(command, file))
        }
        Err(_) => fs::rename(unfinished, file),
    };
    put.with_context(|| format!("cannot move {} to {}", unfinished.display(), file.display()))
}
