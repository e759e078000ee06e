//! What commands print. Whoever reads it may leave early, as `head` does: then there is nobody to print for,
//! and the command ends without a word.

use std::{
    fmt::Arguments,
    io::{self, ErrorKind, StdoutLock, Write},
    process,
};

/// Problems with lines of a file that are printed; the others are counted.
pub(super) const PROBLEMS_SHOWN: usize = 20;

/// The exit code then, as a shell gives it for those that the system ends in that case.
const READER_GONE: i32 = 141;

/// Prints a line.
macro_rules! say {
    ($($line:tt)*) => { $crate::commands::out::line(format_args!($($line)*)) };
}

/// Prints a line on standard error, if anybody reads it.
macro_rules! complain {
    ($($line:tt)*) => { $crate::commands::out::line_of_errors(format_args!($($line)*)) };
}

pub(crate) use {complain, say};

/// What [`say`] does.
pub(crate) fn line(line: Arguments<'_>) {
    let printed = writeln!(io::stdout(), "{line}");
    printed.unwrap_or_else(|error| end(&error));
}

/// What [`complain`] does.
pub(crate) fn line_of_errors(line: Arguments<'_>) {
    let _ = writeln!(io::stderr(), "{line}");
}

/// Standard output, for many lines.
pub(crate) struct Out(StdoutLock<'static>);

impl Out {
    pub(crate) fn lock() -> Self {
        Self(io::stdout().lock())
    }
}

impl Write for Out {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        Ok(self.0.write(bytes).unwrap_or_else(|error| end(&error)))
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush().unwrap_or_else(|error| end(&error));
        Ok(())
    }
}

/// What is stored stays so: the folder's lock goes with the process.
fn end(error: &io::Error) -> ! {
    if error.kind() == ErrorKind::BrokenPipe {
        process::exit(READER_GONE);
    }
    complain!("lodge: cannot print: {error}");
    process::exit(1);
}
