//! The server side of the admin socket.

use std::{
    fs, io,
    ops::RangeInclusive,
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use anyhow::Context;
use futures_util::{SinkExt, StreamExt};
use lodge_domain::{
    Error,
    accounts::{Accounts, NewPassword},
    board::Hooks,
    keys::Keys,
    rides::{GateId, Rides, SkierId},
    security::{self, SecurityActor, SecurityContext, SecurityEventKind},
};
use tokio::{
    net::{UnixListener, UnixStream},
    sync::Semaphore,
    time::timeout,
};
use tokio_util::{
    codec::{Framed, LinesCodec},
    sync::CancellationToken,
    task::TaskTracker,
};

use super::{
    SOCKET,
    protocol::{
        BotCommand, CODES_MAX, Command, CommandOutcome, EVENTS_MAX, HookCommand, LINE_BYTES_MAX,
        RidesCommand, UserCommand,
    },
};
use crate::{
    jobs::security_events,
    wiring::{Backup, Services},
};

/// The maximum number of concurrent admin sessions.
const SESSIONS_MAX: usize = 8;

/// The pause after a failed accept.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

/// The idle timeout of a session.
const IDLE: Duration = Duration::from_mins(1);

/// The listening admin socket of a data folder.
pub(crate) struct Socket {
    path: PathBuf,
    listener: UnixListener,
}

/// Opens the socket of the data folder. A failure is logged; the server runs without the socket.
pub(crate) fn listen(folder: &Path) -> Option<Socket> {
    let path = folder.join(SOCKET);
    match bind(&path) {
        Ok(listener) => Some(Socket { path, listener }),
        Err(error) => {
            tracing::error!(%error, socket = %path.display(), "cannot open the socket for lodge admin");
            None
        }
    }
}

/// Serves sessions on the socket until `stop`.
pub(crate) async fn serve(socket: Socket, services: Arc<Services>, stop: CancellationToken) {
    let Socket { path, listener } = socket;
    let places = Arc::new(Semaphore::new(SESSIONS_MAX));
    let sessions = TaskTracker::new();
    while let Some(accepted) = stop.run_until_cancelled(listener.accept()).await {
        let Ok((stream, _)) = accepted else {
            // Usually out of file descriptors: an immediate retry would spin.
            tokio::time::sleep(ACCEPT_PAUSE).await;
            continue;
        };
        let Ok(place) = Arc::clone(&places).try_acquire_owned() else { continue };
        let (services, stop) = (Arc::clone(&services), stop.clone());
        sessions.spawn(async move {
            stop.run_until_cancelled(session(stream, &services)).await;
            drop(place);
        });
    }
    sessions.close();
    sessions.wait().await;
    let _ = fs::remove_file(path);
}

/// Binds the socket. This process holds the folder's lock, so an existing socket is left over from a dead process.
fn bind(path: &Path) -> io::Result<UnixListener> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    let listener = UnixListener::bind(path)?;
    fs::set_permissions(path, fs::Permissions::from_mode(0o600))?;
    Ok(listener)
}

async fn session(stream: UnixStream, services: &Services) {
    let mut lines = Framed::new(stream, LinesCodec::new_with_max_length(LINE_BYTES_MAX));
    while let Ok(Some(Ok(line))) = timeout(IDLE, lines.next()).await {
        let answer = match serde_json::from_str(&line) {
            // Includes the cause, which the operator may read but a caller may not.
            Ok(command) => execute(services, command).await.map_err(|error| format!("{error:#}")),
            Err(error) => Err(format!(
                "unknown command; lodge admin and the server may have different versions ({error})"
            )),
        };
        let Ok(answer) = serde_json::to_string(&answer) else { return };
        if lines.send(answer).await.is_err() {
            return;
        }
    }
}

fn is_about_links(command: &Command) -> bool {
    use Command::{CreateKey, Export, Import, ListKeys, RevokeKey};
    matches!(command, CreateKey { .. } | ListKeys | RevokeKey { .. } | Import(_) | Export { .. })
}

/// Executes a command as the operator. Its security events are stored before it is answered.
pub(super) async fn execute(
    services: &Services,
    command: Command,
) -> anyhow::Result<CommandOutcome> {
    let recorder = Arc::clone(&services.security) as _;
    let context = SecurityContext::new(recorder, None, SecurityActor::Operator);
    if matches!(command, Command::Events(_)) {
        store_events(services).await;
    }
    let outcome = security::within(context, execute_as_operator(services, command)).await;
    store_events(services).await;
    outcome
}

