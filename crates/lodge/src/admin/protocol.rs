//! What is said over the socket: a command as one line of JSON, and its outcome, or why not, as one
//! line back.

use std::path::PathBuf;

use clap::Subcommand;
use derive_more::TryInto;
use lodge_domain::{
    accounts::{Account, AccountQuery, ImportAccount, Role, ToldEvent, Username},
    board::{Hook, HookId, HookUrl, Slug},
    keys::ApiKey,
    links::{
        Short,
        transfer::{ExportRow, Import, Imported},
    },
    passwords::Password,
    rides::{EventId, Gate, Rebuilt, ResortDay, Ride, RidePlace, SkierId, StoredRide},
    secret::Hidden,
};
use serde::{Deserialize, Serialize};

/// The longest line: a full page of an import.
pub(super) const LINE_BYTES_MAX: usize = 16 << 20;

/// What an administrator may ask for.
#[derive(Debug, Serialize, Deserialize)]
#[serde(tag = "command", rename_all = "snake_case", deny_unknown_fields)]
pub(crate) enum Command {
    /// Copy the database, while it is in use, to a new file.
    Backup { to: PathBuf },
    /// Make an API key.
    CreateKey { name: String },
    /// List the API keys.
    ListKeys,
    /// End an API key.
    RevokeKey { name: String },
    /// Add links.
    Import(Import),
    /// Read links, those after the given short.
    Export { after: Option<Short> },
    /// Something about accounts.
    User(UserCommand),
    /// Something about rides.
    Rides(RidesCommand),
    /// Something about bots of the board.
    Bot(BotCommand),
    /// Something about hooks of the board.
    Hook(HookCommand),
}

/// What an administrator may ask for about hooks of the board.
#[derive(Debug, Serialize, Deserialize)]
#[serde(tag = "hook", rename_all = "snake_case", deny_unknown_fields)]
pub(crate) enum HookCommand {
    /// Have a URL told what happens in a channel.
    Add { channel: Slug, url: HookUrl },
    /// List the hooks.
    List,
    /// Remove a hook.
    Remove { id: HookId },
}

/// What an administrator may ask for about bots of the board: also `lodge admin bot`.
#[derive(Debug, Serialize, Deserialize, Subcommand)]
#[serde(tag = "bot", rename_all = "snake_case", deny_unknown_fields)]
pub(crate) enum BotCommand {
    /// Make a bot and print its key, the only time that it can be had.
    Create {
        /// What it is called on the board.
        name: String,
    },
    /// List the bots.
    List,
    /// End a bot's key at once. What it wrote stays.
    Revoke {
        /// What it is called.
        name: String,
    },
}

/// What an administrator may ask for about rides.
#[derive(Debug, Serialize, Deserialize)]
#[serde(tag = "rides", rename_all = "snake_case", deny_unknown_fields)]
pub(crate) enum RidesCommand {
    /// Make a gate, of one resort or of all.
    CreateGate { name: String, resort: Option<u64> },
    /// List the gates.
    ListGates,
    /// End a gate's key.
    RevokeGate { name: String },
    /// Give a gate another key.
    RenewGate { name: String },
    /// Tell the events of a day, those after the given one, of which there are [`EVENTS_MAX`] at most.
    FindEvents { on: ResortDay, skier: Option<SkierId>, after: Option<RidePlace> },
    /// Take back a ride of a gate's, or of whoever has no key.
    VoidRide { event: EventId, gate: Option<String> },
    /// Make all sums anew.
    Rebuild,
    /// Tell the codes on the passes of these skiers, of the first [`CODES_MAX`] at most.
    PassCodes { first: u64, last: u64 },
    /// Make those codes void, and tell the new ones.
    RenewPasses { first: u64, last: u64 },
}

/// The most codes in one answer.
pub(crate) const CODES_MAX: u32 = 10_000;

/// The most events about rides in one answer.
pub(crate) const EVENTS_MAX: usize = 1_000;

/// What an administrator may ask for about accounts.
#[derive(Debug, Serialize, Deserialize)]
#[serde(tag = "user", rename_all = "snake_case", deny_unknown_fields)]
pub(crate) enum UserCommand {
    /// Make an account.
    Create { username: Username, password: Password, role: Role },
    /// Make accounts from elsewhere.
    Import { lines: Vec<ImportAccount> },
    /// Read accounts.
    List(AccountQuery),
    /// Give somebody a role.
    SetRole { username: Username, role: Role },
    /// Keep somebody out.
    Ban { username: Username },
    /// Let somebody in again.
    Unban { username: Username },
    /// Take somebody's picture away.
    TakePicture { username: Username },
    /// Read what happened to somebody's account.
    Events { username: Username },
    /// Give out a code to set a new password with.
    Reset { username: Username },
}

/// What came of a command. Each variant becomes what it holds: several fields are a tuple.
#[derive(Debug, Serialize, Deserialize, TryInto)]
#[serde(tag = "outcome", content = "value", rename_all = "snake_case")]
pub(crate) enum Outcome {
    /// The size of the backup.
    BackedUp {
        bytes: u64,
        /// Engines whose data are not in the file.
        #[serde(default)]
        left_out: Vec<String>,
    },
    /// The key and its token, which cannot be had again.
    KeyCreated { key: ApiKey, token: Hidden },
    /// Every key.
    Keys(Vec<ApiKey>),
    /// The key that opens nothing any more.
    KeyRevoked(ApiKey),
    /// What was imported.
    Imported(Imported),
    /// A page of links.
    Exported(Vec<ExportRow>),
    /// The account as it is now.
    User(Account),
    /// A page of accounts.
    Users(Vec<Account>),
    /// Which sums of rides were wrong.
    RidesRebuilt(Rebuilt),
    /// What came of each line: whether its name was free, or why it cannot be.
    UsersImported(Vec<Result<bool, String>>),
    /// What happened to an account, newest first.
    UserEvents(Vec<ToldEvent>),
    /// A code, which cannot be had again.
    ResetIssued { code: Hidden },
    /// The gate and its token, which cannot be had again.
    GateCreated { gate: Gate, token: Hidden },
    /// Every gate.
    Gates(Vec<Gate>),
    /// The gate that sends nothing any more.
    GateRevoked(Gate),
    /// The hook, and what its deliveries are signed with, which cannot be had again.
    HookAdded { hook: Hook, secret: Hidden },
    /// Every hook.
    Hooks(Vec<Hook>),
    /// The hook is told nothing any more.
    HookRemoved,
    /// Events about rides, in the order in which they came.
    RideEvents(Vec<StoredRide>),
    /// The ride that was taken back.
    RideVoided(Ride),
    /// The codes on skiers' passes, by number.
    PassCodes(Vec<(SkierId, Hidden)>),
}
