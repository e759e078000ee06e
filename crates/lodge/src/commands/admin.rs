//! `lodge admin`.

mod events;
mod hooks;
mod rides;
mod user;

use std::{
    fs::File,
    io::{BufRead, BufReader, Read, Seek},
    path::{Path, PathBuf},
    process::ExitCode,
};

use anyhow::{Context, Result};
use clap::{
    Args, Subcommand,
    builder::{PossibleValuesParser, TypedValueParser},
};
use jiff::Timestamp;
use lodge_domain::{
    keys::ApiKey,
    links::{
        Owner,
        transfer::{self, ExportRow, Format, Import, Imported, RowProblem, Rows},
    },
    secret::SecretText,
};

use super::{new_file, progress::progress_bar, table::Table};
use crate::{
    admin::{Administrator, BotCommand, Command},
    commands::out::{PROBLEMS_SHOWN, errln, outln},
    config::{options::ConfigOptions, sources},
};

/// `lodge admin`.
#[derive(Debug, Args)]
pub(crate) struct AdminOptions {
    /// The server's configuration file. [default: ./lodge.toml, if it exists] [env: `LODGE_CONFIG`]
    #[arg(long, global = true, value_name = "FILE")]
    config: Option<PathBuf>,
    /// The data folder. [default: ./lodge-data]
    #[arg(long, global = true, value_name = "FOLDER")]
    data: Option<PathBuf>,
    #[command(subcommand)]
    command: AdminCommand,
}

#[derive(Debug, Subcommand)]
enum AdminCommand {
    /// Back up the database to a new file; the server may keep running. Protect the file: it contains secrets.
    Backup {
        /// The file to create.
        #[arg(value_parser = new_file)]
        file: PathBuf,
    },
    /// Replace the database with a backup; the previous database is kept beside it. Stop the server first.
    Restore {
        /// The backup.
        file: PathBuf,
    },
    /// Replace the secret of the installation after it has leaked.
    #[command(subcommand)]
    Secret(SecretCommand),
    /// Create, list and revoke API keys.
    #[command(subcommand)]
    Key(KeyCommand),
    /// Create, import, list and ban accounts, set roles, and issue password reset codes.
    #[command(subcommand)]
    User(user::UserOptions),
    /// List security events of the last 90 days, the newest first: sign-ins, refusals, and acts of staff and the operator.
    Events(events::EventsOptions),
    /// Create, list, revoke and renew gates, which send rides with their own key.
    #[command(subcommand)]
    Gate(rides::GateCommand),
    /// Create, list and revoke bots, which post to the board with their own key.
    #[command(subcommand)]
    Bot(BotCommand),
    /// Add, list and remove webhooks, which receive the events of a board channel.
    #[command(subcommand)]
    Hook(hooks::HookOptions),
    /// Find rides with their event ids, and void a wrong ride.
    #[command(subcommand)]
    Ride(rides::RideCommand),
    /// Print the codes of skiers' passes, one `skier,code` per line. An account claims a pass by its code.
    Pass(rides::PassOptions),
    /// Recompute derived data from the source data.
    #[command(subcommand)]
    Rebuild(rides::RebuildCommand),
    /// Import links from a CSV export. Can be repeated: existing links stay unchanged.
    Import {
        /// The file to import.
        file: PathBuf,
        /// The format of the file.
        #[arg(long, value_parser = format())]
        from: Format,
        /// The name of the API key that will own the links. [default: no owner]
        #[arg(long, value_name = "NAME")]
        key: Option<String>,
    },
    /// Export all links to a CSV file for `import --from lodge`, without owners and manage keys. Protect the
    /// file: it contains password hashes.
    Export {
        /// The file to create.
        #[arg(value_parser = new_file)]
        file: PathBuf,
    },
}

#[derive(Debug, Subcommand)]
enum SecretCommand {
    /// Store a new secret, which every process uses after a restart. Manage keys and unused codes of passes then no
    /// longer work; passwords, sessions, API keys, links and claimed passes stay.
    Replace {
        /// Confirm: the old secret cannot be restored, except from a backup.
        #[arg(long, required = true)]
        yes: bool,
    },
}

#[derive(Debug, Subcommand)]
enum KeyCommand {
    /// Create a key and print it. It is shown only once.
    Create {
        /// The name of the key.
        name: String,
    },
    /// List the keys.
    List,
    /// Revoke a key immediately. Its links stay.
    Revoke {
        /// The name of the key.
        name: String,
    },
}

