//! The commands, one file each.

pub(crate) mod admin;
pub(crate) mod breached;
pub(crate) mod check;
pub(crate) mod load;
pub(crate) mod moving;
mod new_file;
pub(crate) mod out;
mod progress;
pub(crate) mod seed;
pub(crate) mod serve;
mod table;

use std::process::ExitCode;

use lodge_sqlite::OpenError;

use crate::config::sources::BadConfig;

/// Returns 2 if the data folder is in use, 78 (`EX_CONFIG`) for a configuration error, otherwise 1.
pub(crate) fn exit_code(error: &anyhow::Error) -> ExitCode {
    if error.is::<BadConfig>() {
        ExitCode::from(78)
    } else if matches!(error.downcast_ref(), Some(OpenError::Locked { .. })) {
        ExitCode::from(2)
    } else {
        ExitCode::FAILURE
    }
}
