//! Named background jobs of a server.

mod account_changes;
mod cleanup;
mod clicks;
mod flushes;
mod hooks;
mod reload;
pub(crate) mod security_events;
mod ticks;

use std::sync::Arc;

use anyhow::{Result, bail};
use futures_util::future::BoxFuture;
use metrics_exporter_prometheus::PrometheusHandle;
use parking_lot::Mutex;
use tokio::{signal::unix::Signal, time::interval};
use tokio_util::{sync::CancellationToken, task::TaskTracker};

use crate::{
    config::Config,
    telemetry,
    wiring::{self, Services},
};

/// When a job is stopped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Until {
    /// Together with the listeners: the job creates its own work.
    Stop,
    /// After the last response: requests need the job, or create work for it.
    LastRequest,
}

/// A background job.
pub(crate) struct Job {
    name: &'static str,
    until: Until,
    /// Whether the server stops if the job fails.
    is_vital: bool,
    run: Box<dyn FnOnce(CancellationToken) -> BoxFuture<'static, ()> + Send>,
}

impl Job {
    fn new<F: Future<Output = ()> + Send + 'static>(
        name: &'static str,
        until: Until,
        run: impl FnOnce(CancellationToken) -> F + Send + 'static,
    ) -> Self {
        Self { name, until, is_vital: false, run: Box::new(|stop| Box::pin(run(stop))) }
    }

    /// Returns a job on shared state.
    fn on<S: Send + Sync + 'static, F: Future<Output = ()> + Send + 'static>(
        shared: &Arc<S>,
        name: &'static str,
        until: Until,
        run: impl FnOnce(Arc<S>, CancellationToken) -> F + Send + 'static,
    ) -> Self {
        let shared = Arc::clone(shared);
        Self::new(name, until, |stop| run(shared, stop))
    }

    fn vital(self) -> Self {
        Self { is_vital: true, ..self }
    }
}

/// Returns the jobs of a process.
pub(crate) fn all(
    config: &Config,
    services: &Arc<Services>,
    metrics: PrometheusHandle,
    hangups: Signal,
) -> Vec<Job> {
    use Until::{LastRequest, Stop};
    let (reserved, blocklist) = (wiring::reserved(config), config.links.blocklist.clone());
    let mut jobs = vec![
        Job::on(services, "follow changes", LastRequest, |services, stop| async move {
            let _ = stop.run_until_cancelled(services.follow()).await;
        })
        // Without it this process misses changes of other processes, and pending writes are not stored.
        .vital(),
        Job::on(&services.links, "store clicks", LastRequest, clicks::store),
        Job::on(services, "store security events", LastRequest, security_events::store),
        Job::new("metrics upkeep", LastRequest, |stop| upkeep(metrics, stop)),
        Job::on(services, "remove expired data", LastRequest, move |services, stop| {
            cleanup::remove_expired(services, reserved, stop)
        }),
        Job::on(services, "reload the blocklist", LastRequest, |services, stop| {
            reload::blocklist(hangups, blocklist, services, stop)
        }),
        Job::on(services, "remove unused pictures", Stop, cleanup::sweep_pictures),
        Job::on(services, "update pass holders", Stop, account_changes::update_pass_holders),
        Job::on(services, "update board profiles", Stop, account_changes::update_profiles),
        Job::on(services, "deliver webhooks", Stop, hooks::deliver),
    ];
    if let Some(rides) = &services.rides {
        jobs.push(Job::on(
            rides,
            "store refused ride counts",
            LastRequest,
            flushes::flush_refused_rides,
        ));
    }
    if let Some(board) = &services.board {
        jobs.push(Job::on(
            board,
            "store read positions",
            LastRequest,
            flushes::flush_read_positions,
        ));
    }
    jobs
}

/// The running jobs.
pub(crate) struct Jobs {
    tasks: TaskTracker,
    failed: Arc<Mutex<Vec<&'static str>>>,
    vital_failed: CancellationToken,
}

impl Jobs {
    /// Starts the jobs. A job runs until `last_request` if requests need it, otherwise until `stop`.
    pub(crate) fn start(
        jobs: Vec<Job>,
        stop: &CancellationToken,
        last_request: &CancellationToken,
    ) -> Self {
        let running = Self {
            tasks: TaskTracker::new(),
            failed: Arc::default(),
            vital_failed: CancellationToken::new(),
        };
        for Job { name, until, is_vital, run } in jobs {
            let until = if until == Until::Stop { stop } else { last_request };
            let work = tokio::spawn(run(until.clone()));
            let (failed, vital_failed) =
                (Arc::clone(&running.failed), running.vital_failed.clone());
            running.tasks.spawn(async move {
                if let Err(error) = work.await {
                    tracing::error!(job = name, %error, "a background job failed");
                    failed.lock().push(name);
                    if is_vital {
                        vital_failed.cancel();
                    }
                }
            });
        }
        running
    }

    /// Waits until a vital job has failed.
    pub(crate) async fn vital_failed(&self) {
        self.vital_failed.cancelled().await;
    }

    /// Waits until all jobs have stopped.
    ///
    /// # Errors
    ///
    /// If a job has failed since the start.
    pub(crate) async fn finish(&self) -> Result<()> {
        self.tasks.close();
        self.tasks.wait().await;
        let failed = self.failed.lock();
        if !failed.is_empty() {
            bail!("background jobs failed: {}", failed.join(", "));
        }
        Ok(())
    }
}

async fn upkeep(metrics: PrometheusHandle, stop: CancellationToken) {
    let mut ticks = interval(telemetry::UPKEEP);
    while stop.run_until_cancelled(ticks.tick()).await.is_some() {
        metrics.run_upkeep();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn job(name: &'static str, until: Until, fails: bool) -> Job {
        Job::new(name, until, move |stop| async move {
            stop.cancelled().await;
            assert!(!fails, "on purpose");
        })
    }

    #[tokio::test]
    async fn a_job_that_fails_is_named_when_all_have_stopped() {
        let (stop, last_request) = (CancellationToken::new(), CancellationToken::new());
        let list = vec![
            job("good", Until::Stop, false),
            job("bad", Until::Stop, true),
            job("vital", Until::LastRequest, true).vital(),
        ];
        let jobs = Jobs::start(list, &stop, &last_request);
        stop.cancel();
        last_request.cancel();
        jobs.vital_failed().await;
        let error = jobs.finish().await.unwrap_err().to_string();
        assert!(error.contains("bad") && error.contains("vital"), "{error}");
        assert!(!error.contains("good"), "{error}");
    }

    #[tokio::test]
    async fn jobs_that_requests_need_outlive_the_listeners() {
        let (stop, last_request) = (CancellationToken::new(), CancellationToken::new());
        let list =
            vec![job("early", Until::Stop, false), job("late", Until::LastRequest, false).vital()];
        let jobs = Jobs::start(list, &stop, &last_request);
        stop.cancel();
        let mut finish = std::pin::pin!(jobs.finish());
        assert!(futures_util::poll!(&mut finish).is_pending());
        last_request.cancel();
        finish.await.unwrap();
    }
}
