//! Output of commands. A reader such as `head` may close the pipe early: the command then exits without an error
//! message.

use std::{
    fmt::Arguments,
    io::{self, ErrorKind, StdoutLock, Write},
    process,
};

/// The number of problem lines printed; further problems are only counted.
pub(super) const PROBLEMS_SHOWN: usize = 20;

/// The exit code after a broken pipe, as a shell reports it for SIGPIPE (128 + 13).
const BROKEN_PIPE_EXIT_CODE: i32 = 141;

/// Prints a line on standard output.
macro_rules! outln {
    ($($line:tt)*) => { $crate::commands::out::print_line(format_args!($($line)*)) };
}

/// Prints a line on standard error; write errors are ignored.
macro_rules! errln {
    ($($line:tt)*) => { $crate::commands::out::print_error_line(format_args!($($line)*)) };
}

pub(crate) use {errln, outln};

/// Implements [`outln`].
pub(crate) fn print_line(line: Arguments<'_>) {
    let printed = writeln!(io::stdout(), "{line}");
    printed.unwrap_or_else(|error| exit_on_write_error(&error));
}

/// Implements [`errln`].
pub(crate) fn print_error_line(line: Arguments<'_>) {
    let _ = writeln!(io::stderr(), "{line}");
}

/// Standard output, locked for printing many lines.
pub(crate) struct Out(StdoutLock<'static>);

impl Out {
    pub(crate) fn lock() -> Self {
        Self(io::stdout().lock())
    }
}

impl Write for Out {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        Ok(self.0.write(bytes).unwrap_or_else(|error| exit_on_write_error(&error)))
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush().unwrap_or_else(|error| exit_on_write_error(&error));
        Ok(())
    }
}

/// Exits without clean-up: stored data stays stored, and the process's exit releases the folder's lock.
fn exit_on_write_error(error: &io::Error) -> ! {
    if error.kind() == ErrorKind::BrokenPipe {
        process::exit(BROKEN_PIPE_EXIT_CODE);
    }
    errln!("lodge: cannot print: {error}");
    process::exit(1);
}