fn format() -> impl TypedValueParser<Value = Format> {
    PossibleValuesParser::new(Format::ALL.map(Format::name))
        .try_map(|name| Format::named(&name).ok_or("unknown format"))
}

/// Parses the name of a file to create.
fn new_file(name: &str) -> Result<PathBuf, &'static str> {
    match name {
        "-" => Err("must be the name of a file; standard output is not supported"),
        name => Ok(name.into()),
    }
}

/// Carries out one command.
pub(crate) fn run(options: AdminOptions) -> Result<ExitCode> {
    let config = sources::load(&ConfigOptions {
        config: options.config,
        data: options.data,
        ..ConfigOptions::default()
    })?;
    if let AdminCommand::Restore { file } = &options.command {
        let kept = lodge_sqlite::restore(file, &config.data)?;
        outln!("restored {} into {}", file.display(), config.data.display());
        if let Some(kept) = kept {
            outln!("the previous database is kept as {}", kept.display());
        }
        return Ok(ExitCode::SUCCESS);
    }
    let mut administrator = Administrator::open(&config)?;
    let done = carry_out(&mut administrator, options.command);
    administrator.close()?;
    done
}

fn carry_out(administrator: &mut Administrator, command: AdminCommand) -> Result<ExitCode> {
    match command {
        AdminCommand::Backup { file } => {
            let to = std::path::absolute(&file)?;
            let (bytes, left_out): (u64, Vec<String>) =
                administrator.request(Command::Backup { to })?;
            outln!("backed up {bytes} bytes to {}", file.display());
            for engine in left_out {
                outln!(
                    "this backup does not contain the data in {engine}; back it up with the tools of {engine}"
                );
            }
        }
        AdminCommand::Restore { .. } => {}
        AdminCommand::Secret(SecretCommand::Replace { .. }) => replace_secret(administrator)?,
        AdminCommand::Key(command) => key(administrator, command)?,
        AdminCommand::User(command) => return user::carry_out(administrator, command),
        AdminCommand::Events(options) => events::carry_out(administrator, options)?,
        AdminCommand::Gate(command) => rides::gate(administrator, command)?,
        AdminCommand::Bot(command) => bot(administrator, command)?,
        AdminCommand::Hook(command) => hooks::carry_out(administrator, command)?,
        AdminCommand::Ride(command) => rides::ride(administrator, command)?,
        AdminCommand::Pass(options) => rides::pass(administrator, &options)?,
        AdminCommand::Rebuild(command) => return rides::rebuild(administrator, &command),
        AdminCommand::Import { file, from, key } => {
            return import(administrator, &file, from, key.as_deref());
        }
        AdminCommand::Export { file } => export(administrator, &file)?,
    }
    Ok(ExitCode::SUCCESS)
}

fn replace_secret(administrator: &mut Administrator) -> Result<()> {
    let engines: Vec<String> = administrator.request(Command::ReplaceSecret)?;
    outln!("a new secret is stored in {}; restart every process", engines.join(" and "));
    Ok(())
}

fn key(administrator: &mut Administrator, command: KeyCommand) -> Result<()> {
    match command {
        KeyCommand::Create { name } => create(administrator, Command::CreateKey { name }),
        KeyCommand::List => list(administrator, Command::ListKeys),
        KeyCommand::Revoke { name } => revoke(administrator, Command::RevokeKey { name }),
    }
}

fn bot(administrator: &mut Administrator, command: BotCommand) -> Result<()> {
    match command {
        BotCommand::Create { .. } => create(administrator, Command::Bot(command)),
        BotCommand::List => list(administrator, Command::Bot(command)),
        BotCommand::Revoke { .. } => revoke(administrator, Command::Bot(command)),
    }
}

fn create(administrator: &mut Administrator, command: Command) -> Result<()> {
    let (_, token): (ApiKey, SecretText) = administrator.request(command)?;
    outln!("{}", token.reveal());
    Ok(())
}

fn list(administrator: &mut Administrator, command: Command) -> Result<()> {
    let keys: Vec<ApiKey> = administrator.request(command)?;
    let mut table = Table::new(["NAME", "CREATED", "STATE"]);
    for ApiKey { name, created_at, revoked_at, .. } in keys {
        table.add([name, created_at.to_string(), key_state(revoked_at)]);
    }
    table.print();
    Ok(())
}

