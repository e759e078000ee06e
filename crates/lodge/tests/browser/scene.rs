//! A server, a browser that visits it, and the site that its links lead to.

use serde_json::{Value, json};

use crate::{
    browser::Browser,
    engine::Kind,
    proxy::Proxy,
    server::{Lodge, Server},
    target::Target,
};

/// Dropped in this order, also when a test fails.
pub(crate) struct Scene {
    pub(crate) browser: Browser,
    pub(crate) target: Target,
    /// Through which browsers go to the server, if they do.
    pub(crate) proxy: Option<Proxy>,
    pub(crate) server: Server,
    pub(crate) lodge: Lodge,
    kind: Kind,
}

impl Scene {
    pub(crate) async fn begin(kind: impl Into<Kind>) -> Self {
        Self::begin_on(Lodge::new(), kind).await
    }

    /// On an installation that has settings of its own.
    pub(crate) async fn begin_on(lodge: Lodge, kind: impl Into<Kind>) -> Self {
        let server = lodge.start();
        let target = Target::start();
        let kind = kind.into();
        Self { browser: Browser::start(kind).await, target, proxy: None, server, lodge, kind }
    }

    /// The same, with a proxy before the server.
    pub(crate) async fn begin_behind_proxy(lodge: Lodge, kind: impl Into<Kind>) -> Self {
        let mut scene = Self::begin_on(lodge, kind).await;
        scene.proxy = Some(Proxy::start(scene.server.address));
        scene
    }

    /// The proxy that there is.
    pub(crate) fn proxy(&self) -> &Proxy {
        self.proxy.as_ref().unwrap()
    }

    /// Lodge's origin.
    pub(crate) fn origin(&self) -> String {
        format!("http://{}", self.proxy.as_ref().map_or(self.server.address, |proxy| proxy.address))
    }

    /// Opens one of Lodge's pages.
    pub(crate) async fn open(&self, path: &str) {
        self.browser.open(&format!("{}{path}", self.origin())).await;
    }

    /// A browser of somebody else.
    pub(crate) async fn somebody_else(&self) -> Browser {
        Browser::start(self.kind).await
    }

    /// Makes a link on the page, to a path of the target.
    pub(crate) async fn make(&self, short: &str, path: &str) {
        self.open("/").await;
        self.browser.fill("target", &self.target.url(path)).await;
        self.browser.fill("short", short).await;
        self.browser.press("Make the link").await;
        self.browser.sees("Your link is ready.").await;
    }

    /// Makes a link through the API, as the owner of a key, with more settings.
    pub(crate) fn create(&self, key: Option<&str>, short: &str, path: &str, more: Value) {
        let mut link = json!({"short": short, "target": self.target.url(path)});
        if let (Value::Object(link), Value::Object(more)) = (&mut link, more) {
            link.extend(more);
        }
        let ask = self.server.ask("POST", "/api/links").json(&link);
        let answer = key.map_or(ask.clone(), |key| ask.bearer(key)).send();
        assert_eq!(answer.status, 201, "{link}: {answer:?}");
    }

    /// Ends it well: the browser must have had nothing to complain about.
    pub(crate) async fn end(self) {
        self.browser.end().await;
    }
}
