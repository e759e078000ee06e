//! Pictures of accounts, where the public is answered.

use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

use anyhow::{Context, Result};
use lodge_domain::{
    OsRandom,
    accounts::{AccountsClient, Backend, PictureDecoder, PictureStore, Pictures, WithPictures},
};
use lodge_pictures::{DecoderOptions, DecoderProcess, ObjectPictures};

use super::tasks::Tracked;
use crate::config::Config;

/// What decodes pictures, what keeps them, and what goes on with them.
#[derive(Clone)]
pub(super) struct Parts {
    decoder: Arc<dyn PictureDecoder>,
    store: Arc<dyn PictureStore>,
    tasks: Arc<Tracked>,
}

/// Opens the folder; what goes on does so among `tasks`.
pub(super) fn open(config: &Config, tasks: Arc<Tracked>) -> Result<Parts> {
    let store = open_folder(&folder(config))?;
    let decoder = DecoderProcess::new(DecoderOptions::new(this_program()?));
    Ok(Parts { decoder: Arc::new(decoder), store: Arc::new(store), tasks })
}

/// Whether pictures can be kept, where this process keeps them; what there is to say about it.
pub(crate) fn probe_pictures(config: &Config) -> Option<Result<String>> {
    let folder = config.answers_for_accounts().then(|| folder(config))?;
    let said = format!("accounts.pictures: {}", folder.display());
    let probed = ObjectPictures::probe(&folder);
    let probed = probed.with_context(|| format!("{said} cannot be used"));
    Some(probed.map(|()| format!("{said} can be written")))
}

fn open_folder(folder: &Path) -> Result<ObjectPictures> {
    ObjectPictures::in_folder(folder)
        .with_context(|| format!("accounts.pictures: {} cannot be used", folder.display()))
}

fn folder(config: &Config) -> PathBuf {
    let named = &config.accounts.pictures;
    if named.as_os_str().is_empty() { config.data.join("pictures") } else { named.clone() }
}

/// The program that runs, also when another one has been put in its place since: on Linux by what it is,
/// not by its name.
fn this_program() -> Result<PathBuf> {
    let running = Path::new("/proc/self/exe");
    if running.exists() {
        return Ok(running.to_owned());
    }
    std::env::current_exe().context("where this program is cannot be found out")
}

impl Parts {
    /// The accounts, with their pictures beside them.
    pub(super) fn with(&self, backend: Arc<dyn Backend>) -> WithPictures {
        WithPictures { backend, store: Arc::clone(&self.store), tasks: self.tasks.clone() }
    }

    /// The service over them.
    pub(super) fn service(&self, accounts: AccountsClient) -> Pictures {
        let Self { decoder, store, tasks } = self.clone();
        Pictures { accounts, decoder, store, random: Arc::new(OsRandom), tasks }
    }
}