/// Stores the security events that wait.
async fn store_events(services: &Services) {
    if let Err(error) = security_events::store_all(services, &mut Vec::new()).await {
        tracing::error!(%error, "security events could not be stored; they are in the log only");
    }
}

async fn execute_as_operator(
    services: &Services,
    command: Command,
) -> anyhow::Result<CommandOutcome> {
    if services.has_remote_links && is_about_links(&command) {
        anyhow::bail!(
            "links and API keys are in Cassandra, which this process does not use; run the command on a process \
             with the app \"links\" and the role \"web\" or \"worker\""
        );
    }
    Ok(match command {
        Command::Backup { to } => {
            let Backup { bytes, left_out } = services.engines.backup(&to).await?;
            security::record(SecurityEventKind::OperatorCommand, None, "backup");
            CommandOutcome::BackedUp { bytes, left_out }
        }
        Command::ReplaceSecret => {
            CommandOutcome::SecretReplaced(services.engines.replace_secrets().await?)
        }
        Command::CreateKey { name } => {
            let (key, token) = services.keys.create(&name).await?;
            CommandOutcome::KeyCreated { key, token: token.into() }
        }
        Command::ListKeys => CommandOutcome::Keys(services.keys.list().await?),
        Command::RevokeKey { name } => {
            CommandOutcome::KeyRevoked(services.keys.revoke(&name).await?)
        }
        Command::Import(import) => {
            security::record(SecurityEventKind::OperatorCommand, None, "import");
            CommandOutcome::Imported(services.links.import(import).await?)
        }
        Command::Export { after } => {
            if after.is_none() {
                security::record(SecurityEventKind::OperatorCommand, None, "export");
            }
            CommandOutcome::Exported(services.links.export(after).await?)
        }
        Command::Events(filter) => {
            let accounts = services.accounts.as_ref();
            let accounts = accounts.context("accounts are not stored here (see apps and roles)")?;
            CommandOutcome::Events(accounts.security_events(filter).await?)
        }
        Command::User(command) => {
            let accounts = services.accounts.as_ref();
            let accounts = accounts.context("accounts are not stored here (see apps and roles)")?;
            execute_user_command(accounts, command).await?
        }
        Command::Rides(command) => {
            let rides = services.rides.as_ref();
            let rides = rides.context("rides are not served here (see apps and roles)")?;
            execute_rides_command(rides, command).await?
        }
        Command::Bot(command) => {
            let board = services.board.as_ref();
            let board = board.context("the board is not served here (see apps and roles)")?;
            execute_bot_command(board.bots(), command).await?
        }
        Command::Hook(command) => {
            let hooks = services.hooks.as_ref();
            let hooks = hooks.context("the board is not served here (see apps and roles)")?;
            execute_hook_command(&hooks.service, command).await?
        }
    })
}

async fn execute_hook_command(
    hooks: &Hooks,
    command: HookCommand,
) -> lodge_domain::Result<CommandOutcome> {
    Ok(match command {
        HookCommand::Add { channel, url } => {
            let (hook, secret) = hooks.add(channel, url).await?;
            CommandOutcome::HookAdded { hook, secret: secret.to_text().into() }
        }
        HookCommand::List => CommandOutcome::Hooks(hooks.list().await?),
        HookCommand::Remove { id } => {
            hooks.remove(id).await?;
            CommandOutcome::HookRemoved
        }
    })
}

async fn execute_bot_command(
    bots: &Keys,
    command: BotCommand,
) -> lodge_domain::Result<CommandOutcome> {
    Ok(match command {
        BotCommand::Create { name } => {
            let (key, token) = bots.create(&name).await?;
            CommandOutcome::KeyCreated { key, token: token.into() }
        }
        BotCommand::List => CommandOutcome::Keys(bots.list().await?),
        BotCommand::Revoke { name } => CommandOutcome::KeyRevoked(bots.revoke(&name).await?),
    })
}

