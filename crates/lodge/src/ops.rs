//! The ops listener: metrics and health checks.

use std::{sync::Arc, time::Duration};

use axum::{
    Router,
    body::Body,
    extract::{Request, State},
    response::{IntoResponse, Response},
    routing::get,
};
use http::StatusCode;
use hyper::body::Incoming;
use lodge_domain::rides::Rides;
use lodge_web::edge::server::{ConnectionHandler, Peer};
use metrics_exporter_prometheus::PrometheusHandle;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;
use tower::ServiceExt;

use crate::{telemetry, wiring::Engines};

/// The timeout of a readiness probe of the store.
const PROBE_TIMEOUT: Duration = Duration::from_secs(1);

/// The service behind the ops listener.
#[derive(Clone)]
pub(crate) struct OpsService(Router);

struct Inner {
    metrics: PrometheusHandle,
    engines: Engines,
    /// Keeps its own counters, which are read at each scrape.
    rides: Option<Arc<Rides>>,
    stopping: CancellationToken,
}

impl Inner {
    fn render(&self) -> String {
        if let Some(rides) = &self.rides {
            telemetry::export_ride_counts(&rides.progress());
        }
        self.metrics.render()
    }
}

impl OpsService {
    /// Serves `metrics` and the counters of `rides`. Ready while `engines` respond and `stopping` is not cancelled.
    pub(crate) fn new(
        metrics: PrometheusHandle,
        engines: Engines,
        rides: Option<Arc<Rides>>,
        stopping: CancellationToken,
    ) -> Self {
        let router = Router::new()
            .route("/metrics", get(|State(ops): State<Arc<Inner>>| async move { ops.render() }))
            .route("/health/live", get(|| async { "live\n" }))
            .route("/health/ready", get(ready))
            .with_state(Arc::new(Inner { metrics, engines, rides, stopping }));
        Self(router)
    }
}

impl ConnectionHandler for OpsService {
    async fn answer(&self, _peer: Peer, request: Request<Incoming>) -> Response {
        match self.0.clone().oneshot(request.map(Body::new)).await {
            Ok(response) => response,
            Err(never) => match never {},
        }
    }
}

async fn ready(State(ops): State<Arc<Inner>>) -> Response {
    if ops.stopping.is_cancelled() {
        return (StatusCode::SERVICE_UNAVAILABLE, "stopping\n").into_response();
    }
    match timeout(PROBE_TIMEOUT, ops.engines.ping()).await {
        Ok(Ok(())) => "ready\n".into_response(),
        Ok(Err(_)) | Err(_) => {
            (StatusCode::SERVICE_UNAVAILABLE, "the store does not answer\n").into_response()
        }
    }
}
