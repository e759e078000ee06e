//! A server from its start to its last write.

use std::{future::Future, net::SocketAddr, sync::Arc, time::Duration};

use anyhow::{Context, Result};
use futures_util::{StreamExt, stream};
use lodge_domain::{
    accounts::{AccountsClient, Backend, Belongings, Leavers},
    board::{Board, Guests, Look},
    links::{ClickBatch, Links},
    rides::Rides,
};
use lodge_web::{
    Front,
    edge::{lanes::Lanes, server},
};
use lodge_wire::ServerOptions;
use metrics_exporter_prometheus::PrometheusHandle;
use tokio::{
    net::TcpListener,
    signal::unix::{Signal, SignalKind, signal},
    sync::broadcast::error::RecvError,
    task::{JoinError, JoinHandle},
    time::{MissedTickBehavior, interval},
};
use tokio_util::{sync::CancellationToken, task::TaskTracker};

use crate::{
    admin,
    config::{Config, Role},
    ops::Ops,
    telemetry,
    wiring::{self, Services},
};

/// How often clicks are stored: no click waits for a second.
const FLUSH: Duration = Duration::from_millis(850);

/// How often it is noted how many events about rides were refused.
const NOTE: Duration = Duration::from_secs(1);

/// How often what is past its time is put away.
const TIDY: Duration = Duration::from_secs(30);

/// How often pictures that nobody has are removed.
const SWEEP: Duration = Duration::from_hours(1);

/// How often it is asked who has deleted their account.
const SEE_OFF: Duration = Duration::from_secs(1);

/// The same for the board, where others see what people are called now.
const LOOK_AFTER: Duration = Duration::from_millis(300);

/// How often it is looked whether a hook is to be told something, beside when something happens.
const LOOK: Duration = Duration::from_secs(1);

/// The pause between two rounds of tidying while there is more to do: writes go before.
const TIDY_PAUSE: Duration = Duration::from_millis(50);

/// The exit code after a second signal, as a shell gives it for Ctrl-C.
const STOPPED_AT_ONCE: i32 = 130;

/// How long the last clicks and notes may take to be stored.
const LAST_FLUSH: Duration = Duration::from_secs(5);

/// How long between two tries of it.
const LAST_PAUSE: Duration = Duration::from_millis(100);

