//! The process that decodes one picture: it takes the picture on its input, answers on its output, and
//! ends.

use std::{
    io::{self, Read, Write},
    process::ExitCode,
};

use lodge_domain::accounts::Shape;
use rustix::process::{Resource, Rlimit, getrlimit, nice, setrlimit};

use crate::{answer, decode};

/// The argument that makes a program call [`decode_here`].
pub(crate) const ARGUMENT: &str = "decode-picture";

/// The exit code where it is not the picture's fault (`EX_OSERR`).
pub(crate) const NOT_THE_PICTURE: u8 = 71;

/// How much less than the server it matters to the scheduler, 0 to 19.
const NICENESS: i32 = 10;

/// Memory that is written to, in bytes.
const MEMORY_BYTES_MAX: u64 = 256 << 20;

/// The same with the program itself, and all that is only reserved: the outer bound.
const ADDRESSES_BYTES_MAX: u64 = 640 << 20;

/// Time on a processor, in seconds.
const CPU_S_MAX: u64 = 3;

/// Files that are open. Three are.
const FILES_MAX: u64 = 8;

/// Decodes what comes on the input, with next to nothing that it could take or do otherwise.
pub fn decode_here() -> ExitCode {
    match answered() {
        Ok(()) => ExitCode::SUCCESS,
        Err(_) => ExitCode::from(NOT_THE_PICTURE),
    }
}

fn answered() -> io::Result<()> {
    bind_hands()?;
    let (shape, upload) = read()?;
    let said = answer::said(&decode::decode(&upload, shape)).ok_or(io::ErrorKind::Other)?;
    let mut out = io::stdout().lock();
    out.write_all(&said)?;
    out.flush()
}

/// Before anything is read that a stranger has sent. None of it can be taken back.
fn bind_hands() -> io::Result<()> {
    for (resource, most) in [
        (Resource::Data, MEMORY_BYTES_MAX),
        (Resource::As, ADDRESSES_BYTES_MAX),
        (Resource::Cpu, CPU_S_MAX),
        (Resource::Nofile, FILES_MAX),
        (Resource::Fsize, 0),
        (Resource::Core, 0),
    ] {
        // Whoever runs the server may have set less.
        let most = getrlimit(resource).maximum.map_or(most, |allowed| allowed.min(most));
        setrlimit(resource, Rlimit { current: Some(most), maximum: Some(most) })?;
    }
    // Where it is refused, a picture matters as much as the rest.
    let _ = nice(NICENESS);
    Ok(())
}

/// What is asked for and, after its length, so that no room is taken twice while it comes, the upload.
fn read() -> io::Result<(Shape, Vec<u8>)> {
    let mut input = io::stdin().lock();
    let (mut asked, mut length) = ([0], [0; 4]);
    input.read_exact(&mut asked)?;
    input.read_exact(&mut length)?;
    let shape = answer::shape(asked[0]).ok_or(io::ErrorKind::InvalidInput)?;
    let length = usize::try_from(u32::from_be_bytes(length)).map_err(io::Error::other)?;
    let mut upload = vec![0; length];
    input.read_exact(&mut upload)?;
    Ok((shape, upload))
}
