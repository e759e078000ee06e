//! Online backups, and restore.

use std::{
    fs::{self, File},
    io,
    path::{Path, PathBuf},
};

use rusqlite::{Connection, OpenFlags};
use uuid::Uuid;

use crate::{
    folder::{Folder, OpenError, check_format, open_error, private_file, sync_folder},
    origins,
};

/// Why a backup failed.
#[derive(Debug, thiserror::Error)]
pub enum BackupError {
    /// The target file exists.
    #[error("{} already exists; a backup does not overwrite files", path.display())]
    Exists {
        /// The target file.
        path: PathBuf,
    },
    /// The copy cannot be written.
    #[error("cannot write the backup {}", path.display())]
    File {
        /// The target file.
        path: PathBuf,
        /// The cause.
        #[source]
        source: io::Error,
    },
    /// The database cannot be read, or the copy failed its integrity check.
    #[error(transparent)]
    Database(#[from] OpenError),
    /// The thread that made the backup panicked or was cancelled.
    #[error("the backup was aborted")]
    Aborted,
}

/// Copies the open database `file` to `to`; returns the size in bytes.
pub(crate) async fn backup(file: &Path, to: &Path) -> Result<u64, BackupError> {
    let (file, to) = (file.to_owned(), to.to_owned());
    match tokio::task::spawn_blocking(move || copy(&file, &to)).await {
        Ok(copied) => copied,
        Err(_) => Err(BackupError::Aborted),
    }
}

fn copy(file: &Path, to: &Path) -> Result<u64, BackupError> {
    let failed = |source| BackupError::File { path: to.to_owned(), source };
    if to.try_exists().map_err(failed)? {
        return Err(BackupError::Exists { path: to.to_owned() });
    }
    // Two concurrent backups to one target must not share a partial file.
    let partial = with_suffix(to, &format!(".partial-{}", Uuid::now_v7().simple()));
    let copied = vacuum_into(file, &partial).map_err(BackupError::from).and_then(|bytes| {
        // Unlike a rename, a hard link never replaces a file created meanwhile.
        match fs::hard_link(&partial, to) {
            Ok(()) => Ok(bytes),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                Err(BackupError::Exists { path: to.to_owned() })
            }
            Err(_) => fs::rename(&partial, to).map(|()| bytes).map_err(failed),
        }
    });
    remove_if_there(&partial).and_then(|()| sync_folder(folder_of(to))).map_err(failed)?;
    copied
}

/// Writes a verified and synced copy of the database `from` to the file `to`.
fn vacuum_into(from: &Path, to: &Path) -> Result<u64, OpenError> {
    let unwritable = |source| OpenError::File { path: to.to_owned(), source };
    remove_if_there(to).map_err(unwritable)?;
    let file = private_file(to).map_err(unwritable)?;
    {
        let connection = open_to_read(from)?;
        check_format(&connection, from)?;
        let target =
            to.to_str().ok_or_else(|| unwritable(io::Error::other("the path is not UTF-8")))?;
        connection
            .execute("VACUUM INTO ?1", [target])
            .map_err(|source| open_error(from, source))?;
    }
    check_integrity(to)?;
    file.sync_all().map_err(unwritable)?;
    Ok(file.metadata().map_err(unwritable)?.len())
}

/// Replaces the database in `folder`, which no server may have open, by the backup `from`. The former database stays as
/// `lodge.db.before-restore`, with a number if that exists. Returns its path, or `None` if there was no database.
/// Blocks.
pub fn restore(from: &Path, folder: &Path) -> Result<Option<PathBuf>, OpenError> {
    // First, so that a bad backup does not create the folder.
    check_integrity(from)?;
    let folder_lock = Folder::lock(folder)?;
    let database = folder_lock.database();
    let failed = |source| OpenError::File { path: database.clone(), source };
    let restored = with_suffix(&database, ".restoring");
    vacuum_into(from, &restored)?;
    close_origins(&restored)?;
    let kept = if database.try_exists().map_err(failed)? {
        Some(keep(&database).map_err(failed)?)
    } else {
        None
    };
    // The WAL of the replaced database does not belong to the restored one.
    remove_if_there(&with_suffix(&database, "-wal")).map_err(failed)?;
    remove_if_there(&with_suffix(&database, "-shm")).map_err(failed)?;
    fs::rename(&restored, &database).and_then(|()| sync_folder(folder)).map_err(failed)?;
    Ok(kept)
}

/// Closes all board origins: events written after the backup have seqs of these origins, which must not be reused.
fn close_origins(restored: &Path) -> Result<(), OpenError> {
    let failed = |source| open_error(restored, source);
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(restored, flags).map_err(failed)?;
    // A backup of an older version has no board.
    if connection.table_exists(None, "board_origins").map_err(failed)? {
        origins::close_all(&connection).map_err(failed)?;
    }
    Ok(())
}

/// Gives the database, with its WAL, an additional unused name.
fn keep(database: &Path) -> io::Result<PathBuf> {
    // Moves the WAL into the file, if that still works.
    if let Ok(connection) = Connection::open_with_flags(database, OpenFlags::SQLITE_OPEN_READ_WRITE)
    {
        drop(connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(())));
    }
    let names = std::iter::once(String::new()).chain((2..).map(|number| format!("-{number}")));
    for name in names {
        let kept = with_suffix(database, &format!(".before-restore{name}"));
        match fs::hard_link(database, &kept) {
            Ok(()) => {
                let log = with_suffix(database, "-wal");
                if log.try_exists()? {
                    fs::copy(&log, with_suffix(&kept, "-wal"))?;
                }
                return Ok(kept);
            }
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(error),
        }
    }
    Err(io::Error::other("no unused name for the replaced database is left"))
}

fn check_integrity(file: &Path) -> Result<(), OpenError> {
    let connection = open_to_read(file)?;
    check_format(&connection, file)?;
    let report: String = connection
        .query_row("PRAGMA integrity_check(1)", [], |row| row.get(0))
        .map_err(|source| open_error(file, source))?;
    if report == "ok" { Ok(()) } else { Err(OpenError::Damaged { file: file.to_owned(), report }) }
}

fn open_to_read(file: &Path) -> Result<Connection, OpenError> {
    File::open(file).map_err(|source| OpenError::File { path: file.to_owned(), source })?;
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    Connection::open_with_flags(file, flags).map_err(|source| open_error(file, source))
}

fn with_suffix(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    name.into()
}

fn folder_of(path: &Path) -> &Path {
    path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

fn remove_if_there(path: &Path) -> io::Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}
