//! Reloads on SIGHUP.

use std::{path::PathBuf, sync::Arc};

use tokio::signal::unix::Signal;
use tokio_util::sync::CancellationToken;

use crate::wiring::{self, Services};

/// Reloads the blocklist on each signal.
pub(super) async fn blocklist(
    mut hangups: Signal,
    file: PathBuf,
    services: Arc<Services>,
    stop: CancellationToken,
) {
    while let Some(Some(())) = stop.run_until_cancelled(hangups.recv()).await {
        let (blocklist, file) = (Arc::clone(services.links.blocklist()), file.clone());
        // A blocklist may have a million hosts.
        let read = tokio::task::spawn_blocking(move || wiring::reload_blocklist(&blocklist, &file));
        if let Ok(Err(error)) = read.await {
            tracing::error!(error = format!("{error:#}"), "the previous blocklist stays in use");
        }
    }
}
