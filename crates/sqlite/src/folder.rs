//! The data folder: its lock, files and permissions.

use std::{
    fs::{self, DirBuilder, File, OpenOptions, Permissions, TryLockError},
    io::{self, ErrorKind},
    os::unix::fs::{DirBuilderExt, OpenOptionsExt, PermissionsExt},
    path::{Path, PathBuf},
};

use rusqlite::{Connection, OpenFlags};

use crate::{connection, migrations};

/// The permissions of users who are neither the owner of a folder nor in its group.
const OTHERS: u32 = 0o007;

/// Why a data folder cannot be opened.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// Another process has locked the folder.
    #[error("the data folder {} is in use by another process; stop that process, or use another folder", folder.display())]
    Locked {
        /// The folder.
        folder: PathBuf,
    },
    /// A newer version wrote the database.
    #[error("{} was written by a newer Lodge (its format is {found}, this version reads up to {known}); start the newer version, or restore a backup made before the upgrade", file.display())]
    Newer {
        /// The database.
        file: PathBuf,
        /// The file's version.
        found: u32,
        /// The newest version that this Lodge reads.
        known: u32,
    },
    /// An older version wrote the database, which must be opened read-only.
    #[error("{} was written by an older Lodge (its format is {found}, this version reads {needed}); start this version once on the folder to upgrade it", file.display())]
    Older {
        /// The database.
        file: PathBuf,
        /// The file's version.
        found: u32,
        /// The version required.
        needed: u32,
    },
    /// The file is not a Lodge database.
    #[error("{} is not a Lodge database; nothing in it was changed", file.display())]
    Foreign {
        /// The file.
        file: PathBuf,
    },
    /// The database failed its integrity check.
    #[error("{} is damaged: {report}", file.display())]
    Damaged {
        /// The file.
        file: PathBuf,
        /// The first problem that the check found.
        report: String,
    },
    /// A file has the folder's name.
    #[error("the data folder {} is a file; it must be a folder", path.display())]
    NoFolder {
        /// The file.
        path: PathBuf,
    },
    /// Other users of the machine may list or change the folder.
    #[error("{0} is open to other users of this machine, and holds secrets; run: chmod o= {0}", path.display())]
    Exposed {
        /// The folder.
        path: PathBuf,
    },
    /// The folder or a file in it cannot be created, read or written.
    #[error("cannot use {}", path.display())]
    File {
        /// The folder or file.
        path: PathBuf,
        /// The cause.
        #[source]
        source: io::Error,
    },
    /// The database cannot be opened.
    #[error("cannot open the database {}", file.display())]
    Database {
        /// The file.
        file: PathBuf,
        /// The cause.
        #[source]
        source: rusqlite::Error,
    },
}

/// A locked data folder; dropping it releases the lock.
#[derive(Debug)]
pub struct Folder {
    path: PathBuf,
    _lock: File,
}

impl Folder {
    /// Creates the folder if it does not exist, with mode 0700, and locks it. An empty folder is made inaccessible to
    /// other users.
    ///
    /// # Errors
    ///
    /// When another process has locked the folder, it cannot be created, or other users can list or change it.
    pub fn lock(path: &Path) -> Result<Self, OpenError> {
        DirBuilder::new().recursive(true).mode(0o700).create(path).map_err(
            |source| match source.kind() {
                ErrorKind::AlreadyExists if path.is_file() => {
                    OpenError::NoFolder { path: path.to_owned() }
                }
                _ => OpenError::File { path: path.to_owned(), source },
            },
        )?;
        make_private(path)?;
        let lock_path = path.join("lodge.lock");
        let lock = private_file(&lock_path)
            .map_err(|source| OpenError::File { path: lock_path.clone(), source })?;
        match lock.try_lock() {
            Ok(()) => Ok(Self { path: path.to_owned(), _lock: lock }),
            Err(TryLockError::WouldBlock) => Err(OpenError::Locked { folder: path.to_owned() }),
            Err(TryLockError::Error(source)) => Err(OpenError::File { path: lock_path, source }),
        }
    }

