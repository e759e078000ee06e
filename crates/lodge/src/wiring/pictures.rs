//! Wiring of the pictures of accounts and messages, on web processes.

use std::{
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use anyhow::{Context, Result};
use lodge_domain::{
    OsRandom,
    accounts::{
        AccountsClient, Backend, PictureDecoder, PictureKeeper, PictureStore, Pictures,
        WithPictures,
    },
};
use lodge_pictures::{DecoderOptions, DecoderProcess, ObjectPictures, probe_sandbox};

use super::tasks::BackgroundTasks;
use crate::config::Config;

/// The folder of message pictures, in the data folder beside the database that refers to them. It must not be shared
/// with other processes, which cannot tell which pictures are in use.
const OF_MESSAGES: &str = "message-pictures";

/// The picture decoder, the store of account pictures, and background tasks.
#[derive(Clone)]
pub(super) struct PictureParts {
    decoder: Arc<dyn PictureDecoder>,
    store: Arc<dyn PictureStore>,
    tasks: Arc<BackgroundTasks>,
}

/// Opens the picture folder. Background work runs in `tasks`.
pub(super) fn open(config: &Config, tasks: Arc<BackgroundTasks>) -> Result<PictureParts> {
    let store = open_folder(&folder(config))?;
    // The decoder limits its own CPU time; on a busy machine a picture may take as long as its request.
    let deadline = Duration::from_secs(config.http.request_timeout_s);
    let options = DecoderOptions { deadline, ..DecoderOptions::new(this_program()?) };
    let decoder = DecoderProcess::new(options);
    let sandbox = probe_sandbox();
    if !sandbox.is_complete() {
        tracing::warn!("sandbox of the picture decoder: {sandbox}");
    }
    Ok(PictureParts { decoder: Arc::new(decoder), store: Arc::new(store), tasks })
}

/// Checks that the picture folder is writable, if this process stores pictures.
pub(crate) fn probe_pictures(config: &Config) -> Option<Result<String>> {
    let folder = config.serves_accounts().then(|| folder(config))?;
    let said = format!("accounts.pictures: {}", folder.display());
    let probed = ObjectPictures::probe(&folder);
    let probed = probed.with_context(|| format!("{said} is not usable"));
    Some(probed.map(|()| format!("{said} is writable")))
}

fn open_folder(folder: &Path) -> Result<ObjectPictures> {
    ObjectPictures::in_folder(folder)
        .with_context(|| format!("accounts.pictures: {} is not usable", folder.display()))
}

fn folder(config: &Config) -> PathBuf {
    let named = &config.accounts.pictures;
    if named.as_os_str().is_empty() { config.data.join("pictures") } else { named.clone() }
}

/// Returns a path to the running executable. On Linux, `/proc/self/exe` still refers to it after an upgrade has
/// replaced the file.
fn this_program() -> Result<PathBuf> {
    let running = Path::new("/proc/self/exe");
    if running.exists() {
        return Ok(running.to_owned());
    }
    std::env::current_exe().context("cannot find the path of this executable")
}

impl PictureParts {
    /// Wraps a backend so that a replaced picture, or that of a deleted account, is removed.
    pub(super) fn wrap_backend(&self, backend: Arc<dyn Backend>) -> WithPictures {
        WithPictures { backend, store: Arc::clone(&self.store), tasks: self.tasks.clone() }
    }

    /// Builds the picture service of accounts.
    pub(super) fn service(&self, accounts: AccountsClient) -> Pictures {
        let Self { decoder, store, tasks } = self.clone();
        let keeper = PictureKeeper::new(decoder, store, Arc::new(OsRandom), tasks);
        Pictures::new(accounts, keeper)
    }

    /// Builds the keeper of message pictures, which share the decoder with account pictures.
    pub(super) fn message_keeper(&self, config: &Config) -> Result<PictureKeeper> {
        let folder = config.data.join(OF_MESSAGES);
        let store = ObjectPictures::in_folder(&folder);
        let store = store.with_context(|| format!("{} is not usable", folder.display()))?;
        let Self { decoder, tasks, .. } = self.clone();
        Ok(PictureKeeper::new(decoder, Arc::new(store), Arc::new(OsRandom), tasks))
    }
}
