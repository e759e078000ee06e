//! The protocol of the admin socket: one line of JSON per command, answered by one line with the outcome or an error.

use std::path::PathBuf;

use clap::Subcommand;
use derive_more::TryInto;
use lodge_domain::{
    accounts::{
        Account, AccountQuery, EventWithStaff, ImportAccount, NamedSecurityEvent, Role,
        SecurityEventFilter, Username,
    },
    board::{Hook, HookId, HookUrl, Slug},
    keys::ApiKey,
    links::{
        Short,
        transfer::{ExportRow, Import, Imported},
    },
    passwords::Password,
    rides::{Gate, Rebuilt, ResortDay, Ride, RideEventId, RidePosition, SkierId, StoredRide},
    secret::SecretText,
};
use serde::{Deserialize, Serialize};

/// The maximum length of a line, in bytes: a full page of an import.
pub(super) const LINE_BYTES_MAX: usize = 16 << 20;

/// An admin command.
#[derive(Debug, Serialize, Deserialize)]
#[serde(tag = "command", rename_all = "snake_case", deny_unknown_fields)]
pub(crate) enum Command {
    /// Back up the database to a new file.
    Backup { to: PathBuf },
    /// Create an API key.
    CreateKey { name: String },
    /// List the API keys.
    ListKeys,
    /// Revoke an API key.
    RevokeKey { name: String },
    /// Import a page of links.
    Import(Import),
    /// Export a page of links after the given short.
    Export { after: Option<Short> },
    /// Replace the installation's secret.
    ReplaceSecret,
    /// A command about accounts.
    User(UserCommand),
    /// List security events, newest first.
    Events(SecurityEventFilter),
    /// A command about rides.
    Rides(RidesCommand),
    /// A command about bots.
    Bot(BotCommand),
    /// A command about webhooks.
    Hook(HookCommand),
}

/// An admin command about webhooks.
#[derive(Debug, Serialize, Deserialize)]
#[serde(tag = "hook", rename_all = "snake_case", deny_unknown_fields)]
pub(crate) enum HookCommand {
    /// Add a webhook for a channel.
    Add { channel: Slug, url: HookUrl },
    /// List the webhooks.
    List,
    /// Remove a webhook.
    Remove { id: HookId },
}

/// An admin command about bots; also the options of `lodge admin bot`.
#[derive(Debug, Serialize, Deserialize, Subcommand)]
#[serde(tag = "bot", rename_all = "snake_case", deny_unknown_fields)]
pub(crate) enum BotCommand {
    /// Create a bot and print its key. The key is shown only once.
    Create {
        /// The name of the bot on the board.
        name: String,
    },
    /// List the bots.
    List,
    /// Revoke a bot's key immediately. Its messages stay.
    Revoke {
        /// The name of the bot.
        name: String,
    },
}

/// An admin command about rides.
#[derive(Debug, Serialize, Deserialize)]
#[serde(tag = "rides", rename_all = "snake_case", deny_unknown_fields)]
pub(crate) enum RidesCommand {
    /// Create a gate for one resort or for all.
    CreateGate { name: String, resort: Option<u64> },
    /// List the gates.
    ListGates,
    /// Revoke a gate's key.
    RevokeGate { name: String },
    /// Issue a new key for a gate.
    RenewGate { name: String },
    /// List the events of a day after the given place, at most [`EVENTS_MAX`].
    FindEvents { on: ResortDay, skier: Option<SkierId>, after: Option<RidePosition> },
    /// Void a ride that a gate sent, or one that was sent without a key.
    VoidRide { event: RideEventId, gate: Option<String> },
    /// Recompute all totals.
    Rebuild,
    /// List the pass codes of a range of skiers, at most the first [`CODES_MAX`].
    PassCodes { first: u64, last: u64 },
    /// Issue new pass codes for a range of skiers and invalidate the old ones.
    RenewPasses { first: u64, last: u64 },
}

/// The maximum number of pass codes in one response.
pub(crate) const CODES_MAX: u32 = 10_000;

/// The maximum number of ride events in one response.
pub(crate) const EVENTS_MAX: usize = 1_000;

/// An admin command about accounts.
#[derive(Debug, Serialize, Deserialize)]
#[serde(tag = "user", rename_all = "snake_case", deny_unknown_fields)]
pub(crate) enum UserCommand {
    /// Create an account.
    Create { username: Username, password: Password, role: Role },
    /// Import accounts.
    Import { lines: Vec<ImportAccount> },
    /// List a page of accounts.
    List(AccountQuery),
    /// Set the role of an account.
    SetRole { username: Username, role: Role },
    /// Ban an account.
    Ban { username: Username },
    /// Lift the ban of an account.
    Unban { username: Username },
    /// End all sessions of an account.
    EndSessions { username: Username },
    /// End all sessions of all accounts.
    SignOutAll,
    /// Remove the picture of an account.
    TakePicture { username: Username },
    /// List the events of an account.
    Events { username: Username },
    /// Issue a password reset code.
    Reset { username: Username },
}

/// The outcome of a command. A variant converts into its value, or into a tuple of its fields.
#[derive(Debug, Serialize, Deserialize, TryInto)]
#[serde(tag = "outcome", content = "value", rename_all = "snake_case")]
pub(crate) enum CommandOutcome {
    /// The size of the backup.
    BackedUp {
        bytes: u64,
        /// Names of engines whose data is not in the file.
        #[serde(default)]
        left_out: Vec<String>,
    },
    /// The names of the engines with a new secret.
    SecretReplaced(Vec<String>),
    /// The new key and its token, which is shown only once.
    KeyCreated { key: ApiKey, token: SecretText },
    /// All keys.
    Keys(Vec<ApiKey>),
    /// The revoked key.
    KeyRevoked(ApiKey),
    /// The counts and problems of an import.
    Imported(Imported),
    /// A page of links.
    Exported(Vec<ExportRow>),
    /// The account after the change.
    User(Account),
    /// A page of accounts.
    Users(Vec<Account>),
    /// The number of accounts that had sessions.
    AllSignedOut { accounts: u64 },
    /// The totals of rides that were wrong.
    RidesRebuilt(Rebuilt),
    /// For each line: `true` if the account is new, `false` if the username was taken, or an error.
    UsersImported(Vec<Result<bool, String>>),
    /// The events of an account, newest first.
    UserEvents(Vec<EventWithStaff>),
    /// Security events, newest first.
    Events(Vec<NamedSecurityEvent>),
    /// A password reset code, which is shown only once.
    ResetIssued { code: SecretText },
    /// The gate and its new token, which is shown only once.
    GateCreated { gate: Gate, token: SecretText },
    /// All gates.
    Gates(Vec<Gate>),
    /// The revoked gate.
    GateRevoked(Gate),
    /// The webhook and the secret that signs its deliveries, which is shown only once.
    HookAdded { hook: Hook, secret: SecretText },
    /// All webhooks.
    Hooks(Vec<Hook>),
    /// The webhook is removed.
    HookRemoved,
    /// Ride events in order of arrival.
    RideEvents(Vec<StoredRide>),
    /// The voided ride.
    RideVoided(Ride),
    /// The pass codes, by skier.
    PassCodes(Vec<(SkierId, SecretText)>),
}