/// Describes the state of a key in a list.
fn key_state(revoked_at: Option<Timestamp>) -> String {
    revoked_at.map_or_else(|| "active".to_owned(), |at| format!("revoked {at}"))
}

fn revoke(administrator: &mut Administrator, command: Command) -> Result<()> {
    let key: ApiKey = administrator.request(command)?;
    outln!("{} is revoked", key.name);
    Ok(())
}

fn import(
    administrator: &mut Administrator,
    file: &Path,
    format: Format,
    key: Option<&str>,
) -> Result<ExitCode> {
    let owner = key.map(|name| owner(administrator, name)).transpose()?;
    let unreadable = || format!("cannot read {}", file.display());
    let mut input = BufReader::new(File::open(file).with_context(unreadable)?);
    let mut first_line = Vec::new();
    let head = input.by_ref().take(64 << 10).read_until(b'\n', &mut first_line);
    head.and_then(|_| input.rewind()).with_context(unreadable)?;
    let length = input.get_ref().metadata().with_context(unreadable)?.len();
    let progress = progress_bar(length, "{bar:40} {bytes}/{total_bytes} {msg}")?;
    let delimiter = transfer::delimiter_of(&String::from_utf8_lossy(&first_line));
    let mut rows = Rows::new(format, progress.wrap_read(input), delimiter)?;
    let mut sum = Imported::default();
    loop {
        let (page, bad) = next_page(&mut rows);
        sum.problems.extend(bad);
        if page.is_empty() {
            break;
        }
        let imported: Imported =
            administrator.request(Command::Import(Import { rows: page, owner }))?;
        sum.created += imported.created;
        sum.already += imported.already;
        sum.problems.extend(imported.problems);
        progress.set_message(format!("{} links", sum.created + sum.already));
    }
    progress.finish_and_clear();
    report(&mut sum);
    Ok(if sum.problems.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn next_page<R: Read>(rows: &mut Rows<R>) -> (Vec<transfer::ImportRow>, Vec<RowProblem>) {
    let (mut page, mut bad) = (Vec::new(), Vec::new());
    while page.len() < transfer::PAGE_MAX {
        match rows.next_row() {
            Some(Ok(row)) => page.push(row),
            Some(Err(problem)) => bad.push(problem),
            None => break,
        }
    }
    (page, bad)
}

fn report(sum: &mut Imported) {
    sum.problems.sort_by_key(|problem| problem.line);
    for problem in sum.problems.iter().take(PROBLEMS_SHOWN) {
        errln!("line {}: {}", problem.line, problem.reason);
    }
    if sum.problems.len() > PROBLEMS_SHOWN {
        errln!("… and {} more", sum.problems.len() - PROBLEMS_SHOWN);
    }
    outln!(
        "links imported: {}, already present: {}, rejected: {}",
        sum.created,
        sum.already,
        sum.problems.len()
    );
}

fn owner(administrator: &mut Administrator, name: &str) -> Result<Owner> {
    let keys: Vec<ApiKey> = administrator.request(Command::ListKeys)?;
    let key = keys.into_iter().find(|key| key.name == name && key.revoked_at.is_none());
    let key = key.with_context(|| {
        format!("no active API key is named {name}; create one with: lodge admin key create {name}")
    })?;
    Ok(Owner::Key(key.id))
}

fn export(administrator: &mut Administrator, file: &Path) -> Result<()> {
    // The file contains password hashes.
    let exported = new_file::create("export", file, 0o600, |to| write_links(administrator, to))?;
    outln!("exported {exported} links to {}", file.display());
    Ok(())
}

/// Writes every link to `to`. Returns the number of links.
fn write_links(administrator: &mut Administrator, to: &File) -> Result<u64> {
    let mut writer = csv::Writer::from_writer(to);
    let progress = progress_bar(0, "{spinner} {pos} links")?;
    let mut after = None;
    loop {
        let rows: Vec<ExportRow> =
            administrator.request(Command::Export { after: after.take() })?;
        for row in &rows {
            writer.serialize(row)?;
        }
        progress.inc(rows.len() as u64);
        match rows.last() {
            Some(last) if rows.len() == transfer::PAGE_MAX => {
                after = Some(last.short.clone().try_into()?);
            }
            _ => break,
        }
    }
    writer.flush().context("cannot write the file")?;
    // Read first: finishing sets the position to the bar's length, which was unknown (0).
    let exported = progress.position();
    progress.finish_and_clear();
    Ok(exported)
}
