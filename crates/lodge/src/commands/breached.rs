//! `lodge breached-passwords`.

use std::{
    fs::File,
    io::{self, BufReader, BufWriter, Read, Write},
    path::PathBuf,
    process::ExitCode,
};

use anyhow::{Context, Result};
use clap::Args;
use lodge_local::BreachedFilter;

use super::{new_file, progress::progress_bar};
use crate::commands::out::outln;

/// `lodge breached-passwords`.
#[derive(Debug, Args)]
pub(crate) struct BreachedOptions {
    /// The list, or - for standard input. A line has the SHA-1 of a password in hexadecimal, alone or followed by a
    /// colon and how often it was found, in any order: the format of Have I Been Pwned.
    list: PathBuf,
    /// The file to create.
    file: PathBuf,
    /// Leave out passwords that were found less often.
    #[arg(long, value_name = "N", default_value_t = 1)]
    count_min: u64,
}

/// Builds the file.
pub(crate) fn run(options: &BreachedOptions) -> Result<ExitCode> {
    let BreachedOptions { file, .. } = options;
    // The published list is no secret, and another user may run the server.
    let passwords =
        new_file::create("breached-passwords", file, 0o644, |file| build(options, file))?;
    outln!("{} has {passwords} passwords", file.display());
    Ok(ExitCode::SUCCESS)
}

fn build(options: &BreachedOptions, to: &File) -> Result<u64> {
    let list = &options.list;
    let (name, from): (_, Box<dyn Read>) = if list.as_os_str() == "-" {
        ("standard input".to_owned(), Box::new(io::stdin().lock()))
    } else {
        let name = list.display().to_string();
        let file = File::open(list).with_context(|| format!("cannot read {name}"))?;
        (name, Box::new(file))
    };
    let progress = progress_bar(0, "{spinner} {bytes} read")?;
    let lines = BufReader::with_capacity(1 << 20, progress.wrap_read(from));
    let filter = BreachedFilter::build(lines, options.count_min).context(name)?;
    progress.finish_and_clear();
    let mut to = BufWriter::new(to);
    filter.write(&mut to).and_then(|()| to.flush()).context("cannot write the file")?;
    Ok(filter.passwords())
}
