//! The site that links lead to: another origin than Lodge's, on this machine.

use std::net::SocketAddr;

use axum::{Router, http::Uri, response::Html};
use tokio::net::TcpListener;

/// Answers every request with a page that names the path. It ends with the runtime of its test.
pub(crate) struct Target(SocketAddr);

impl Target {
    /// Starts it.
    pub(crate) async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        tokio::spawn(async { axum::serve(listener, Router::new().fallback(page)).await });
        Self(address)
    }

    /// An address on it.
    pub(crate) fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.0)
    }
}

/// What the page for a path says.
pub(crate) fn arrived(path: &str) -> String {
    format!("You have arrived at {path}")
}

async fn page(path: Uri) -> Html<String> {
    let said = arrived(&path.to_string());
    Html(format!("<!doctype html><link rel=icon href='data:,'><p>{said}</p>"))
}
