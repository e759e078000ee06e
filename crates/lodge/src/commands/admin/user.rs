//! `lodge admin user`.

use std::{
    fs::File,
    io::{self, BufRead, IsTerminal},
    path::{Path, PathBuf},
    process::ExitCode,
};

use anyhow::{Context, Result, bail};
use clap::{
    ArgGroup, Args, Subcommand,
    builder::{PossibleValuesParser, TypedValueParser},
};
use lodge_domain::{
    accounts::{Account, AccountQuery, Actor, EventWithStaff, ImportAccount, Role, Username},
    passwords::Password,
    secret::SecretText,
};

use crate::{
    admin::{Administrator, Command, UserCommand},
    commands::{
        out::{PROBLEMS_SHOWN, errln, outln},
        progress::progress_bar,
        table::Table,
    },
};

/// Accounts per request to the server.
const PAGE: usize = 1_000;

/// The columns of an import file; only the first is required.
const COLUMNS: [&str; 5] = ["username", "nickname", "email", "password_hash", "role"];

#[derive(Debug, Subcommand)]
pub(super) enum UserOptions {
    /// Create an account. Prompts for the password, or reads it from standard input.
    Create {
        /// The username.
        username: String,
        /// The role of the account.
        #[arg(long, value_parser = role(), default_value = Role::Member.name())]
        role: Role,
    },
    /// Import accounts from a CSV file with the columns `username`, `nickname`, `email`, `password_hash` and `role`;
    /// only `username` is required. Hashes are argon2id in PHC format or bcrypt. Can be repeated: existing
    /// accounts stay unchanged.
    Import {
        /// The file to import.
        file: PathBuf,
    },
    /// List accounts by username.
    List {
        /// List only usernames with this prefix.
        #[arg(long, default_value = "")]
        prefix: String,
    },
    /// Set the role of an account.
    Role {
        /// The username.
        username: String,
        /// The new role.
        #[arg(value_parser = role())]
        role: Role,
    },
    /// Ban an account and end all its sessions.
    Ban(UsernameArg),
    /// Lift the ban of an account.
    Unban(UsernameArg),
    /// End all sessions of an account, or of all accounts.
    #[command(group = ArgGroup::new("accounts").required(true).args(["username", "all"]))]
    SignOut {
        /// The username.
        username: Option<String>,
        /// End the sessions of all accounts.
        #[arg(long)]
        all: bool,
    },
    /// Remove the picture of an account. Its files are deleted within three hours.
    PictureRemove(UsernameArg),
    /// List the events of an account in the last year, the newest 1,000.
    Events(UsernameArg),
    /// Issue a code that sets a new password, valid once and for 10 minutes. All sessions of the account end
    /// immediately.
    Reset(UsernameArg),
}

#[derive(Debug, Args)]
pub(super) struct UsernameArg {
    /// The username.
    username: String,
}

impl UsernameArg {
    fn name(&self) -> Result<Username> {
        Ok(Username::parse(&self.username)?)
    }
}

fn role() -> impl TypedValueParser<Value = Role> {
    PossibleValuesParser::new(Role::ALL.map(Role::name)).try_map(|name| Role::parse(&name))
}

/// Carries out one command.
pub(super) fn carry_out(
    administrator: &mut Administrator,
    options: UserOptions,
) -> Result<ExitCode> {
    match options {
        UserOptions::Create { username, role } => {
            let username = Username::parse(&username)?;
            let command = UserCommand::Create { username, password: password()?, role };
            let account = change_account(administrator, command)?;
            outln!("{} is created", account.username);
        }
        UserOptions::Import { file } => return import(administrator, &file),
        UserOptions::List { prefix } => list(administrator, &prefix)?,
        UserOptions::Role { username, role } => {
            let username = Username::parse(&username)?;
            let account = change_account(administrator, UserCommand::SetRole { username, role })?;
            outln!("{} now has the role {}", account.username, account.role.name());
        }
        UserOptions::Ban(who) => {
            let account =
                change_account(administrator, UserCommand::Ban { username: who.name()? })?;
            outln!("{} is banned; all sessions are ended", account.username);
        }
        UserOptions::Unban(who) => {
            let account =
                change_account(administrator, UserCommand::Unban { username: who.name()? })?;
            outln!("{} is no longer banned", account.username);
        }
        UserOptions::SignOut { username: Some(username), .. } => {
            let username = Username::parse(&username)?;
            let account = change_account(administrator, UserCommand::EndSessions { username })?;
            outln!("all sessions of {} are ended", account.username);
        }
        UserOptions::SignOut { username: None, .. } => {
            let accounts: u64 = administrator.request(Command::User(UserCommand::SignOutAll))?;
            outln!("all sessions are ended; accounts that had any: {accounts}");
        }
        UserOptions::PictureRemove(who) => {
            let account =
                change_account(administrator, UserCommand::TakePicture { username: who.name()? })?;
            outln!("the picture of {} is removed", account.username);
        }
        UserOptions::Events(who) => events(administrator, who.name()?)?,
        UserOptions::Reset(who) => reset(administrator, who.name()?)?,
    }
    Ok(ExitCode::SUCCESS)
}