/// Serves until a signal, then lets what runs finish, stores the last clicks and closes the engine.
pub(crate) async fn serve(config: Config, metrics: PrometheusHandle) -> Result<()> {
    // Listened for from the start: whoever sees "ready" may send one at once.
    let mut ends = Ends::listen()?;
    let hangups = signal(SignalKind::hangup())?;
    let services = Arc::new(wiring::services(&config).await?);
    // Before anything else is to be seen: whoever sees it may want to administer it at once.
    let socket = admin::listen(&config.data);
    let is_web = config.roles.contains(&Role::Web);
    let public = is_web.then(|| bind(config.http.listen)).transpose()?;
    let address = public.as_ref().map(TcpListener::local_addr).transpose()?;
    let wire = listen_for_web(&config, &services)?;
    let wire_address = wire.as_ref().map(|wire| wire.0.local_addr()).transpose()?;
    let ops = bind(config.ops.listen)?;
    let ops_address = ops.local_addr()?;

    let (stop, stop_ops) = (CancellationToken::new(), CancellationToken::new());
    let tasks = TaskTracker::new();
    let limits = wiring::connection_limits(&config);
    let ops_site =
        Ops::new(metrics.clone(), services.engines.clone(), services.rides.clone(), stop.clone());
    let server =
        public.map(|public| serve_public(public, &config, &services, &stop)).transpose()?;
    tasks.spawn(server::serve(ops, ops_site, limits, Lanes::here(), stop_ops.clone()));
    if let Some((listener, backend, options)) = wire {
        tasks.spawn(lodge_wire::serve(listener, backend, options, stop.clone()));
    }
    if let Some(socket) = socket {
        tasks.spawn(admin::serve(socket, Arc::clone(&services), stop_ops.clone()));
    }
    let following = tasks.spawn({
        let (services, stop) = (Arc::clone(&services), stop_ops.clone());
        async move { stop.run_until_cancelled(services.follow()).await }
    });
    tasks.spawn(upkeep(metrics, stop_ops.clone()));
    tasks.spawn(tidy(config.clone(), Arc::clone(&services), stop_ops.clone()));
    if let Some(rides) = &services.rides {
        tasks.spawn(note_refused(Arc::clone(rides), stop_ops.clone()));
    }
    if let Some(board) = &services.board {
        tasks.spawn(note_read(Arc::clone(board), stop_ops.clone()));
    }
    tasks.spawn(sweep(Arc::clone(&services), stop.clone()));
    tasks.spawn(see_off(Arc::clone(&services), stop.clone()));
    tasks.spawn(look_after(Arc::clone(&services), stop.clone()));
    tasks.spawn(tell_hooks(Arc::clone(&services), stop.clone()));
    tasks.spawn(reload_on(hangups, config.clone(), Arc::clone(&services), stop_ops.clone()));
    let clicks = tokio::spawn(store_clicks(Arc::clone(&services.links), stop_ops.clone()));
    let address = address.map_or_else(|| "none".to_owned(), |address| format!("http://{address}"));
    let accounts = where_accounts_are(&config, wire_address);
    tracing::info!(address, accounts, ops = %format!("http://{ops_address}"), data = %config.data.display(), "ready");

    let failed = tokio::select! {
        () = ends.next() => None,
        // Without it nobody hears what others change, and nobody stores what waits.
        failed = failure_of(following) => Some(failed),
    };
    if let Some(error) = &failed {
        tracing::error!(%error, "what goes on beside the requests has failed");
    }
    tracing::info!("stopping; a second signal stops at once");
    let orderly = async {
        stop.cancel();
        if let Some(server) = server {
            server.await.context("the server failed")?;
        }
        services.finish().await;
        stop_ops.cancel();
        tasks.close();
        clicks.await.context("clicks could not be stored")?;
        tasks.wait().await;
        services.engines.close().await.context("the data folder did not close cleanly")
    };
    tokio::select! {
        done = orderly => done?,
        () = ends.next() => {
            tracing::warn!("stopped at once; clicks of the last second may be lost");
            std::process::exit(STOPPED_AT_ONCE);
        }
    }
    tracing::info!("stopped");
    failed.map_or(Ok(()), |error| Err(error).context("what goes on beside the requests has failed"))
}

/// Where accounts are asked for: of others on this listener, here alone, or of others.
fn where_accounts_are(config: &Config, listener: Option<SocketAddr>) -> String {
    match listener {
        Some(address) => address.to_string(),
        None if config.keeps_accounts() => "here".to_owned(),
        None if config.answers_for_accounts() => config.accounts.servers.join(","),
        None => "none".to_owned(),
    }
}

/// How a task fails; if it ends well, this never does.
async fn failure_of<T>(task: JoinHandle<T>) -> JoinError {
    match task.await {
        Ok(_) => std::future::pending().await,
        Err(error) => error,
    }
}

/// Answers the public until `stop`.
fn serve_public(
    listener: TcpListener,
    config: &Config,
    services: &Services,
    stop: &CancellationToken,
) -> Result<JoinHandle<()>> {
    let (front, limits) = (
        Front::new(wiring::site(config, services), wiring::apps(config, services)),
        wiring::connection_limits(config),
    );
    let lanes = Lanes::start().context("a thread could not be started")?;
    Ok(tokio::spawn(server::serve(listener, front, limits, lanes, stop.clone())))
}

/// A listener, what is asked there, and within which bounds.
type ForWeb = (TcpListener, Arc<dyn Backend>, ServerOptions);

/// The listener for the web tier, and what is served there, if accounts are kept here for others.
fn listen_for_web(config: &Config, services: &Services) -> Result<Option<ForWeb>> {
    let (Some(accounts), Some(options)) = (&services.accounts, wiring::tiers::server(config)?)
    else {
        return Ok(None);
    };
    Ok(Some((bind(config.accounts.listen)?, Arc::clone(accounts) as Arc<dyn Backend>, options)))
}

fn bind(address: SocketAddr) -> Result<TcpListener> {
    server::listen(address).with_context(|| format!("cannot listen on {address}"))
}

