//! Request metrics.

use std::{cell::RefCell, collections::HashMap, time::Instant};

use http::{Method, StatusCode};
use metrics::{Counter, Histogram};

/// The upper bounds of the latency buckets, in seconds.
pub const LATENCY_BUCKETS: [f64; 14] = [
    0.000_1, 0.000_25, 0.000_5, 0.001, 0.002_5, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 5.0,
];

/// The name of the latency histogram.
pub const LATENCY: &str = "lodge_http_request_duration_seconds";

/// The metrics of one method and status of a route.
struct Series {
    method: &'static str,
    status: StatusCode,
    requests: Counter,
    latency: Histogram,
}

impl Series {
    fn register(method: &'static str, route: &str, status: StatusCode) -> Self {
        let labels = [
            ("method", method.to_owned()),
            ("route", route.to_owned()),
            ("status", status.as_str().to_owned()),
        ];
        Self {
            method,
            status,
            requests: metrics::counter!("lodge_http_requests_total", &labels),
            latency: metrics::histogram!(LATENCY, &labels[..2]),
        }
    }
}

thread_local! {
    /// The series that this thread has recorded, by route: at most one for each route, method and status. Finding them
    /// by their labels took 8 % of the instructions that a recorded ride costs outside of the database.
    static SERIES: RefCell<HashMap<Box<str>, Vec<Series>>> = RefCell::default();
}

/// Records one request that went through the router.
pub fn request(method: &Method, route: &str, status: StatusCode, began: Instant) {
    let method = method_label(method);
    SERIES.with_borrow_mut(|routes| {
        let of_route = match routes.get_mut(route) {
            Some(of_route) => of_route,
            None => routes.entry(route.into()).or_default(),
        };
        let known = of_route.iter().find(|known| known.method == method && known.status == status);
        let record = |series: &Series| {
            series.requests.increment(1);
            series.latency.record(began.elapsed());
        };
        match known {
            Some(series) => record(series),
            None => record(of_route.push_mut(Series::register(method, route, status))),
        }
    });
}

/// The metrics of redirects on the fast path, looked up once.
#[derive(Clone)]
pub struct RedirectInstruments {
    /// Of 301, 302, 307 and 308.
    requests: [(StatusCode, Counter); 4],
    latency: Histogram,
}

impl RedirectInstruments {
    /// Registers the metrics; the recorder must already be installed.
    pub fn register() -> Self {
        Self {
            requests: [StatusCode::MOVED_PERMANENTLY, StatusCode::FOUND, StatusCode::TEMPORARY_REDIRECT, StatusCode::PERMANENT_REDIRECT]
                .map(|status| (status, metrics::counter!("lodge_http_requests_total", "method" => "GET", "route" => "/{short}", "status" => status.as_str().to_owned()))),
            latency: metrics::histogram!(LATENCY, "method" => "GET", "route" => "/{short}"),
        }
    }

    /// Records one redirect.
    pub fn redirect(&self, status: StatusCode, began: Instant) {
        if let Some((_, counter)) = self.requests.iter().find(|(known, _)| *known == status) {
            counter.increment(1);
        }
        self.latency.record(began.elapsed());
    }
}

/// Maps unknown methods to `other`, so that clients cannot create labels.
fn method_label(method: &Method) -> &'static str {
    match *method {
        Method::GET => "GET",
        Method::HEAD => "HEAD",
        Method::POST => "POST",
        Method::PUT => "PUT",
        Method::PATCH => "PATCH",
        Method::DELETE => "DELETE",
        _ => "other",
    }
}
