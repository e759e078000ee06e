//! A proxy that can drop a server's answers.

use std::{
    net::SocketAddr,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

use parking_lot::Mutex;
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
    faults: Arc<Faults>,
}

#[derive(Default)]
struct Faults {
    drops_all: AtomicBool,
    /// The first answer that contains these bytes is dropped, and its connection closed.
    lost: Mutex<Option<Vec<u8>>>,
}

impl AnswerProxy {
    pub(crate) async fn before(server: SocketAddr) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let (address, faults) = (listener.local_addr().unwrap(), Arc::<Faults>::default());
        let injected = Arc::clone(&faults);
        tokio::spawn(async move {
            loop {
                let (client, _) = listener.accept().await.unwrap();
                let server = TcpStream::connect(server).await.unwrap();
                let ((mut asks, answered), (answers, mut asked)) =
                    (client.into_split(), server.into_split());
                tokio::spawn(async move { copy(&mut asks, &mut asked).await });
                tokio::spawn(pass_on(answers, answered, Arc::clone(&injected)));
            }
        });
        Self { address, faults }
    }

    /// Drops all answers from now on.
    pub(crate) fn drop_answers(&self) {
        self.faults.drops_all.store(true, Ordering::Release);
    }

    /// Drops the next answer that contains these bytes, and closes its connection.
    pub(crate) fn lose_answer(&self, with: Vec<u8>) {
        *self.faults.lost.lock() = Some(with);
    }

    /// Whether the answer of [`Self::lose_answer`] was dropped.
    pub(crate) fn has_lost_answer(&self) -> bool {
        self.faults.lost.lock().is_none()
    }
}

async fn pass_on(mut from: OwnedReadHalf, mut to: OwnedWriteHalf, faults: Arc<Faults>) {
    let mut bytes = [0; 4_096];
    while let Ok(count @ 1..) = from.read(&mut bytes).await {
        if faults.lose(&bytes[..count]) {
            return;
        }
        let is_dropped = faults.drops_all.load(Ordering::Acquire);
        if !is_dropped && to.write_all(&bytes[..count]).await.is_err() {
            return;
        }
    }
}

impl Faults {
    /// Whether this answer is to be lost.
    fn lose(&self, answer: &[u8]) -> bool {
        let is_in = |lost: &mut Vec<u8>| answer.windows(lost.len()).any(|part| part == lost);
        self.lost.lock().take_if(is_in).is_some()
    }
}
