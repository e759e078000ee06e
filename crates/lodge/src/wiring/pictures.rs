//! Pictures of accounts and of messages, where the public is answered.

use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

use anyhow::{Context, Result};
use lodge_domain::{
    OsRandom,
    accounts::{
        AccountsClient, Backend, PictureDecoder, PictureKeeper, PictureStore, Pictures,
        WithPictures,
    },
};
use lodge_pictures::{DecoderOptions, DecoderProcess, ObjectPictures};

use super::tasks::Tracked;
use crate::config::Config;

/// Pictures that messages of the board have are kept beside the database that names them, and in no folder that other
/// processes share: nobody else could say which of them are in messages.
const OF_MESSAGES: &str = "message-pictures";

/// What decodes pictures, what keeps those of accounts, and what goes on with them.
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
        let keeper = PictureKeeper::new(decoder, store, Arc::new(OsRandom), tasks);
        Pictures::new(accounts, keeper)
    }

    /// The same for the pictures of messages, which wait for their turn to be decoded among the others.
    pub(super) fn of_messages(&self, config: &Config) -> Result<PictureKeeper> {
        let folder = config.data.join(OF_MESSAGES);
        let store = ObjectPictures::in_folder(&folder);
        let store = store.with_context(|| format!("{} cannot be used", folder.display()))?;
        let Self { decoder, tasks, .. } = self.clone();
        Ok(PictureKeeper::new(decoder, Arc::new(store), Arc::new(OsRandom), tasks))
    }
}
