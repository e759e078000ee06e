//! A handshake without a call, for `lodge check`.

use std::time::Duration;

use tokio::time::timeout;

use crate::{client, frame::ConnectionError, handshake, key::SharedKey, tls::ClientTls};

/// Why a probe failed.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct ProbeError(ConnectionError);

/// Checks that the server at `address` accepts this key and this TLS identity, and proves that it has the key.
pub async fn probe(
    address: &str,
    key: &SharedKey,
    tls: Option<&ClientTls>,
    patience: Duration,
) -> Result<(), ProbeError> {
    let met = async {
        let (mut incoming, mut outgoing) = client::open(address, tls).await?;
        handshake::connect((&mut incoming, &mut outgoing), key, patience).await.map(drop)
    };
    timeout(patience, met).await.unwrap_or(Err(ConnectionError::ReadTimeout)).map_err(ProbeError)
}