/// The signals that end a server.
struct Ends {
    terminate: Signal,
    interrupt: Signal,
}

impl Ends {
    fn listen() -> Result<Self> {
        let (terminate, interrupt) = (SignalKind::terminate(), SignalKind::interrupt());
        Ok(Self { terminate: signal(terminate)?, interrupt: signal(interrupt)? })
    }

    async fn next(&mut self) {
        tokio::select! {
            _ = self.terminate.recv() => {},
            _ = self.interrupt.recv() => {},
        }
    }
}

/// Stores the clicks that were counted, more than once a second, and the last ones after `stop`.
async fn store_clicks(links: Arc<Links>, stop: CancellationToken) {
    let mut ticks = interval(FLUSH);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut unstored = None;
    while stop.run_until_cancelled(ticks.tick()).await.is_some() {
        let _ = store_batch(&links, &mut unstored).await;
        #[expect(clippy::cast_precision_loss, reason = "a metric")]
        metrics::gauge!("lodge_links_clicks_lost").set(links.counter().lost() as f64);
    }
    let last = async {
        loop {
            match store_batch(&links, &mut unstored).await {
                Ok(true) => {}
                Ok(false) => return,
                Err(_) => tokio::time::sleep(LAST_PAUSE).await,
            }
        }
    };
    if tokio::time::timeout(LAST_FLUSH, last).await.is_err() {
        tracing::error!("the store did not take the last clicks in time; they are lost");
    }
}

/// Stores one batch; false if there is none. A batch stays in `unstored` until the store has it, and goes
/// again, by its number, before a newer one.
async fn store_batch(
    links: &Links,
    unstored: &mut Option<Arc<ClickBatch>>,
) -> lodge_domain::Result<bool> {
    if unstored.is_none() {
        *unstored = links.counter().drain().map(Arc::new);
    }
    let Some(batch) = unstored else { return Ok(false) };
    if let Err(error) = links.store_clicks(Arc::clone(batch)).await {
        metrics::counter!("lodge_links_click_batches_failed_total").increment(1);
        tracing::warn!(%error, "clicks could not be stored yet");
        return Err(error);
    }
    let stored = batch.clicks.iter().map(|(_, count)| count).sum();
    metrics::counter!("lodge_links_clicks_stored_total").increment(stored);
    *unstored = None;
    Ok(true)
}

/// Notes in the store how many events about rides were refused, and the last ones after `stop`.
async fn note_refused(rides: Arc<Rides>, stop: CancellationToken) {
    let mut ticks = interval(NOTE);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    while stop.run_until_cancelled(ticks.tick()).await.is_some() {
        if let Err(error) = rides.note_refused().await {
            tracing::warn!(%error, "refused events about rides could not be noted yet");
        }
    }
    let last = async {
        while rides.note_refused().await.is_err() {
            tokio::time::sleep(LAST_PAUSE).await;
        }
    };
    if tokio::time::timeout(LAST_FLUSH, last).await.is_err() {
        tracing::error!("the store did not take the last notes of refused events in time");
    }
}

/// Stores what people have read on the board, and the last of it after `stop`.
async fn note_read(board: Arc<Board>, stop: CancellationToken) {
    let mut ticks = interval(NOTE);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    while stop.run_until_cancelled(ticks.tick()).await.is_some() {
        if let Err(error) = board.store_read().await {
            tracing::warn!(%error, "what people have read could not be noted yet");
        }
    }
    if !matches!(tokio::time::timeout(LAST_FLUSH, board.store_read()).await, Ok(Ok(()))) {
        tracing::warn!("what people have read in the last seconds is not noted");
    }
}

async fn upkeep(metrics: PrometheusHandle, stop: CancellationToken) {
    let mut ticks = interval(telemetry::UPKEEP);
    while stop.run_until_cancelled(ticks.tick()).await.is_some() {
        metrics.run_upkeep();
    }
}

