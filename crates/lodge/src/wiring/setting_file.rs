//! Files that settings name.

use std::{io, path::Path};

use anyhow::{Context, Result};

use crate::config::sources::BadConfig;

/// Reads the file in setting `key`. Returns `None` if the setting is empty; a file that cannot be
/// read is an invalid configuration.
pub(super) fn read_setting_file<'a, T>(
    key: &str,
    file: &'a Path,
    read: impl FnOnce(&'a Path) -> io::Result<T>,
) -> Result<Option<T>> {
    if file.as_os_str().is_empty() {
        return Ok(None);
    }
    read(file)
        .with_context(|| format!("{key}: cannot read {}", file.display()))
        .context(BadConfig)
        .map(Some)
}
