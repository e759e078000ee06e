//! A server from its start to its last write.

use std::{sync::Arc, time::Duration};

use anyhow::{Context, Result};
use lodge_domain::links::{ClickBatch, Links};
use lodge_web::{Front, edge::server};
use metrics_exporter_prometheus::PrometheusHandle;
use tokio::{
    net::TcpListener,
    signal::unix::{SignalKind, signal},
    time::{MissedTickBehavior, interval},
};
use tokio_util::{sync::CancellationToken, task::TaskTracker};

use crate::{
    admin,
    config::Config,
    ops::Ops,
    telemetry,
    wiring::{self, Services},
};

/// How often clicks are stored: no click waits for a second.
const FLUSH: Duration = Duration::from_millis(500);

/// How often what is past its time is put away.
const TIDY: Duration = Duration::from_secs(30);

/// How long the last clicks may take to be stored.
const LAST_FLUSH: Duration = Duration::from_secs(5);

/// Serves until a signal, then lets what runs finish, stores the last clicks and closes the engine.
pub(crate) async fn serve(config: Config, metrics: PrometheusHandle) -> Result<()> {
    let services = Arc::new(wiring::services(&config)?);
    let public = bind(config.http.listen).await?;
    let ops = bind(config.ops.listen).await?;
    let (address, ops_address) = (public.local_addr()?, ops.local_addr()?);

    let (stop, stop_ops) = (CancellationToken::new(), CancellationToken::new());
    let tasks = TaskTracker::new();
    let limits = wiring::connection_limits(&config);
    let front = Front::new(wiring::site(&config, &services));
    let ops_site = Ops::new(metrics.clone(), Arc::clone(&services.links.store), stop.clone());
    let server = tokio::spawn(server::serve(public, front, limits.clone(), stop.clone()));
    tasks.spawn(server::serve(ops, ops_site, limits, stop_ops.clone()));
    tasks.spawn(admin::serve(config.data.clone(), Arc::clone(&services), stop_ops.clone()));
    tasks.spawn(upkeep(metrics, stop_ops.clone()));
    tasks.spawn(tidy(config.clone(), Arc::clone(&services), stop_ops.clone()));
    tasks.spawn(reload_on_hangup(config.clone(), Arc::clone(&services), stop_ops.clone()));
    let clicks = tokio::spawn(store_clicks(Arc::clone(&services.links), stop_ops.clone()));
    tracing::info!(address = %format!("http://{address}"), ops = %format!("http://{ops_address}"), data = %config.data.display(), "ready");

    wait_for_signal().await?;
    tracing::info!("stopping; a second signal stops at once");
    stop.cancel();
    tokio::select! {
        done = server => done.context("the server failed")?,
        second = wait_for_signal() => { second?; return Ok(()) },
    }
    stop_ops.cancel();
    tasks.close();
    clicks.await.context("clicks could not be stored")?;
    tasks.wait().await;
    services.engine.close().await.context("the data folder did not close cleanly")?;
    tracing::info!("stopped");
    Ok(())
}

async fn bind(address: std::net::SocketAddr) -> Result<TcpListener> {
    TcpListener::bind(address).await.with_context(|| format!("cannot listen on {address}"))
}

async fn wait_for_signal() -> Result<()> {
    let mut terminate = signal(SignalKind::terminate())?;
    let mut interrupt = signal(SignalKind::interrupt())?;
    tokio::select! {
        _ = terminate.recv() => {},
        _ = interrupt.recv() => {},
    }
    Ok(())
}

/// Stores the clicks that were counted, twice a second, and the last ones after `stop`.
async fn store_clicks(links: Arc<Links>, stop: CancellationToken) {
    let mut ticks = interval(FLUSH);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut unstored: Option<Arc<ClickBatch>> = None;
    loop {
        let stopping = tokio::select! {
            _ = ticks.tick() => false,
            () = stop.cancelled() => true,
        };
        let flushed = async {
            // A batch that was not taken goes again, by its number, before a newer one.
            while let Some(batch) = unstored.take().or_else(|| links.counter.drain().map(Arc::new))
            {
                if let Err(error) = links.click_store.add(Arc::clone(&batch)).await {
                    metrics::counter!("lodge_links_click_batches_failed_total").increment(1);
                    tracing::warn!(%error, "clicks could not be stored yet");
                    unstored = Some(batch);
                    return;
                }
                let stored = batch.clicks.iter().map(|(_, count)| count).sum();
                metrics::counter!("lodge_links_clicks_stored_total").increment(stored);
                if !stopping {
                    return;
                }
            }
        };
        if tokio::time::timeout(LAST_FLUSH, flushed).await.is_err() {
            tracing::error!("the store took no clicks in time");
        }
        #[expect(clippy::cast_precision_loss, reason = "a metric")]
        metrics::gauge!("lodge_links_clicks_lost").set(links.counter.lost() as f64);
        if stopping {
            return;
        }
    }
}

async fn upkeep(metrics: PrometheusHandle, stop: CancellationToken) {
    let mut ticks = interval(telemetry::UPKEEP);
    while stop.run_until_cancelled(ticks.tick()).await.is_some() {
        metrics.run_upkeep();
    }
}

async fn tidy(config: Config, services: Arc<Services>, stop: CancellationToken) {
    let mut ticks = interval(TIDY);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    while stop.run_until_cancelled(ticks.tick()).await.is_some() {
        if let Err(error) =
            services.engine.tidy(services.clock.now(), wiring::reserved(&config)).await
        {
            tracing::warn!(%error, "tidying up failed; it is tried again");
        }
    }
}

async fn reload_on_hangup(config: Config, services: Arc<Services>, stop: CancellationToken) {
    let Ok(mut hangups) = signal(SignalKind::hangup()) else { return };
    while let Some(Some(())) = stop.run_until_cancelled(hangups.recv()).await {
        if let Err(error) =
            wiring::reload_blocklist(&services.links.blocklist, &config.links.blocklist)
        {
            tracing::error!(error = format!("{error:#}"), "the old blocklist stays");
        }
    }
}
