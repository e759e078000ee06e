//! The decoder process: it reads one upload from its standard input, writes the answer to its standard output, and
//! exits.

use std::{
    io::{self, Read, Write},
    process::ExitCode,
};

use lodge_domain::accounts::Shape;
use rustix::process::{Resource, Rlimit, getrlimit, nice, setrlimit};

use crate::{decode, protocol, sandbox};

/// The argument that makes a program call [`decode_here`].
pub(crate) const ARGUMENT: &str = "decode-picture";

/// The exit code of a failure that the picture did not cause (`EX_OSERR`).
pub(crate) const EXIT_INTERNAL: u8 = 71;

/// Added to the server's niceness, 0 to 19.
const NICENESS: i32 = 10;

/// Limit of writable memory (`RLIMIT_DATA`), in bytes.
const MEMORY_BYTES_MAX: u64 = 256 << 20;

/// Limit of the address space (`RLIMIT_AS`), in bytes: with the program itself and reserved memory.
const ADDRESSES_BYTES_MAX: u64 = 640 << 20;

/// Limit of CPU time, in seconds.
const CPU_S_MAX: u64 = 3;

/// Limit of open files, of which three are in use.
const FILES_MAX: u64 = 8;

/// Decodes the upload on standard input in a sandbox, under strict resource limits; the program's `main` calls it.
pub fn decode_here() -> ExitCode {
    match answered() {
        Ok(()) => ExitCode::SUCCESS,
        Err(_) => ExitCode::from(EXIT_INTERNAL),
    }
}

fn answered() -> io::Result<()> {
    set_limits()?;
    // The server logs once what the kernel does not have.
    sandbox::enter();
    let (shape, upload) = read()?;
    let said = protocol::encode(&decode::decode(&upload, shape)).ok_or(io::ErrorKind::Other)?;
    let mut out = io::stdout().lock();
    out.write_all(&said)?;
    out.flush()
}

/// Sets the resource limits before any untrusted input is read. They cannot be raised again.
fn set_limits() -> io::Result<()> {
    for (resource, most) in [
        (Resource::Data, MEMORY_BYTES_MAX),
        (Resource::As, ADDRESSES_BYTES_MAX),
        (Resource::Cpu, CPU_S_MAX),
        (Resource::Nofile, FILES_MAX),
        (Resource::Fsize, 0),
        (Resource::Core, 0),
    ] {
        // The operator may have set a lower limit.
        let most = getrlimit(resource).maximum.map_or(most, |allowed| allowed.min(most));
        setrlimit(resource, Rlimit { current: Some(most), maximum: Some(most) })?;
    }
    // If this fails, decoding runs at the server's own priority.
    let _ = nice(NICENESS);
    Ok(())
}

/// Reads the shape and the upload. The upload follows its length, so that its buffer is allocated once.
fn read() -> io::Result<(Shape, Vec<u8>)> {
    let mut input = io::stdin().lock();
    let (mut asked, mut length) = ([0], [0; 4]);
    input.read_exact(&mut asked)?;
    input.read_exact(&mut length)?;
    let shape = protocol::shape(asked[0]).ok_or(io::ErrorKind::InvalidInput)?;
    let length = usize::try_from(u32::from_be_bytes(length)).map_err(io::Error::other)?;
    let mut upload = vec![0; length];
    input.read_exact(&mut upload)?;
    Ok((shape, upload))
}
