//! `lodge admin`.

mod hooks;
mod rides;
mod user;

use std::{
    fs::{self, File, OpenOptions},
    io::{self, BufRead, BufReader, Read, Seek, Write},
    os::unix::fs::OpenOptionsExt,
    path::{Path, PathBuf},
    process::ExitCode,
};

use anyhow::{Context, Result, bail};
use clap::{
    Args, Subcommand,
    builder::{PossibleValuesParser, TypedValueParser},
};
use lodge_domain::{
    keys::ApiKey,
    links::{
        Owner,
        transfer::{self, ExportRow, Format, Import, Imported, RowProblem, Rows},
    },
    secret::Hidden,
};
use uuid::Uuid;

use super::progress::progress_bar;
use crate::{
    admin::{Administrator, BotCommand, Command},
    commands::out::{PROBLEMS_SHOWN, complain, say},
    config::{options::ConfigOptions, sources},
};

/// `lodge admin`.
#[derive(Debug, Args)]
pub(crate) struct AdminOptions {
    /// The configuration file of the server.
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
    /// Copy the database, while it is in use, to a new file. Keep it like the folder: it holds secrets.
    Backup {
        /// The file to make.
        file: PathBuf,
    },
    /// Put a backup in the place of the folder's database, which is kept beside it. No server may run.
    Restore {
        /// The backup.
        file: PathBuf,
    },
    /// Make, list and revoke API keys.
    #[command(subcommand)]
    Key(KeyCommand),
    /// Make, import, list and ban accounts, give roles, and give out codes for new passwords.
    #[command(subcommand)]
    User(user::UserOptions),
    /// Make, list, revoke and renew gates, which send rides with a key of their own.
    #[command(subcommand)]
    Gate(rides::GateCommand),
    /// Make, list and revoke bots, which write to the board with a key of their own.
    #[command(subcommand)]
    Bot(BotCommand),
    /// Add, list and remove hooks, which are told what happens in channels of the board.
    #[command(subcommand)]
    Hook(hooks::HookOptions),
    /// Find rides with the ids of their events, and take back one that was none.
    #[command(subcommand)]
    Ride(rides::RideCommand),
    /// Print the codes on skiers' passes, one `skier,code` a line, with which people claim them.
    Pass(rides::PassOptions),
    /// Make anew what is derived of something else.
    #[command(subcommand)]
    Rebuild(rides::RebuildCommand),
    /// Add the links of another shortener's CSV export. It can be repeated: what is there stays.
    Import {
        /// The file.
        file: PathBuf,
        /// Whose export it is.
        #[arg(long, value_parser = format())]
        from: Format,
        /// The name of the API key whose links they are to be.
        #[arg(long, value_name = "NAME")]
        key: Option<String>,
    },
    /// Write every link to a CSV file, which `import --from lodge` reads. It has neither owners nor manage
    /// keys; keep it like the folder, for it holds password hashes.
    Export {
        /// The file to make.
        file: PathBuf,
    },
}

#[derive(Debug, Subcommand)]
enum KeyCommand {
    /// Make a key and print it, the only time that it can be had.
    Create {
        /// What to call it.
        name: String,
    },
    /// List the keys.
    List,
    /// End a key at once. Its links stay.
    Revoke {
        /// What it is called.
        name: String,
    },
}

fn format() -> impl TypedValueParser<Value = Format> {
    PossibleValuesParser::new(Format::ALL.map(Format::name))
        .try_map(|name| Format::named(&name).ok_or("there is no such format"))
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
        say!("restored {} into {}", file.display(), config.data.display());
        if let Some(kept) = kept {
            say!("the database that was there is kept as {}", kept.display());
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
                administrator.ask(Command::Backup { to })?;
            say!("backed up {bytes} bytes to {}", file.display());
            for engine in left_out {
                say!("the data in {engine} are not in this file; back them up by its own means");
            }
        }
        AdminCommand::Restore { .. } => {}
        AdminCommand::Key(command) => key(administrator, command)?,
        AdminCommand::User(command) => return user::carry_out(administrator, command),
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
    let (_, token): (ApiKey, Hidden) = administrator.ask(command)?;
    say!("{}", token.reveal());
    Ok(())
}

fn list(administrator: &mut Administrator, command: Command) -> Result<()> {
    let keys: Vec<ApiKey> = administrator.ask(command)?;
    for key in keys {
        let state = key.revoked_at.map_or_else(|| "live".to_owned(), |at| format!("revoked {at}"));
        say!("{}\t{}\t{state}", key.name, key.created_at);
    }
    Ok(())
}

