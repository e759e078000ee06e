//! Files that settings name.

use std::{fs, io, path::Path};

use anyhow::{Context, Result, bail};
use lodge_engines::Tls;

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

/// Returns the TLS options if TLS is on. Trusts the certificates in `file`, or the system's if `file` is empty.
pub(super) fn tls(is_wanted: bool, key: &str, file: &Path) -> Result<Option<Tls>> {
    is_wanted
        .then(|| Ok(Tls::trusting(read_setting_file(key, file, fs::read_to_string)?)))
        .transpose()
}

/// Reads a secret from the file in setting `key`, without trailing line ends. Returns `None` if `file` is empty.
pub(super) fn secret_file(key: &str, file: &Path) -> Result<Option<String>> {
    let Some(text) = read_setting_file(key, file, fs::read_to_string)? else { return Ok(None) };
    let secret = text.trim_end_matches(['\r', '\n']);
    if secret.is_empty() {
        bail!("{key}: {} must contain a secret, but is empty", file.display());
    }
    Ok(Some(secret.to_owned()))
}

/// Formats a setting with its servers, for an error message.
pub(super) fn describe_setting(key: &str, servers: &[String]) -> String {
    format!("{key} ({})", servers.join(", "))
}