    /// Returns the path of the database.
    pub(crate) fn database(&self) -> PathBuf {
        self.path.join("lodge.db")
    }

    /// Opens the database for the writer; creates it or migrates it to this version if needed.
    pub(crate) fn open_database(
        &self,
        page_cache_bytes: usize,
        wal_kept_bytes: u64,
    ) -> Result<Connection, OpenError> {
        let file = self.database();
        private_file(&file)
            .and_then(|_| sync_folder(&self.path))
            .map_err(|source| OpenError::File { path: file.clone(), source })?;
        let failed = |source| open_error(&file, source);
        let mut connection =
            connection::writer(&file, page_cache_bytes, wal_kept_bytes).map_err(failed)?;
        let things: i64 = connection
            .query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get(0))
            .map_err(failed)?;
        if things > 0 {
            check_format(&connection, &file)?;
        }
        connection
            .pragma_update_and_check(None, "journal_mode", "WAL", |_| Ok(()))
            .map_err(failed)?;
        migrations::run(&mut connection).map_err(failed)?;
        Ok(connection)
    }
}

/// Takes the permissions of other users than its owner and group from an empty folder, and refuses any other folder
/// that has them. Lodge's own files have mode 0600, but backups, exports and keys are put beside them.
fn make_private(path: &Path) -> Result<(), OpenError> {
    let failed = |source| OpenError::File { path: path.to_owned(), source };
    let mode = fs::metadata(path).map_err(failed)?.permissions().mode();
    if mode & OTHERS == 0 {
        return Ok(());
    }
    if fs::read_dir(path).map_err(failed)?.next().is_some() {
        return Err(OpenError::Exposed { path: path.to_owned() });
    }
    fs::set_permissions(path, Permissions::from_mode(mode & !OTHERS)).map_err(failed)
}

/// Returns the version of the database `file`, which is opened read-only.
///
/// # Errors
///
/// As [`check_format`].
pub(crate) fn version(file: &Path) -> Result<u32, OpenError> {
    let connection = Connection::open_with_flags(file, OpenFlags::SQLITE_OPEN_READ_ONLY)
        .map_err(|source| open_error(file, source))?;
    check_format(&connection, file)
}

/// Returns the version of a database; fails if it is not a Lodge database or a newer version wrote it.
pub(crate) fn check_format(connection: &Connection, file: &Path) -> Result<u32, OpenError> {
    let failed = |source| open_error(file, source);
    let application: i32 =
        connection.pragma_query_value(None, "application_id", |row| row.get(0)).map_err(failed)?;
    if application != migrations::APPLICATION_ID {
        return Err(OpenError::Foreign { file: file.to_owned() });
    }
    let found = migrations::version(connection).map_err(failed)?;
    if found > migrations::NEWEST {
        return Err(OpenError::Newer { file: file.to_owned(), found, known: migrations::NEWEST });
    }
    Ok(found)
}

/// Converts an error of `SQLite`: a file that is not a database is foreign.
pub(crate) fn open_error(file: &Path, source: rusqlite::Error) -> OpenError {
    match source.sqlite_error_code() {
        Some(rusqlite::ErrorCode::NotADatabase) => OpenError::Foreign { file: file.to_owned() },
        _ => OpenError::Database { file: file.to_owned(), source },
    }
}

/// Opens or creates a file with mode 0600.
pub(crate) fn private_file(path: &Path) -> io::Result<File> {
    OpenOptions::new().read(true).write(true).create(true).truncate(false).mode(0o600).open(path)
}

/// Syncs a folder, so that the names in it survive a power loss.
pub(crate) fn sync_folder(path: &Path) -> io::Result<()> {
    fs::File::open(path)?.sync_all()
}