/// Runs a command that changes an account. Returns the changed account.
fn change_account(administrator: &mut Administrator, command: UserCommand) -> Result<Account> {
    administrator.request(Command::User(command))
}

/// Reads a password: from the terminal without echo, or the first line of standard input.
fn password() -> Result<Password> {
    let typed = if io::stdin().is_terminal() {
        rpassword::prompt_password("Password: ")?
    } else {
        let mut line = String::new();
        io::stdin().lock().read_line(&mut line)?;
        line.trim_end_matches(['\r', '\n']).to_owned()
    };
    Ok(Password::parse("password", typed)?)
}

fn reset(administrator: &mut Administrator, username: Username) -> Result<()> {
    let code: SecretText = administrator.request(Command::User(UserCommand::Reset { username }))?;
    outln!("{}", code.reveal());
    Ok(())
}

fn events(administrator: &mut Administrator, username: Username) -> Result<()> {
    let events: Vec<EventWithStaff> =
        administrator.request(Command::User(UserCommand::Events { username }))?;
    let mut table = Table::new(["TIME", "EVENT", "BY"]);
    for told in events {
        let by = match (told.event.by, told.staff) {
            (Actor::Owner, _) => "its owner".to_owned(),
            (Actor::Operator, _) => "the command line".to_owned(),
            (Actor::Staff(_), Some(name)) => name.to_string(),
            (Actor::Staff(_), None) => "a deleted staff account".to_owned(),
        };
        table.add([told.event.at.to_string(), told.event.kind.name().to_owned(), by]);
    }
    table.print();
    Ok(())
}

fn list(administrator: &mut Administrator, prefix: &str) -> Result<()> {
    let titles = ["USERNAME", "NICKNAME", "ROLE", "CREATED", "STATE"];
    let (mut after, mut table) = (None, Table::new(titles));
    loop {
        let query = AccountQuery { prefix: Username::prefix(prefix), after, limit: PAGE };
        let page: Vec<Account> = administrator.request(Command::User(UserCommand::List(query)))?;
        for account in &page {
            table.add([
                account.username.to_string(),
                account.nickname.to_string(),
                account.role.name().to_owned(),
                account.created_at.to_string(),
                account.banned_at.map_or_else(|| "active".to_owned(), |at| format!("banned {at}")),
            ]);
        }
        table.print();
        match page.last() {
            Some(last) if page.len() == PAGE => after = Some(last.username.clone()),
            _ => return Ok(()),
        }
    }
}

/// Counts of an import so far.
#[derive(Default)]
struct ImportCounts {
    made: u64,
    already: u64,
    refused: u64,
}

fn import(administrator: &mut Administrator, file: &Path) -> Result<ExitCode> {
    let input = File::open(file).with_context(|| format!("cannot read {}", file.display()))?;
    let progress = progress_bar(input.metadata()?.len(), "{bar:40} {bytes}/{total_bytes} {msg}")?;
    let mut reader = csv::Reader::from_reader(progress.wrap_read(input));
    let headers = reader.headers().with_context(|| format!("{}", file.display()))?.clone();
    check_columns(&headers)?;
    let mut records = reader.records().peekable();
    let mut sum = ImportCounts::default();
    while records.peek().is_some() {
        let (mut numbers, mut lines) = (Vec::new(), Vec::new());
        for record in records.by_ref().take(PAGE) {
            let number = |at: Option<&csv::Position>| at.map_or(0, csv::Position::line);
            match record.and_then(|record| {
                let line = record.deserialize::<ImportAccount>(Some(&headers))?;
                Ok((number(record.position()), line))
            }) {
                Ok((number, line)) => {
                    numbers.push(number);
                    lines.push(line);
                }
                Err(error) => sum.add(number(error.position()), Err(error.to_string())),
            }
        }
        let told: Vec<Result<bool, String>> =
            administrator.request(Command::User(UserCommand::Import { lines }))?;
        for (number, outcome) in numbers.into_iter().zip(told) {
            sum.add(number, outcome);
        }
        progress.set_message(format!("{} accounts", sum.made + sum.already));
    }
    progress.finish_and_clear();
    outln!(
        "accounts created: {}, usernames already taken: {}, lines rejected: {}",
        sum.made,
        sum.already,
        sum.refused
    );
    Ok(if sum.refused == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Refuses unknown columns, whose data would be lost, and a file without usernames.
fn check_columns(headers: &csv::StringRecord) -> Result<()> {
    if let Some(column) = headers.iter().find(|column| !COLUMNS.contains(column)) {
        bail!("line 1: unknown column {column:?}; the columns are {}", COLUMNS.join(", "));
    }
    if !headers.iter().any(|column| column == COLUMNS[0]) {
        bail!("line 1 must name the columns; {} is required", COLUMNS[0]);
    }
    Ok(())
}

impl ImportCounts {
    fn add(&mut self, line: u64, outcome: Result<bool, String>) {
        match outcome {
            Ok(true) => self.made += 1,
            Ok(false) => self.already += 1,
            Err(why) => {
                self.refused += 1;
                if self.refused <= PROBLEMS_SHOWN as u64 {
                    errln!("line {line}: {why}");
                }
            }
        }
    }
}
