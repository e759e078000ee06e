//! The target site of links, on another origin than Lodge.

use std::net::SocketAddr;

use axum::{Router, http::Uri, response::Html};
use tokio::net::TcpListener;

/// A server that returns a page with the path of the request. It stops with the runtime of its test.
pub(crate) struct Target(SocketAddr);

impl Target {
    /// Starts the server.
    pub(crate) async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        tokio::spawn(async { axum::serve(listener, Router::new().fallback(page)).await });
        Self(address)
    }

    /// Returns a URL of the site.
    pub(crate) fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.0)
    }
}

/// Returns the text of the page for a path.
pub(crate) fn arrived(path: &str) -> String {
    format!("You have arrived at {path}")
}

async fn page(path: Uri) -> Html<String> {
    let said = arrived(&path.to_string());
    Html(format!("<!doctype html><link rel=icon href='data:,'><p>{said}</p>"))
}
