//! Pictures of accounts, where the public is answered.

use std::{path::Path, sync::Arc};

use anyhow::{Context, Result};
use lodge_domain::accounts::{
    AccountsClient, Backend, PictureDecoder, PictureStore, Pictures, WithPictures,
};
use lodge_pictures::{DecoderPool, ObjectPictures};

use crate::config::Config;

/// Pictures that are decoded at once. One takes up to 192 MiB, and a tenth of a second or so; more at once
/// would take more memory, and time from everybody else.
const DECODERS: usize = 1;

/// Pictures that may wait for that; one more is refused.
const QUEUE_MAX: usize = 8;

/// What decodes pictures, and what keeps them.
#[derive(Clone)]
pub(super) struct Parts {
    decoder: Arc<dyn PictureDecoder>,
    store: Arc<dyn PictureStore>,
}

/// Opens the folder, and starts what decodes.
pub(super) fn open(config: &Config) -> Result<Parts> {
    let named = &config.accounts.pictures;
    let within = config.data.join("pictures");
    let folder: &Path = if named.as_os_str().is_empty() { &within } else { named };
    let store = ObjectPictures::in_folder(folder)
        .with_context(|| format!("accounts.pictures: {} cannot be used", folder.display()))?;
    Ok(Parts { decoder: Arc::new(DecoderPool::new(DECODERS, QUEUE_MAX)?), store: Arc::new(store) })
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
