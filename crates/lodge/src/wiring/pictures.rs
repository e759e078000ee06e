//! Wiring of the pictures of accounts and messages, on web processes.

use std::{
    io,
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use anyhow::{Context, Result, ensure};
use lodge_domain::{
    OsRandom,
    accounts::{
        AccountsClient, Backend, PictureDecoder, PictureKeeper, PictureStore, Pictures,
        WithPictures,
    },
};
use lodge_engines::s3::{Bucket, Options};
use lodge_pictures::{DecoderOptions, DecoderProcess, ObjectPictures, PicturesMove, probe_sandbox};

use super::{
    engine::with_causes,
    setting_file::{secret_file, tls},
    tasks::BackgroundTasks,
};
use crate::config::{Config, S3Config, stores::PictureStorage};

/// The folder of message pictures, in the data folder beside the database that refers to them. It must not be shared
/// with other processes, which cannot tell which pictures are in use.
const OF_MESSAGES: &str = "message-pictures";

/// The folder of account pictures in the data folder, unless the configuration names another.
const OF_ACCOUNTS_IN_DATA: &str = "pictures";

/// The folder of account pictures in a bucket.
const OF_ACCOUNTS: &str = "accounts";

/// The picture decoder, the store of account pictures, and background tasks.
#[derive(Clone)]
pub(super) struct PictureParts {
    decoder: Arc<dyn PictureDecoder>,
    store: Arc<dyn PictureStore>,
    /// `None` if pictures are files.
    bucket: Option<Bucket>,
    tasks: Arc<BackgroundTasks>,
}

/// Opens the store of account pictures. Background work runs in `tasks`.
pub(super) fn open(config: &Config, tasks: Arc<BackgroundTasks>) -> Result<PictureParts> {
    let bucket = bucket(config)?;
    let store = match &bucket {
        Some(bucket) => ObjectPictures::new(bucket.folder(OF_ACCOUNTS)),
        None => open_folder(&folder(config))?,
    };
    // The decoder limits its own CPU time; on a busy machine a picture may take as long as its request.
    let deadline = Duration::from_secs(config.http.request_timeout_s);
    let options = DecoderOptions { deadline, ..DecoderOptions::new(this_program()?) };
    let decoder = DecoderProcess::new(options);
    let sandbox = probe_sandbox();
    if !sandbox.is_complete() {
        tracing::warn!("sandbox of the picture decoder: {sandbox}");
    }
    Ok(PictureParts { decoder: Arc::new(decoder), store: Arc::new(store), bucket, tasks })
}

/// Checks that pictures can be stored, if this process stores some.
pub(crate) async fn probe_pictures(config: &Config) -> Option<Result<String>> {
    if !config.serves_accounts() {
        return None;
    }
    match bucket(config) {
        Ok(Some(bucket)) => Some(probe_bucket(&config.s3, &bucket).await),
        Ok(None) => Some(probe_folder(config)),
        Err(error) => Some(Err(error)),
    }
}

async fn probe_bucket(config: &S3Config, bucket: &Bucket) -> Result<String> {
    let said = format!("pictures: the bucket {}", config.bucket);
    let probed = bucket.probe().await.map_err(|error| with_causes("S3", error));
    probed.with_context(|| format!("{said} is not usable"))?;
    Ok(format!("{said} is writable"))
}

fn probe_folder(config: &Config) -> Result<String> {
    let folder = folder(config);
    let said = format!("accounts.pictures: {}", folder.display());
    let probed = ObjectPictures::probe(&folder);
    probed.with_context(|| format!("{said} is not usable"))?;
    Ok(format!("{said} is writable"))
}

/// Returns the bucket, if pictures are in one.
fn bucket(config: &Config) -> Result<Option<Bucket>> {
    if config.pictures.store == PictureStorage::Files {
        return Ok(None);
    }
    let s3 = &config.s3;
    let secret = secret_file("s3.secret_access_key_file", &s3.secret_access_key_file)?;
    let options = Options {
        endpoint: s3.endpoint.clone(),
        region: s3.region.clone(),
        bucket: s3.bucket.clone(),
        prefix: s3.prefix.clone(),
        access_key_id: s3.access_key_id.clone(),
        secret_access_key: secret.unwrap_or_default().into(),
        tls: tls(s3.has_tls(), "s3.ca_file", &s3.ca_file)?,
    };
    let opened = Bucket::open(&options).map_err(|error| with_causes("S3", error));
    opened.context("the settings in [s3] are not usable").map(Some)
}

/// Returns the folder of message pictures in a bucket: boards that share it do not know each other's pictures.
fn folder_of_messages(board: [u8; 32]) -> String {
    let id = board.iter().take(16).fold(String::new(), |id, byte| format!("{id}{byte:02x}"));
    format!("messages-{id}")
}

/// A move of pictures to the bucket.
pub(crate) struct PicturesOf {
    /// What they are pictures of.
    pub(crate) what: &'static str,
    /// Where they are.
    pub(crate) folder: PathBuf,
    /// `None` without such a folder.
    pub(crate) pictures: Option<PicturesMove>,
    /// How many there are at least.
    pub(crate) expected: u64,
}

/// Opens the moves of the pictures of a data folder to the bucket, if pictures are in one. Those of accounts, at least
/// so many as are `expected`, are in `of_accounts` if they are not in the data folder; `board` is the id of its database.
pub(super) fn moves(
    config: &Config,
    from: &Path,
    of_accounts: Option<&Path>,
    expected: u64,
    board: [u8; 32],
) -> Result<Vec<PicturesOf>> {
    let Some(bucket) = bucket(config)? else { return Ok(Vec::new()) };
    let folder = of_accounts.map_or_else(|| from.join(OF_ACCOUNTS_IN_DATA), Path::to_owned);
    let opened = PicturesMove::open(&folder, bucket.folder(OF_ACCOUNTS));
    let accounts = moving("accounts", folder, opened, expected)?;
    ensure!(
        of_accounts.is_none() || accounts.pictures.is_some(),
        "--pictures {}: there is no such folder",
        accounts.folder.display()
    );
    let folder = from.join(OF_MESSAGES);
    let opened = PicturesMove::open(&folder, bucket.folder(&folder_of_messages(board)));
    Ok(vec![accounts, moving("messages", folder, opened, 0)?])
}

fn moving(
    what: &'static str,
    folder: PathBuf,
    opened: io::Result<Option<PicturesMove>>,
    expected: u64,
) -> Result<PicturesOf> {
    let pictures = opened.with_context(|| format!("cannot read {}", folder.display()))?;
    Ok(PicturesOf { what, folder, pictures, expected })
}

fn open_folder(folder: &Path) -> Result<ObjectPictures> {
    ObjectPictures::in_folder(folder)
        .with_context(|| format!("accounts.pictures: {} is not usable", folder.display()))
}

fn folder(config: &Config) -> PathBuf {
    let named = &config.accounts.pictures;
    if named.as_os_str().is_empty() { config.data.join(OF_ACCOUNTS_IN_DATA) } else { named.clone() }
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
        let Self { decoder, store, tasks, .. } = self.clone();
        let keeper = PictureKeeper::new(decoder, store, Arc::new(OsRandom), tasks);
        Pictures::new(accounts, keeper)
    }

    /// Builds the keeper of message pictures, which share the decoder with account pictures.
    /// `board` is the id of its database.
    pub(super) fn message_keeper(&self, config: &Config, board: [u8; 32]) -> Result<PictureKeeper> {
        let Self { decoder, bucket, tasks, .. } = self.clone();
        let store = if let Some(bucket) = bucket {
            let folder = folder_of_messages(board);
            tracing::info!(folder, "pictures of messages are in a folder of the bucket");
            ObjectPictures::new(bucket.folder(&folder))
        } else {
            let folder = config.data.join(OF_MESSAGES);
            let store = ObjectPictures::in_folder(&folder);
            store.with_context(|| format!("{} is not usable", folder.display()))?
        };
        Ok(PictureKeeper::new(decoder, Arc::new(store), Arc::new(OsRandom), tasks))
    }
}