fn revoke(administrator: &mut Administrator, command: Command) -> Result<()> {
    let key: ApiKey = administrator.ask(command)?;
    say!("{} opens nothing any more", key.name);
    Ok(())
}

fn import(
    administrator: &mut Administrator,
    file: &Path,
    format: Format,
    key: Option<&str>,
) -> Result<ExitCode> {
    let owner = key.map(|name| owner(administrator, name)).transpose()?;
    let mut input = BufReader::new(
        File::open(file).with_context(|| format!("{} cannot be read", file.display()))?,
    );
    let mut first_line = String::new();
    input.by_ref().take(64 << 10).read_line(&mut first_line)?;
    input.rewind()?;
    let progress =
        progress_bar(input.get_ref().metadata()?.len(), "{bar:40} {bytes}/{total_bytes} {msg}")?;
    let mut rows =
        Rows::new(format, progress.wrap_read(input), transfer::delimiter_of(&first_line))?;
    let mut sum = Imported::default();
    loop {
        let (page, bad) = next_page(&mut rows);
        sum.problems.extend(bad);
        if page.is_empty() {
            break;
        }
        let imported: Imported =
            administrator.ask(Command::Import(Import { rows: page, owner }))?;
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
        complain!("line {}: {}", problem.line, problem.reason);
    }
    if sum.problems.len() > PROBLEMS_SHOWN {
        complain!("… and {} more", sum.problems.len() - PROBLEMS_SHOWN);
    }
    say!(
        "{} links imported, {} were there already, {} not taken",
        sum.created,
        sum.already,
        sum.problems.len()
    );
}

fn owner(administrator: &mut Administrator, name: &str) -> Result<Owner> {
    let keys: Vec<ApiKey> = administrator.ask(Command::ListKeys)?;
    let key = keys.into_iter().find(|key| key.name == name && key.revoked_at.is_none());
    let key = key.with_context(|| {
        format!(
            "there is no live API key called {name}; make one with: lodge admin key create {name}"
        )
    })?;
    Ok(Owner::Key(key.id))
}

/// Written beside its place, under a name that nothing else has, and put there when it is whole.
fn export(administrator: &mut Administrator, file: &Path) -> Result<()> {
    if file.try_exists().with_context(|| format!("{} cannot be written", file.display()))? {
        bail!(taken(file));
    }
    let mut unfinished = file.as_os_str().to_owned();
    unfinished.push(format!(".unfinished-{}", Uuid::now_v7().simple()));
    let unfinished = PathBuf::from(unfinished);
    // It holds password hashes.
    let private = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&unfinished);
    let private = private.with_context(|| format!("{} cannot be written", unfinished.display()))?;
    let exported = write_links(administrator, private)
        .and_then(|exported| put_in_place(&unfinished, file).map(|()| exported))
        // What went wrong says more than that its remains could not be removed either.
        .inspect_err(|_| drop(fs::remove_file(&unfinished)))?;
    say!("exported {exported} links to {}", file.display());
    Ok(())
}

fn taken(file: &Path) -> String {
    format!("{} exists already; an export overwrites nothing", file.display())
}

/// Gives the file its name. Unlike a rename, a link never takes the place of a file that came into being
/// meanwhile; where there are no links, a rename has to do.
fn put_in_place(unfinished: &Path, file: &Path) -> Result<()> {
    let put = match fs::hard_link(unfinished, file) {
        Ok(()) => fs::remove_file(unfinished),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => bail!(taken(file)),
        Err(_) => fs::rename(unfinished, file),
    };
    put.with_context(|| format!("{} cannot be put at {}", unfinished.display(), file.display()))
}

/// Writes every link to `to`, down to the disk; how many they are.
fn write_links(administrator: &mut Administrator, to: File) -> Result<u64> {
    let mut writer = csv::Writer::from_writer(to);
    let progress = progress_bar(0, "{spinner} {pos} links")?;
    let mut after = None;
    loop {
        let rows: Vec<ExportRow> = administrator.ask(Command::Export { after: after.take() })?;
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
    let mut written = writer.into_inner().context("the file could not be written")?;
    written.flush()?;
    written.sync_all()?;
    // Finishing moves the position to the length, which nobody knew.
    let exported = progress.position();
    progress.finish_and_clear();
    Ok(exported)
}
