//! The set-up of a browser test: a server, a browser, and a target site for links.

use serde_json::{Value, json};

use crate::{
    browser::Browser,
    engine::Kind,
    proxy::Proxy,
    server::{Lodge, Server},
    target::Target,
};

/// The processes of a test, which are dropped in field order.
pub(crate) struct Scene {
    pub(crate) browser: Browser,
    pub(crate) target: Target,
    /// The proxy between browsers and server, if any.
    pub(crate) proxy: Option<Proxy>,
    pub(crate) server: Server,
    pub(crate) lodge: Lodge,
    /// The origin of the server or its proxy, as browsers use it.
    pub(crate) origin: String,
    kind: Kind,
}

impl Scene {
    pub(crate) async fn begin(kind: impl Into<Kind>) -> Self {
        Self::begin_on(Lodge::new(), kind).await
    }

    /// Starts an installation with its own settings.
    pub(crate) async fn begin_on(lodge: Lodge, kind: impl Into<Kind>) -> Self {
        let server = lodge.start();
        Self::with(lodge, server, None, kind.into()).await
    }

    /// The same, with a proxy in front of the server.
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

    /// Returns the proxy; panics without one.
    pub(crate) fn proxy(&self) -> &Proxy {
        self.proxy.as_ref().unwrap()
    }

    /// Opens a page of Lodge.
    pub(crate) async fn open(&self, path: &str) {
        self.browser.open(path).await;
    }

    /// Starts the browser of another user.
    pub(crate) async fn another_browser(&self) -> Browser {
        Browser::start(self.kind, &self.origin).await
    }

    /// Selects a file with this content in the picture field.
    pub(crate) async fn attach(&self, name: &str, content: &[u8]) {
        self.browser.attach("picture", &self.lodge.write(name, content)).await;
    }

    /// Creates a link to a path of the target site, on the page.
    pub(crate) async fn make(&self, short: &str, path: &str) {
        self.open("/").await;
        self.browser.fill_in(&[("target", &self.target.url(path)), ("short", short)]).await;
        self.browser.press_and_wait("Create link", "Your link is ready.").await;
    }

    /// Creates a link to a path of the target site over the API, with an optional API key and more fields.
    pub(crate) fn create(&self, key: Option<&str>, short: &str, path: &str, more: Value) {
        let mut link = json!({"short": short, "target": self.target.url(path)});
        if let (Value::Object(link), Value::Object(more)) = (&mut link, more) {
            link.extend(more);
        }
        let ask = self.server.post("/api/links").json(&link);
        key.map_or(ask.clone(), |key| ask.bearer(key)).expect(201);
    }

    /// Closes the browser. Fails if the browser logged errors.
    pub(crate) async fn end(self) {
        self.browser.end().await;
    }
}
