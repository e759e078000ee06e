//! Pictures of accounts, where the public is answered.

use std::{
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use anyhow::{Context, Result};
use futures_util::future::BoxFuture;
use lodge_domain::{
    OsRandom,
    accounts::{
        AccountsClient, Backend, PictureDecoder, PictureStore, Pictures, Tasks, WithPictures,
    },
};
use lodge_pictures::{DecoderOptions, DecoderProcess, ObjectPictures};
use tokio::{runtime::Handle, time::timeout};
use tokio_util::task::TaskTracker;

use crate::config::Config;

/// How long what was begun may take to come to its end when the server stops.
const LAST_TASKS: Duration = Duration::from_secs(10);

/// What decodes pictures, what keeps them, and what goes on with them.
#[derive(Clone)]
pub(super) struct Parts {
    decoder: Arc<dyn PictureDecoder>,
    store: Arc<dyn PictureStore>,
    tasks: Arc<Tracked>,
}

/// Opens the folder, in the runtime that what goes on runs in.
pub(super) fn open(config: &Config) -> Result<Parts> {
    let store = open_folder(&folder(config))?;
    let decoder = DecoderProcess::new(DecoderOptions::new(this_program()?));
    let tasks = Tracked { tracker: TaskTracker::new(), runtime: Handle::current() };
    Ok(Parts { decoder: Arc::new(decoder), store: Arc::new(store), tasks: Arc::new(tasks) })
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
        WithPictures { backend, store: Arc::clone(&self.store), tasks: self.tasks() }
    }

    /// The service over them.
    pub(super) fn service(&self, accounts: AccountsClient) -> Pictures {
        let Self { decoder, store, .. } = self.clone();
        Pictures { accounts, decoder, store, random: Arc::new(OsRandom), tasks: self.tasks() }
    }

    /// Waits for what was begun, when nothing begins any more.
    pub(super) async fn finish(&self) {
        self.tasks.tracker.close();
        if timeout(LAST_TASKS, self.tasks.tracker.wait()).await.is_err() {
            tracing::warn!("what was begun with pictures has not come to its end in time");
        }
    }

    fn tasks(&self) -> Arc<dyn Tasks> {
        Arc::clone(&self.tasks) as Arc<dyn Tasks>
    }
}

/// Tasks for which the process waits before it ends. They run beside the connections' lanes, which end
/// before.
struct Tracked {
    tracker: TaskTracker,
    runtime: Handle,
}

impl Tasks for Tracked {
    fn spawn(&self, task: BoxFuture<'static, ()>) {
        self.tracker.spawn_on(task, &self.runtime);
    }
}
