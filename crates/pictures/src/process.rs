//! Decoding in a child process: an exploited or crashed decoder affects only its own picture.

use std::{
    path::PathBuf,
    process::{ExitStatus, Stdio},
    time::{Duration, Instant},
};

use async_trait::async_trait;
use bytes::Bytes;
use lodge_domain::{
    Error, Result,
    accounts::{Picture, PictureDecoder, Shape},
};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    process::{Child, ChildStdin, Command},
    sync::{Semaphore, SemaphorePermit},
    time::timeout,
};

use crate::{
    child::{ARGUMENT, EXIT_INTERNAL},
    decode::too_costly,
    protocol,
};

/// The limits of decoding.
pub struct DecoderOptions {
    /// The program that is started for each picture, with the one argument `decode-picture`; it then calls
    /// [`decode_here`](crate::decode_here).
    pub program: PathBuf,
    /// The most decoders at once. One takes up to 256 MiB.
    pub at_once: usize,
    /// The most pictures that wait for a decoder; one more is refused.
    pub waiting_max: usize,
    /// The longest wait for a decoder.
    pub wait_max: Duration,
    /// The timeout of decoding a picture, in wall-clock time.
    pub deadline: Duration,
}

impl DecoderOptions {
    /// Creates default options: one decoder at a time.
    pub fn new(program: PathBuf) -> Self {
        Self {
            program,
            at_once: 1,
            waiting_max: 8,
            wait_max: Duration::from_secs(4),
            deadline: Duration::from_secs(10),
        }
    }
}

/// Decodes each picture in a new child process.
pub struct DecoderProcess {
    options: DecoderOptions,
    /// Permits for pictures that wait or are decoded.
    places: Semaphore,
    turns: Semaphore,
}

impl DecoderProcess {
    /// Creates a decoder with these options.
    pub fn new(options: DecoderOptions) -> Self {
        let places = Semaphore::new(options.at_once + options.waiting_max);
        let turns = Semaphore::new(options.at_once);
        Self { options, places, turns }
    }

    /// Waits for a permit to decode; also returns the permit of the queue.
    async fn turn(&self) -> Result<[SemaphorePermit<'_>; 2]> {
        let place = self.places.try_acquire();
        let place =
            place.map_err(|_| Error::unavailable("too many pictures are waiting to be decoded"))?;
        let turn = timeout(self.options.wait_max, self.turns.acquire()).await;
        let turn =
            turn.map_err(|_| Error::unavailable("timed out waiting for a picture decoder"))?;
        Ok([place, turn.map_err(Error::unavailable)?])
    }

    async fn decoded(&self, upload: Bytes, shape: Shape) -> Result<Picture> {
        let bytes = upload.len();
        let mut child = self.start().map_err(Error::internal)?;
        let answer = timeout(self.options.deadline, talk(&mut child, upload, shape)).await;
        match answer {
            Ok(Ok((status, _))) if status.code() == Some(EXIT_INTERNAL.into()) => {
                Err(Error::internal("the picture decoder process failed to start"))
            }
            Ok(Ok((status, said))) => understood(status, said, shape).unwrap_or_else(|| {
                tracing::warn!(bytes, %status, "a picture decoder failed");
                Err(too_costly())
            }),
            Ok(Err(error)) => Err(Error::internal(error)),
            Err(_) => {
                tracing::warn!(bytes, "a picture decoder timed out");
                Err(too_costly())
            }
        }
    }

    /// Starts the process with an empty environment. Without `MIMALLOC_ARENA_RESERVE` its allocator would reserve a
    /// gigabyte before the resource limits are set.
    fn start(&self) -> std::io::Result<Child> {
        Command::new(&self.options.program)
            .arg(ARGUMENT)
            .env_clear()
            .env("MIMALLOC_ARENA_RESERVE", "0")
            .current_dir("/")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .kill_on_drop(true)
            .spawn()
    }
}

#[async_trait]
impl PictureDecoder for DecoderProcess {
    async fn decode(&self, upload: Bytes, shape: Shape) -> Result<Picture> {
        let _turn = self.turn().await?;
        let began = Instant::now();
        let picture = self.decoded(upload, shape).await;
        metrics::histogram!("lodge_accounts_picture_decode_seconds").record(began.elapsed());
        picture
    }
}

/// Writes the upload while reading the answer, up to its limit; returns the exit status and the answer.
async fn talk(
    child: &mut Child,
    upload: Bytes,
    shape: Shape,
) -> std::io::Result<(ExitStatus, Vec<u8>)> {
    let (input, output) = (child.stdin.take(), child.stdout.take());
    let listen = async {
        let mut said = Vec::new();
        let Some(output) = output else { return Ok(said) };
        let read = output.take(protocol::BYTES_MAX as u64 + 1).read_to_end(&mut said).await;
        read.map(|_| said)
    };
    let hand_over_and_wait = async {
        if let Some(input) = input {
            // A decoder that does not read all of it reports the failure by its exit status.
            drop(hand_over(input, &upload, shape).await);
        }
        std::future::pending::<()>().await;
    };
    let said: Vec<u8> = tokio::select! {
        said = listen => said?,
        () = hand_over_and_wait => Vec::new(),
    };
    if said.len() > protocol::BYTES_MAX {
        child.start_kill()?;
    }
    Ok((child.wait().await?, said))
}

async fn hand_over(mut input: ChildStdin, upload: &[u8], shape: Shape) -> std::io::Result<()> {
    let length = u32::try_from(upload.len()).map_err(std::io::Error::other)?;
    input.write_all(&[protocol::shape_code(shape)]).await?;
    input.write_all(&length.to_be_bytes()).await?;
    input.write_all(upload).await
}

/// Parses the answer of a process; `None` if the process failed or its answer is malformed.
fn understood(status: ExitStatus, said: Vec<u8>, shape: Shape) -> Option<Result<Picture>> {
    let is_sound = status.success() && said.len() <= protocol::BYTES_MAX;
    is_sound.then(|| protocol::decode(said.into(), shape)).flatten()
}
