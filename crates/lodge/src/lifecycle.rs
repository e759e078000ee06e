//! The life of a server process: start, ready, drain, shut down.

use std::{io::ErrorKind, net::SocketAddr, sync::Arc};

use anyhow::{Context, Result};
use lodge_domain::accounts::{Backend, RecordedCalls};
use lodge_web::{
    HttpService,
    edge::{
        server::{self, ConnectionLimits},
        threads::ConnectionThreads,
    },
};
use lodge_wire::ServerOptions;
use metrics_exporter_prometheus::PrometheusHandle;
use tokio::{
    net::TcpListener,
    signal::unix::{Signal, SignalKind, signal},
    task::JoinHandle,
};
use tokio_util::{sync::CancellationToken, task::TaskTracker};

use crate::{
    admin,
    config::{Config, Role},
    jobs::{self, Jobs},
    ops::OpsService,
    wiring::{self, Services},
};

/// The exit code after a second signal, as a shell gives it for Ctrl-C.
const FORCED_STOP_EXIT_CODE: i32 = 130;

/// Serves until SIGTERM or SIGINT, then drains running requests, flushes pending clicks and closes the engines.
pub(crate) async fn serve(config: Config, metrics: PrometheusHandle) -> Result<()> {
    // Registered first: a supervisor may send a signal as soon as it reads "ready".
    let mut ends = StopSignals::listen()?;
    let hangups = signal(SignalKind::hangup())?;
    let services = Arc::new(wiring::services(&config).await?);
    // Bound before the listeners: `lodge admin` may connect as soon as the server is reachable.
    let socket = admin::listen(&config.data);
    let is_web = config.roles.contains(&Role::Web);
    let public = is_web.then(|| bind("http.listen", config.http.listen)).transpose()?;
    let address = public.as_ref().map(TcpListener::local_addr).transpose()?;
    let wire = bind_web_tier(&config, &services)?;
    let wire_address = wire.as_ref().map(|wire| wire.0.local_addr()).transpose()?;
    let ops = bind("ops.listen", config.ops.listen)?;
    let ops_address = ops.local_addr()?;

    let (stop, stop_ops) = (CancellationToken::new(), CancellationToken::new());
    let tasks = TaskTracker::new();
    // The balancer checks this listener without a PROXY header.
    let limits = ConnectionLimits { proxy_protocol: false, ..wiring::connection_limits(&config)? };
    let ops_site = OpsService::new(
        metrics.clone(),
        services.engines.clone(),
        services.rides.clone(),
        stop.clone(),
    );
    let server =
        public.map(|public| serve_public(public, &config, &services, &stop)).transpose()?;
    tasks.spawn(server::serve(ops, ops_site, limits, ConnectionThreads::here(), stop_ops.clone()));
    if let Some((listener, backend, options)) = wire {
        tasks.spawn(lodge_wire::serve(listener, backend, options, stop.clone()));
    }
    if let Some(socket) = socket {
        tasks.spawn(admin::serve(socket, Arc::clone(&services), stop_ops.clone()));
    }
    let jobs = jobs::all(&config, &services, metrics, hangups);
    let jobs = Jobs::start(jobs, &stop, &stop_ops);
    log_setup_code(&services).await?;
    let address = address.map_or_else(|| "none".to_owned(), |address| format!("http://{address}"));
    let accounts = accounts_location(&config, wire_address);
    tracing::info!(address, accounts, ops = %format!("http://{ops_address}"), data = %config.data.display(), "ready");

    tokio::select! {
        () = ends.next() => {}
        () = jobs.vital_failed() => {}
    }
    tracing::info!("stopping; a second signal stops immediately");
    let orderly = async {
        stop.cancel();
        if let Some(server) = server {
            server.await.context("the HTTP server failed")?;
        }
        services.finish().await;
        stop_ops.cancel();
        tasks.close();
        let finished = jobs.finish().await;
        tasks.wait().await;
        let closed = services.engines.close().await;
        closed.context("the data folder did not close cleanly").and(finished)
    };
    tokio::select! {
        done = orderly => done?,
        () = ends.next() => {
            tracing::warn!("stopped immediately; clicks of the last second may be lost");
            std::process::exit(FORCED_STOP_EXIT_CODE);
        }
    }
    tracing::info!("stopped");
    Ok(())
}

/// Logs the code with which the first admin is made, if there is no admin yet.
async fn log_setup_code(services: &Services) -> Result<()> {
    if let Some(accounts) = &services.accounts
        && accounts.needs_admin().await?
    {
        let code = accounts.setup_code().reveal();
        tracing::warn!(
            code,
            "there is no admin account yet; open /admin/setup and enter this setup code"
        );
    }
    Ok(())
}

/// Returns where accounts are served, for the log: the address of this process's listener for the web tier, `here`
/// without such a listener, the addresses of the accounts tier, or `none`.
fn accounts_location(config: &Config, listener: Option<SocketAddr>) -> String {
    match listener {
        Some(address) => address.to_string(),
        None if config.stores_accounts() => "here".to_owned(),
        None if config.serves_accounts() => config.accounts.servers.join(","),
        None => "none".to_owned(),
    }
}

/// Starts the public HTTP server; it runs until `stop`.
fn serve_public(
    listener: TcpListener,
    config: &Config,
    services: &Services,
    stop: &CancellationToken,
) -> Result<JoinHandle<()>> {
    let (front, limits) = (
        HttpService::new(wiring::site(config, services)?, wiring::apps(config, services)),
        wiring::connection_limits(config)?,
    );
    let lanes = ConnectionThreads::start().context("cannot start a thread")?;
    Ok(tokio::spawn(front.serve(listener, limits, lanes, stop.clone())))
}

/// The listener for the web tier, its backend and its limits.
type WebTierListener = (TcpListener, Arc<dyn Backend>, ServerOptions);

/// Binds the listener for the web tier, if this process is an accounts tier for other processes.
fn bind_web_tier(config: &Config, services: &Services) -> Result<Option<WebTierListener>> {
    let (Some(backend), Some(options)) = (services.own_accounts(), wiring::tiers::server(config)?)
    else {
        return Ok(None);
    };
    let listener = bind("accounts.listen", config.accounts.listen)?;
    let backend =
        Arc::new(RecordedCalls { backend, recorder: Arc::clone(&services.security) as _ });
    Ok(Some((listener, backend, options)))
}

/// Binds the address of the setting `key`.
fn bind(key: &str, address: SocketAddr) -> Result<TcpListener> {
    server::listen(address).map_err(|error| {
        let remedy = bind_remedy(key, error.kind());
        anyhow::Error::new(error).context(format!("cannot listen on {address}: {remedy}"))
    })
}

/// Returns what to do if an address cannot be bound.
pub(crate) fn bind_remedy(key: &str, error: ErrorKind) -> String {
    let option = match key {
        "http.listen" => "--listen or http.listen",
        "ops.listen" => "--ops-listen or ops.listen",
        key => key,
    };
    match error {
        ErrorKind::AddrInUse => {
            format!("another process uses this port; stop it, or set another port with {option}")
        }
        ErrorKind::AddrNotAvailable => {
            format!("this machine does not have this address; set another one with {option}")
        }
        ErrorKind::PermissionDenied => {
            format!("a port below 1024 needs privileges; set another port with {option}")
        }
        _ => format!("the address is set by {option}"),
    }
}

/// The signals that stop a server: SIGTERM and SIGINT.
struct StopSignals {
    terminate: Signal,
    interrupt: Signal,
}

impl StopSignals {
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
