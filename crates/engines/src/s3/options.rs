//! How to reach a bucket.

use secrecy::SecretString;

use crate::Tls;

/// How to reach a bucket.
#[derive(Debug, Clone)]
pub struct Options {
    /// The server's URL, before the name of the bucket; empty: Amazon's of the region.
    pub endpoint: String,
    /// The region, which is part of each signature.
    pub region: String,
    /// The bucket, which must exist.
    pub bucket: String,
    /// The beginning of the names of all objects, without a slash at its end.
    pub prefix: String,
    /// The id of the access key.
    pub access_key_id: String,
    /// The secret of the access key.
    pub secret_access_key: SecretString,
    /// The trusted authorities, if the endpoint is an https URL.
    pub tls: Option<Tls>,
}
