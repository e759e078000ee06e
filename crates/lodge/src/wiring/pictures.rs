//! Pictures of accounts, where the public is answered.

use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

use anyhow::{Context, Result};
use lodge_domain::accounts::{
    AccountsClient, Backend, PictureDecoder, PictureStore, Pictures, WithPictures,
};
use lodge_pictures::{DecoderOptions, DecoderProcess, ObjectPictures};

use crate::config::Config;

/// What decodes pictures, and what keeps them.
#[derive(Clone)]
pub(super) struct Parts {
    decoder: Arc<dyn PictureDecoder>,
    store: Arc<dyn PictureStore>,
}

/// Opens the folder.
pub(super) fn open(config: &Config) -> Result<Parts> {
    let named = &config.accounts.pictures;
    let within = config.data.join("pictures");
    let folder: &Path = if named.as_os_str().is_empty() { &within } else { named };
    let store = ObjectPictures::in_folder(folder)
        .with_context(|| format!("accounts.pictures: {} cannot be used", folder.display()))?;
    let decoder = DecoderProcess::new(DecoderOptions::new(this_program()?));
    Ok(Parts { decoder: Arc::new(decoder), store: Arc::new(store) })
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
    /// Puts them beside the accounts.
    pub(super) fn beside(&self, backend: Arc<dyn Backend>) -> Arc<dyn Backend> {
        Arc::new(WithPictures { backend, store: Arc::clone(&self.store) })
    }

    /// The service over them.
    pub(super) fn service(&self, accounts: AccountsClient) -> Pictures {
        let Self { decoder, store } = self.clone();
        Pictures { accounts, decoder, store }
    }
}
