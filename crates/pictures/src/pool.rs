//! Decoding on threads of its own, of lowered priority.

use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{
        Arc,
        mpsc::{Receiver, SyncSender, TrySendError, sync_channel},
    },
    thread,
    time::Instant,
};

use async_trait::async_trait;
use bytes::Bytes;
use lodge_domain::{
    Error, Result,
    accounts::{PictureDecoder, Squares},
};
use parking_lot::Mutex;
use tokio::sync::oneshot;

use crate::decode;

/// How much less than the rest of the process the threads matter to the scheduler, 0 to 19.
const NICENESS: i32 = 10;

/// Decodes pictures on a bounded number of threads. They end when it is dropped.
pub struct DecoderPool {
    queue: SyncSender<Work>,
}

struct Work {
    upload: Bytes,
    reply: oneshot::Sender<Result<Squares>>,
}

impl DecoderPool {
    /// Starts `threads` threads (1 or more), each of which may take some 200 MB; `queue` pictures may wait
    /// for them, further ones are refused at once.
    pub fn new(threads: usize, queue: usize) -> std::io::Result<Self> {
        let (sender, receiver) = sync_channel(queue);
        let receiver = Arc::new(Mutex::new(receiver));
        for _ in 0..threads.max(1) {
            let receiver = Arc::clone(&receiver);
            thread::Builder::new()
                .name("lodge-pictures".to_owned())
                .spawn(move || run(&receiver))?;
        }
        Ok(Self { queue: sender })
    }
}

#[async_trait]
impl PictureDecoder for DecoderPool {
    async fn squares(&self, upload: Bytes) -> Result<Squares> {
        let (reply, answer) = oneshot::channel();
        self.queue.try_send(Work { upload, reply }).map_err(|refused| match refused {
            TrySendError::Full(_) => Error::unavailable("too many pictures wait to be decoded"),
            TrySendError::Disconnected(_) => ended(),
        })?;
        answer.await.unwrap_or_else(|_| Err(ended()))
    }
}

fn ended() -> Error {
    Error::unavailable("the threads that decode pictures have ended")
}

fn run(queue: &Mutex<Receiver<Work>>) {
    // On Linux this is the thread's priority alone. Where it is refused, pictures matter as much as the
    // rest.
    if let Err(error) = rustix::process::nice(NICENESS) {
        tracing::warn!(%error, "pictures are decoded at normal priority");
    }
    loop {
        let work = queue.lock().recv();
        match work {
            // Whoever asked has gone.
            Ok(Work { reply, .. }) if reply.is_closed() => {}
            Ok(Work { upload, reply }) => {
                let squares = timed(&upload);
                drop(upload);
                // Whoever asked may have gone meanwhile.
                drop(reply.send(squares));
            }
            Err(_) => return,
        }
    }
}

fn timed(upload: &[u8]) -> Result<Squares> {
    let began = Instant::now();
    let squares = decoded(upload);
    metrics::histogram!("lodge_accounts_picture_decode_seconds").record(began.elapsed());
    squares
}

/// A decoder that panics has met what its authors did not think of: that is a file which cannot be read,
/// and no reason to decode no other.
fn decoded(upload: &[u8]) -> Result<Squares> {
    catch_unwind(AssertUnwindSafe(|| decode::squares(upload))).unwrap_or_else(|_| {
        tracing::error!(bytes = upload.len(), "the decoder of a picture panicked");
        Err(decode::damaged())
    })
}
