//! Files that settings name.

use std::{io, path::Path};

use anyhow::{Context, Result};

/// Reads the file in setting `key`. Returns `None` if the setting is empty.
pub(super) fn read_setting_file<'a, T>(
    key: &str,
    file: &'a Path,
    read: impl FnOnce(&'a Path) -> io::Result<T>,
) -> Result<Option<T>> {
    if file.as_os_str().is_empty() {
        return Ok(None);
    }
    read(file).with_context(|| format!("{key}: cannot read {}", file.display())).map(Some)
}
