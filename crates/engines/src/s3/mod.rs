//! Objects in a bucket of S3, or of a server that speaks its protocol.

mod http;
mod options;

use std::{sync::Arc, time::Duration};

use bytes::Bytes;
use futures_util::{FutureExt as _, TryFutureExt as _, TryStreamExt as _, future::BoxFuture};
use lodge_domain::{Error, Result};
use object_store::{
    BackoffConfig, ObjectStore, ObjectStoreExt as _, RetryConfig, aws::AmazonS3Builder, path::Path,
    prefix::PrefixStore,
};
use secrecy::ExposeSecret as _;
use uuid::Uuid;

use self::http::S3HttpClient;
pub use self::options::Options;

/// Retries of a request that could not be sent or got a 5xx, and, except for removals, one without a response.
const RETRIES_MAX: usize = 2;

/// The time after which a failed request is not retried.
const RETRY_TIMEOUT: Duration = Duration::from_secs(4);

/// The name of the object that a check writes and removes.
const PROBE: &str = "probe";

/// A bucket, below a prefix. Clones share its connections.
#[derive(Clone)]
pub struct Bucket(Arc<dyn ObjectStore>);

impl Bucket {
    /// Opens a bucket without contacting it. Requests have timeouts and are repeated a bounded number of times.
    ///
    /// # Errors
    ///
    /// [`Error::Internal`] if the options name no valid URL, [`Error::Unavailable`] if the authorities cannot be read.
    pub fn open(options: &Options) -> Result<Self> {
        let backoff = BackoffConfig {
            init_backoff: Duration::from_millis(50),
            max_backoff: Duration::from_millis(500),
            base: 2.0,
        };
        let retries =
            RetryConfig { backoff, max_retries: RETRIES_MAX, retry_timeout: RETRY_TIMEOUT };
        let mut bucket = AmazonS3Builder::new()
            .with_region(&options.region)
            .with_bucket_name(&options.bucket)
            .with_access_key_id(&options.access_key_id)
            .with_secret_access_key(options.secret_access_key.expose_secret())
            .with_retry(retries)
            // Not all servers have it, and a failed one is not retried.
            .with_disable_bulk_delete(true)
            .with_http_connector(S3HttpClient::new(options.tls.as_ref())?);
        if !options.endpoint.is_empty() {
            bucket = bucket.with_endpoint(&options.endpoint);
        }
        let bucket = bucket.build().map_err(Error::internal)?;
        Ok(Self(Arc::new(PrefixStore::new(bucket, options.prefix.as_str()))))
    }

    /// Returns the objects whose names begin with the prefix of the bucket and this folder.
    pub fn folder(&self, name: &str) -> Arc<dyn ObjectStore> {
        Arc::new(PrefixStore::new(Arc::clone(&self.0), name))
    }

    /// Checks that objects can be written, read, listed and removed; leaves none behind.
    ///
    /// # Errors
    ///
    /// [`Error::Unavailable`] with the cause.
    pub fn probe(&self) -> BoxFuture<'_, Result<()>> {
        let folder = self.folder(PROBE);
        let object = Path::from(Uuid::new_v4().to_string());
        let probe = async move {
            folder.put(&object, Bytes::from_static(b"can this be written?").into()).await?;
            folder.get(&object).await?.bytes().await?;
            folder.list(None).try_next().await?;
            folder.delete(&object).await
        };
        probe.map_err(Error::unavailable).boxed()
    }
}
