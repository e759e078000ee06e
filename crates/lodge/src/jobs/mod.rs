//! What a server does beside answering requests: jobs, each with a name.

mod clicks;
mod hooks;
mod notes;
mod people;
mod reload;
mod ticks;
mod tidying;

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

/// When a job is told to stop.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Until {
    /// With the listeners: it makes work itself.
    Stop,
    /// After the last request was answered: requests need it, or leave it something to do.
    LastRequest,
}

/// One job.
pub(crate) struct Job {
    name: &'static str,
    until: Until,
    /// Whether the server must not go on without it.
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

    /// One that works on what others share.
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

/// The jobs of a process with these services.
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
        // Without it no process hears what others change, and nothing that waits is stored.
        .vital(),
        Job::on(&services.links, "store clicks", LastRequest, clicks::store),
        Job::new("upkeep of metrics", LastRequest, |stop| upkeep(metrics, stop)),
        Job::on(services, "tidy", LastRequest, move |services, stop| {
            tidying::tidy(services, reserved, stop)
        }),
        Job::on(services, "reload the blocklist", LastRequest, |services, stop| {
            reload::blocklist(hangups, blocklist, services, stop)
        }),
        Job::on(services, "sweep pictures", Stop, tidying::sweep_pictures),
        Job::on(services, "release passes", Stop, people::release_passes),
        Job::on(services, "update guests", Stop, people::update_guests),
        Job::on(services, "deliver webhooks", Stop, hooks::deliver),
    ];
    if let Some(rides) = &services.rides {
        jobs.push(Job::on(rides, "note refused rides", LastRequest, notes::refused_rides));
    }
    if let Some(board) = &services.board {
        jobs.push(Job::on(board, "note read messages", LastRequest, notes::read_messages));
    }
    jobs
}

/// Jobs that run.
pub(crate) struct Jobs {
    tasks: TaskTracker,
    failed: Arc<Mutex<Vec<&'static str>>>,
    vital_failed: CancellationToken,
}

impl Jobs {
    /// Starts them; those that serve requests go on until `last_request`, the others until `stop`.
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

    /// Answers when a job has failed without which the server must not go on.
    pub(crate) async fn vital_failed(&self) {
        self.vital_failed.cancelled().await;
    }

    /// Waits until all have stopped.
    ///
    /// # Errors
    ///
    /// When some failed, however long ago.
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
