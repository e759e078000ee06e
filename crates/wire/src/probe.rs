//! One hello, and no call.

use std::time::Duration;

use tokio::{net::TcpStream, time::timeout};

use crate::{
    frame::{self, Broken},
    hello,
    key::SharedKey,
    tls::ClientTls,
};

/// Why a hello came to nothing.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct NotMet(Broken);

/// Whether the server at `address` lets in who has this key and shows this, and proves itself, too.
pub async fn say_hello(
    address: &str,
    key: &SharedKey,
    tls: Option<&ClientTls>,
    patience: Duration,
) -> Result<(), NotMet> {
    let met = timeout(patience, meet(address, key, tls, patience)).await;
    met.unwrap_or(Err(Broken::Silent)).map_err(NotMet)
}

async fn meet(
    address: &str,
    key: &SharedKey,
    tls: Option<&ClientTls>,
    patience: Duration,
) -> Result<(), Broken> {
    let stream = TcpStream::connect(address).await?;
    let (mut incoming, mut outgoing) = match tls {
        None => frame::split(stream),
        Some(tls) => frame::split_tls(tls.connect(address, stream).await?),
    };
    hello::introduce((&mut incoming, &mut outgoing), key, patience).await.map(drop)
}
