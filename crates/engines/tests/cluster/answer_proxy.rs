//! A proxy that can drop a server's answers.

use std::{
    net::SocketAddr,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _, copy},
    net::{
        TcpListener, TcpStream,
        tcp::{OwnedReadHalf, OwnedWriteHalf},
    },
};

/// A TCP proxy that forwards both directions, until it is told to drop the server's answers.
pub(crate) struct AnswerProxy {
    pub(crate) address: SocketAddr,
    is_muffled: Arc<AtomicBool>,
}

impl AnswerProxy {
    pub(crate) async fn before(server: SocketAddr) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let (address, is_muffled) = (listener.local_addr().unwrap(), Arc::<AtomicBool>::default());
        let muffled = Arc::clone(&is_muffled);
        tokio::spawn(async move {
            loop {
                let (client, _) = listener.accept().await.unwrap();
                let server = TcpStream::connect(server).await.unwrap();
                let ((mut asks, answered), (answers, mut asked)) =
                    (client.into_split(), server.into_split());
                tokio::spawn(async move { copy(&mut asks, &mut asked).await });
                tokio::spawn(pass_on(answers, answered, Arc::clone(&muffled)));
            }
        });
        Self { address, is_muffled }
    }

    /// Drops all answers from now on.
    pub(crate) fn drop_answers(&self) {
        self.is_muffled.store(true, Ordering::Release);
    }
}

async fn pass_on(mut from: OwnedReadHalf, mut to: OwnedWriteHalf, is_muffled: Arc<AtomicBool>) {
    let mut bytes = [0; 4_096];
    while let Ok(count @ 1..) = from.read(&mut bytes).await {
        if !is_muffled.load(Ordering::Acquire) && to.write_all(&bytes[..count]).await.is_err() {
            return;
        }
    }
}
