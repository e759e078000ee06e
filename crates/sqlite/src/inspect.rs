//! Inspects a data folder without changing it.

use std::{
    fs::{File, TryLockError},
    path::Path,
};

use crate::{
    folder::{self, OpenError},
    migrations,
};

/// The state of a data folder.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Inspected {
    /// It does not exist or has no database; opening creates one.
    NoDatabase,
    /// A server has it open.
    InUse,
    /// It has a database that this version can open.
    Usable {
        /// The database's version.
        version: u32,
        /// The version to which opening migrates it.
        newest: u32,
    },
}

/// Inspects `folder`. Creates and changes nothing, and locks the folder only for the inspection.
pub fn inspect(folder: &Path) -> Result<Inspected, OpenError> {
    if let Ok(lock) = File::open(folder.join("lodge.lock"))
        && let Err(TryLockError::WouldBlock) = lock.try_lock()
    {
        return Ok(Inspected::InUse);
    }
    if folder.exists() && !folder.is_dir() {
        let source = std::io::Error::from(std::io::ErrorKind::NotADirectory);
        return Err(OpenError::File { path: folder.to_owned(), source });
    }
    let file = folder.join("lodge.db");
    if !file.exists() {
        return Ok(Inspected::NoDatabase);
    }
    Ok(Inspected::Usable { version: folder::version(&file)?, newest: migrations::NEWEST })
}