async fn tidy(config: Config, services: Arc<Services>, stop: CancellationToken) {
    let mut pause = Duration::ZERO;
    while stop.run_until_cancelled(tokio::time::sleep(pause)).await.is_some() {
        let now = services.clock.now();
        pause = match services.engines.tidy(now, wiring::reserved(&config)).await {
            Ok(true) => TIDY_PAUSE,
            Ok(false) => TIDY,
            Err(error) => {
                tracing::warn!(%error, "tidying up failed; it is tried again");
                TIDY
            }
        };
    }
}

/// Removes pictures that nobody has, now and every now and then.
async fn sweep(services: Arc<Services>, stop: CancellationToken) {
    let Some(pictures) = services.pictures() else { return };
    let mut ticks = interval(SWEEP);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    while stop.run_until_cancelled(ticks.tick()).await.is_some() {
        swept(&stop, "of accounts", pictures.sweep(services.clock.now())).await;
        if let Some(board) = &services.board {
            swept(&stop, "of messages", board.sweep_pictures()).await;
        }
    }
}

async fn swept(
    stop: &CancellationToken,
    of: &'static str,
    sweep: impl Future<Output = lodge_domain::Result<usize>>,
) {
    match stop.run_until_cancelled(sweep).await {
        Some(Ok(0)) | None => {}
        Some(Ok(removed)) => tracing::info!(removed, of, "pictures that nobody has are gone"),
        Some(Err(error)) => tracing::warn!(%error, of, "pictures that nobody has may be left"),
    }
}

/// Makes nobody's the passes of accounts that are deleted, here or by another process.
async fn see_off(services: Arc<Services>, stop: CancellationToken) {
    let Some((rides, accounts)) = services.rides.as_ref().zip(services.accounts_client()) else {
        return;
    };
    follow_accounts(accounts, rides.passes(), SEE_OFF, &services, stop).await;
}

/// Keeps what the board knows of people as their accounts have it.
async fn look_after(services: Arc<Services>, stop: CancellationToken) {
    let Some((board, accounts)) = services.board.as_ref().zip(services.accounts_client()) else {
        return;
    };
    let guests = Guests::new(Arc::clone(board), accounts.clone());
    follow_accounts(accounts, &guests, LOOK_AFTER, &services, stop).await;
}

async fn follow_accounts(
    accounts: AccountsClient,
    belongings: &dyn Belongings,
    every: Duration,
    services: &Services,
    stop: CancellationToken,
) {
    let mut leavers = Leavers::new(accounts);
    let mut ticks = interval(every);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    while stop.run_until_cancelled(ticks.tick()).await.is_some() {
        let seen_off = leavers.see_off(belongings, services.clock.now());
        if let Some(Err(error)) = stop.run_until_cancelled(seen_off).await {
            tracing::debug!(%error, "what has become of accounts is not known yet");
        }
    }
}

/// Tells hooks what happens on the board; what is on its way at the stop is sent again after the next start.
async fn tell_hooks(services: Arc<Services>, stop: CancellationToken) {
    let Some((board, hooks)) = services.board.as_ref().zip(services.hooks.as_ref()) else { return };
    let now_and_then = stream::unfold(interval(LOOK), async |mut ticks| {
        ticks.tick().await;
        Some((Look::Everywhere, ticks))
    });
    let rings = stream::unfold(board.rings(), async |mut rings| match rings.recv().await {
        Ok(channel) => Some((Look::Channel(channel), rings)),
        Err(RecvError::Lagged(_)) => Some((Look::Everywhere, rings)),
        Err(RecvError::Closed) => None,
    });
    let looks = stream::select(now_and_then.boxed(), rings.boxed());
    stop.run_until_cancelled(hooks.courier.run(looks)).await;
}

async fn reload_on(
    mut hangups: Signal,
    config: Config,
    services: Arc<Services>,
    stop: CancellationToken,
) {
    while let Some(Some(())) = stop.run_until_cancelled(hangups.recv()).await {
        let (blocklist, file) =
            (Arc::clone(services.links.blocklist()), config.links.blocklist.clone());
        // A list may have a million hosts.
        let read = tokio::task::spawn_blocking(move || wiring::reload_blocklist(&blocklist, &file));
        if let Ok(Err(error)) = read.await {
            tracing::error!(error = format!("{error:#}"), "the old blocklist stays");
        }
    }
}
