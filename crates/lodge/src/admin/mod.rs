//! Administration of a data folder. A command is carried out by the server that runs on the folder,
//! asked over a socket in it that only its owner can open; or here, if no server runs.

mod protocol;
mod server;

use std::{
    io::{BufRead, BufReader, Write},
    os::unix::net::UnixStream,
    path::Path,
    time::Duration,
};

use anyhow::{Context, Result, anyhow};

pub(crate) use protocol::{
    BotCommand, Command, EVENTS_MAX, HookCommand, Outcome, RidesCommand, UserCommand,
};
pub(crate) use server::{listen, serve};

use crate::{config::Config, wiring};

/// The socket's name in the data folder.
const SOCKET: &str = "lodge.sock";

/// How long a server may take over a command; a backup of a large folder is the longest.
const ANSWER_TIMEOUT: Duration = Duration::from_hours(1);

/// What is said when an outcome is not of the command that was carried out.
pub(crate) const OTHER_ANSWER: &str = "the server answered something else; is it another version?";

/// Carries out commands on a data folder.
pub(crate) enum Administrator {
    /// A server runs.
    Remote(BufReader<UnixStream>),
    /// No server runs.
    Here { services: Box<wiring::Services>, runtime: tokio::runtime::Runtime },
}

impl Administrator {
    /// Finds the server that runs on the configured folder, or opens the folder.
    pub(crate) fn open(config: &Config) -> Result<Self> {
        if let Ok(stream) = UnixStream::connect(config.data.join(SOCKET)) {
            stream.set_read_timeout(Some(ANSWER_TIMEOUT))?;
            return Ok(Self::Remote(BufReader::new(stream)));
        }
        let folder = &config.data;
        if !Path::new(folder).is_dir() {
            return Err(anyhow!(
                "there is no data folder {}; lodge serve makes it, or name another with --data",
                folder.display()
            ));
        }
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let services = Box::new(runtime.block_on(wiring::services(config))?);
        Ok(Self::Here { services, runtime })
    }

    /// Carries out one command.
    pub(crate) fn carry_out(&mut self, command: Command) -> Result<Outcome> {
        match self {
            Self::Here { services, runtime } => {
                runtime.block_on(server::carry_out(services, command))
            }
            Self::Remote(stream) => {
                let mut line = serde_json::to_string(&command)?;
                line.push('\n');
                stream
                    .get_mut()
                    .write_all(line.as_bytes())
                    .context("the server does not listen")?;
                let mut answer = String::new();
                stream.read_line(&mut answer).context("the server did not answer")?;
                let answer: Result<Outcome, String> = serde_json::from_str(&answer)
                    .context("the server's answer cannot be read; is it another version?")?;
                answer.map_err(|error| anyhow!(error))
            }
        }
    }

    /// Carries out one command; what its outcome holds.
    pub(crate) fn ask<T: TryFrom<Outcome>>(&mut self, command: Command) -> Result<T> {
        self.carry_out(command)?.try_into().map_err(|_| anyhow!(OTHER_ANSWER))
    }

    /// Closes the folder, if it was opened here.
    pub(crate) fn close(self) -> Result<()> {
        match self {
            Self::Remote(_) => Ok(()),
            Self::Here { services, runtime } => runtime
                .block_on(services.engines.close())
                .context("the data folder did not close cleanly"),
        }
    }
}
