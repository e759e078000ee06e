//! A handshake without a call, for `lodge check`.

use std::time::Duration;

use tokio::time::timeout;

use crate::{client, frame::Broken, hello, key::SharedKey, tls::ClientTls};

/// Why a probe failed.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct NotMet(Broken);

/// Checks that the server at `address` accepts this key and this TLS identity, and proves that it has the key.
pub async fn say_hello(
    address: &str,
    key: &SharedKey,
    tls: Option<&ClientTls>,
    patience: Duration,
) -> Result<(), NotMet> {
    let met = async {
        let (mut incoming, mut outgoing) = client::open(address, tls).await?;
        hello::introduce((&mut incoming, &mut outgoing), key, patience).await.map(drop)
    };
    timeout(patience, met).await.unwrap_or(Err(Broken::Silent)).map_err(NotMet)
}
