//! Administration of a data folder. If a server runs on the folder, it executes the command, sent over a Unix
//! socket (mode 0600) in the folder. Otherwise this process opens the folder and executes the command itself.

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
    BotCommand, Command, CommandOutcome, EVENTS_MAX, HookCommand, RidesCommand, UserCommand,
};
pub(crate) use server::{listen, serve};

use crate::{config::Config, wiring};

/// The name of the socket in the data folder.
const SOCKET: &str = "lodge.sock";

/// The timeout of a command; a backup of a large folder takes longest.
const ANSWER_TIMEOUT: Duration = Duration::from_hours(1);

/// The error if the outcome does not belong to the command.
pub(crate) const UNEXPECTED_RESPONSE: &str =
    "unexpected response from the server; the server and this command may have different versions";

/// Executes commands on a data folder.
pub(crate) enum Administrator {
    /// A connection to the running server.
    Remote(BufReader<UnixStream>),
    /// The folder, opened by this process.
    Local { services: Box<wiring::Services>, runtime: tokio::runtime::Runtime },
}

impl Administrator {
    /// Connects to the server that runs on the configured folder, or opens the folder.
    pub(crate) fn open(config: &Config) -> Result<Self> {
        if let Ok(stream) = UnixStream::connect(config.data.join(SOCKET)) {
            stream.set_read_timeout(Some(ANSWER_TIMEOUT))?;
            return Ok(Self::Remote(BufReader::new(stream)));
        }
        let folder = &config.data;
        if !Path::new(folder).is_dir() {
            return Err(anyhow!(
                "there is no data folder {}; create it with lodge serve, or set --data",
                folder.display()
            ));
        }
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let services = Box::new(runtime.block_on(wiring::services(config))?);
        Ok(Self::Local { services, runtime })
    }

    /// Executes a command.
    pub(crate) fn execute(&mut self, command: Command) -> Result<CommandOutcome> {
        match self {
            Self::Local { services, runtime } => {
                runtime.block_on(server::execute(services, command))
            }
            Self::Remote(stream) => {
                let mut line = serde_json::to_string(&command)?;
                line.push('\n');
                stream
                    .get_mut()
                    .write_all(line.as_bytes())
                    .context("cannot send the command to the server")?;
                let mut answer = String::new();
                stream.read_line(&mut answer).context("no response from the server")?;
                let answer: Result<CommandOutcome, String> =
                    serde_json::from_str(&answer).context(UNEXPECTED_RESPONSE)?;
                answer.map_err(|error| anyhow!(error))
            }
        }
    }

    /// Executes a command. Returns the value of its outcome.
    pub(crate) fn request<T: TryFrom<CommandOutcome>>(&mut self, command: Command) -> Result<T> {
        self.execute(command)?.try_into().map_err(|_| anyhow!(UNEXPECTED_RESPONSE))
    }

    /// Closes the folder, if this process opened it.
    pub(crate) fn close(self) -> Result<()> {
        match self {
            Self::Remote(_) => Ok(()),
            Self::Local { services, runtime } => runtime
                .block_on(services.engines.close())
                .context("the data folder did not close cleanly"),
        }
    }
}
