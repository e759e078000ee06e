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
    /// Lodge's origin, as browsers know it.
    pub(crate) origin: String,
    kind: Kind,
}

impl Scene {
    pub(crate) async fn begin(kind: impl Into<Kind>) -> Self {
        Self::begin_on(Lodge::new(), kind).await
    }

    /// On an installation that has settings of its own.
    pub(crate) async fn begin_on(lodge: Lodge, kind: impl Into<Kind>) -> Self {
        let server = lodge.start();
        Self::with(lodge, server, None, kind.into()).await
    }

    /// The same, with a proxy before the server.
    pub(crate) async fn begin_behind_proxy(lodge: Lodge, kind: impl Into<Kind>) -> Self {
        let server = lodge.start();
        let proxy = Proxy::start(server.address);
        Self::with(lodge, server, Some(proxy), kind.into()).await
    }

    async fn with(lodge: Lodge, server: Server, proxy: Option<Proxy>, kind: Kind) -> Self {
        let address = proxy.as_ref().map_or(server.address, |proxy| proxy.address);
        let origin = format!("http://{address}");
        let (target, browser) = (Target::start().await, Browser::start(kind, &origin).await);
        Self { browser, target, proxy, server, lodge, origin, kind }
    }

    /// The proxy that there is.
    pub(crate) fn proxy(&self) -> &Proxy {
        self.proxy.as_ref().unwrap()
    }

    /// Opens one of Lodge's pages.
    pub(crate) async fn open(&self, path: &str) {
        self.browser.open(path).await;
    }

    /// A browser of somebody else.
    pub(crate) async fn somebody_else(&self) -> Browser {
        Browser::start(self.kind, &self.origin).await
    }

    /// Chooses a file of this content as a picture.
    pub(crate) async fn attach(&self, name: &str, content: &[u8]) {
        self.browser.attach("picture", &self.lodge.write(name, content)).await;
    }

    /// Makes a link on the page, to a path of the target.
    pub(crate) async fn make(&self, short: &str, path: &str) {
        self.open("/").await;
        self.browser.fill_in(&[("target", &self.target.url(path)), ("short", short)]).await;
        self.browser.press_for("Create link", "Your link is ready.").await;
    }

    /// Makes a link through the API, as the owner of a key, with more settings.
    pub(crate) fn create(&self, key: Option<&str>, short: &str, path: &str, more: Value) {
        let mut link = json!({"short": short, "target": self.target.url(path)});
        if let (Value::Object(link), Value::Object(more)) = (&mut link, more) {
            link.extend(more);
        }
        let ask = self.server.post("/api/links").json(&link);
        key.map_or(ask.clone(), |key| ask.bearer(key)).expect(201);
    }

    /// Ends it well: the browser must have had nothing to complain about.
    pub(crate) async fn end(self) {
        self.browser.end().await;
    }
}