async fn execute_rides_command(
    rides: &Rides,
    command: RidesCommand,
) -> lodge_domain::Result<CommandOutcome> {
    Ok(match command {
        RidesCommand::CreateGate { name, resort } => {
            let resort = resort.map(|number| rides.catalog().resort(number)).transpose();
            let resort = resort.map_err(name_resort_option)?;
            let (gate, token) = rides.gates().create(&name, resort.map(|(id, _)| id)).await?;
            CommandOutcome::GateCreated { gate, token: token.into() }
        }
        RidesCommand::Rebuild => CommandOutcome::RidesRebuilt(rides.rebuild().await?),
        RidesCommand::ListGates => CommandOutcome::Gates(rides.gates().list().await?),
        RidesCommand::RevokeGate { name } => {
            CommandOutcome::GateRevoked(rides.gates().revoke(&name).await?)
        }
        RidesCommand::RenewGate { name } => {
            let (gate, token) = rides.gates().renew(&name).await?;
            CommandOutcome::GateCreated { gate, token: token.into() }
        }
        RidesCommand::FindEvents { on, skier, after } => {
            CommandOutcome::RideEvents(rides.search().on_day(on, skier, after, EVENTS_MAX).await?)
        }
        RidesCommand::VoidRide { event, gate } => {
            let gate = match gate {
                Some(name) => rides.gates().named(&name).await?.id,
                None => GateId::ANONYMOUS,
            };
            CommandOutcome::RideVoided(rides.void(gate, event).await?)
        }
        RidesCommand::PassCodes { first, last } => {
            pass_codes(rides, passes_of(rides, first, last)?).await?
        }
        RidesCommand::RenewPasses { first, last } => {
            let skiers = passes_of(rides, first, last)?;
            rides.passes().renew(skiers.clone()).await?;
            pass_codes(rides, skiers).await?
        }
    })
}

/// Names the option `--resort` in an error about an unknown resort.
fn name_resort_option(error: Error) -> Error {
    match error {
        Error::Invalid { reason, .. } => Error::invalid("--resort", reason),
        other => other,
    }
}

/// Returns the range of skiers, cut to the first [`CODES_MAX`].
fn passes_of(
    rides: &Rides,
    first: u64,
    last: u64,
) -> lodge_domain::Result<RangeInclusive<SkierId>> {
    let (first, last) = (rides.catalog().skier(first)?, rides.catalog().skier(last)?);
    Ok(first..=last.min(SkierId(first.0.saturating_add(CODES_MAX - 1))))
}

async fn pass_codes(
    rides: &Rides,
    skiers: RangeInclusive<SkierId>,
) -> lodge_domain::Result<CommandOutcome> {
    let codes = rides.passes().codes(skiers).await?.into_iter();
    Ok(CommandOutcome::PassCodes(
        codes.map(|(skier, code)| (skier, code.to_string().into())).collect(),
    ))
}

async fn execute_user_command(
    accounts: &Accounts,
    command: UserCommand,
) -> lodge_domain::Result<CommandOutcome> {
    let user = async |name| accounts.user(&name).await;
    Ok(match command {
        UserCommand::Create { username, password, role } => {
            let password = NewPassword::parse("password", password.into(), &username)?;
            CommandOutcome::User(accounts.create(username, password, role).await?)
        }
        UserCommand::Import { lines } => {
            let came_of_it = accounts.import(&lines).await?.into_iter();
            let told = came_of_it.map(|line| line.map_err(|error| error.to_string()));
            CommandOutcome::UsersImported(told.collect())
        }
        UserCommand::List(query) => CommandOutcome::Users(accounts.list(query).await?),
        UserCommand::SetRole { username, role } => {
            CommandOutcome::User(accounts.set_role(&user(username).await?, role, None).await?)
        }
        UserCommand::Ban { username } => {
            CommandOutcome::User(accounts.ban(&user(username).await?, None).await?)
        }
        UserCommand::Unban { username } => {
            CommandOutcome::User(accounts.unban(&user(username).await?, None).await?)
        }
        UserCommand::EndSessions { username } => {
            CommandOutcome::User(accounts.end_sessions(&user(username).await?, None).await?)
        }
        UserCommand::SignOutAll => {
            CommandOutcome::AllSignedOut { accounts: accounts.sign_out_all().await? }
        }
        // The next sweep deletes the files: this process may not have the picture folder.
        UserCommand::TakePicture { username } => {
            let taken = accounts.take_picture(&user(username).await?, None).await?;
            let (account, Some(_)) = taken else {
                return Err(Error::not_found("this account has no picture"));
            };
            CommandOutcome::User(account)
        }
        UserCommand::Events { username } => {
            CommandOutcome::UserEvents(accounts.events(&username).await?)
        }
        UserCommand::Reset { username } => {
            let code = accounts.issue_reset(&user(username).await?, None).await?;
            CommandOutcome::ResetIssued { code }
        }
    })
}
