//! A look at a data folder that changes nothing in it.

use std::{
    fs::{File, TryLockError},
    path::Path,
};

use crate::{
    folder::{self, OpenError},
    migrations,
};

/// What was found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Inspected {
    /// No database yet; opening makes one.
    Empty,
    /// A server runs on it.
    InUse,
    /// A database that this Lodge can open.
    Usable {
        /// Its version.
        version: u32,
        /// The version that opening it brings it to.
        newest: u32,
    },
}

/// Looks at `folder` without making, locking for longer than the look, or changing anything.
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
        return Ok(Inspected::Empty);
    }
    Ok(Inspected::Usable { version: folder::version(&file)?, newest: migrations::NEWEST })
}
