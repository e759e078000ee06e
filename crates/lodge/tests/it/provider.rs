//! A real `OpenID` provider, run by Node, and a browser that follows its pages.

use std::{
    collections::BTreeMap,
    io::{BufRead, BufReader},
    path::{Path, PathBuf},
    process::{Command, Stdio},
    sync::{OnceLock, mpsc::channel},
    thread,
};

use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use lodge_testbed::Authority;
use serde_json::{Value, json};
use url::Url;

use crate::{
    client::{Request, Response, between},
    installed::{installed, npm_ci},
    server::{DEADLINE, Lodge, Process, Server},
};

/// Lodge's client secret at the provider, with characters that must be encoded in a header.
pub(crate) const CLIENT_SECRET: &str = "a client's secret: 100 % & more";

/// The largest number of the provider's redirects and pages that the browser follows.
const STEPS_MAX: usize = 20;

/// A running provider.
pub(crate) struct OpenIdProvider {
    _process: Process,
    /// Issuer URL.
    pub(crate) issuer: String,
}

impl OpenIdProvider {
    /// Starts a provider.
    pub(crate) fn start() -> Self {
        Self::start_at(0, &[])
    }

    /// Starts a provider, and a server with sign-in by it.
    pub(crate) fn with_server() -> (Self, Lodge, Server) {
        let provider = Self::start();
        let (lodge, server) = provider.lodge().started();
        (provider, lodge, server)
    }

    /// Starts a provider over TLS, with a certificate of this authority.
    pub(crate) fn start_over_tls(authority: &Authority) -> Self {
        let files = [("TLS_KEY", authority.key()), ("TLS_CERTIFICATE", authority.certificate())];
        Self::start_at(0, &files)
    }

    /// Starts a provider at this port, with new signing keys.
    fn start_at(port: u16, files: &[(&str, PathBuf)]) -> Self {
        let mut process = Command::new("node")
            .arg(folder().join("provider.mjs"))
            .arg(port.to_string())
            .env("CLIENT_SECRET", CLIENT_SECRET)
            .envs(files.iter().cloned())
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .map_or_else(|error| panic!("node, which these tests need: {error}"), Process);
        let stdout = process.0.stdout.take().unwrap();
        let (sender, lines) = channel();
        thread::spawn(move || {
            for line in BufReader::new(stdout).lines().map_while(Result::ok) {
                let _ = sender.send(line);
            }
        });
        let issuer = lines.recv_timeout(DEADLINE).unwrap_or_else(|_| {
            panic!("the provider is not ready; it ended with {:?}", process.0.try_wait())
        });
        Self { _process: process, issuer }
    }

    /// Restarts the provider: it has no sessions, and new signing keys.
    pub(crate) fn restarted(self) -> Self {
        let port = Url::parse(&self.issuer).unwrap().port().unwrap();
        drop(self);
        Self::start_at(port, &[])
    }

    /// Returns the tokens that the provider has issued.
    pub(crate) fn issued(&self) -> Vec<String> {
        let url = Url::parse(&self.issuer).unwrap().join("/issued").unwrap();
        let issued = Browser::default().get(&url).json();
        serde_json::from_value(issued).unwrap()
    }

    /// Returns the provider's settings in three ways: by discovery, and manually as plain OAuth 2 with the
    /// client secret in a header and in the body.
    pub(crate) fn settings(&self, secret: &Path) -> Value {
        let issuer = &self.issuer;
        let open = json!({
            "name": "open", "title": "Open", "issuer": issuer, "client_id": "lodge",
            "client_secret_file": secret, "scopes": ["openid", "profile", "email"],
        });
        let plain = json!({
            "name": "plain", "issuer": format!("{issuer}/plain"), "client_id": "lodge",
            "client_secret_file": secret, "scopes": ["openid", "profile"],
            "authorization_url": format!("{issuer}/auth"), "token_url": format!("{issuer}/token"),
            "userinfo_url": format!("{issuer}/me"),
        });
        let mut posted = plain.clone();
        for (key, value) in [
            ("name", json!("posted")),
            ("issuer", json!(format!("{issuer}/posted"))),
            ("client_id", json!("posted")),
            ("secret_in_body", json!(true)),
        ] {
            posted[key] = value;
        }
        json!([open, plain, posted])
    }

    /// An installation with sign-in by this provider.
    pub(crate) fn lodge(&self) -> Lodge {
        with_providers(Lodge::new(), |secret| self.settings(secret))
            .with("LODGE_APPS", "links,accounts")
    }
}

/// An installation with providers, whose settings name the file with the secret.
pub(crate) fn with_providers(lodge: Lodge, settings: impl FnOnce(&Path) -> Value) -> Lodge {
    let secret = lodge.write("client-secret", format!("{CLIENT_SECRET}\n"));
    let settings = inline(&settings(&secret));
    lodge.with("LODGE_ACCOUNTS_PROVIDERS", &settings)
}

/// Formats JSON as inline TOML.
fn inline(value: &Value) -> String {
    match value {
        Value::Array(items) => {
            let items: Vec<_> = items.iter().map(inline).collect();
            format!("[{}]", items.join(", "))
        }
        Value::Object(fields) => {
            let fields: Vec<_> =
                fields.iter().map(|(name, value)| format!("{name} = {}", inline(value))).collect();
            format!("{{ {} }}", fields.join(", "))
        }
        plain => plain.to_string(),
    }
}

/// Returns the folder with the provider's program and its packages, at the versions of the lock file.
fn folder() -> &'static Path {
    static FOLDER: OnceLock<PathBuf> = OnceLock::new();
    FOLDER.get_or_init(|| installed("provider", "package-lock.json", npm_ci))
}

/// A browser with cookies that follows the provider's redirects and forms.
#[derive(Default, Clone)]
pub(crate) struct Browser {
    /// Values by host with port, and name.
    cookies: BTreeMap<(String, String), String>,
}

impl Browser {
    /// A browser with this session token.
    pub(crate) fn signed_in(server: &Server, token: &str) -> Self {
        let mut browser = Self::default();
        browser.set(server, "lodge_session", token);
        browser
    }

    /// Sets a cookie of the server.
    pub(crate) fn set(&mut self, server: &Server, name: &str, value: &str) {
        self.cookies.insert((server.address.to_string(), name.to_owned()), value.to_owned());
    }

    /// Returns a cookie of the server.
    pub(crate) fn cookie(&self, server: &Server, name: &str) -> Option<&str> {
        self.cookies.get(&(server.address.to_string(), name.to_owned())).map(String::as_str)
    }

    /// Sends a `GET`. Does not follow redirects.
    pub(crate) fn get(&mut self, url: &Url) -> Response {
        self.send(url, |ask| ask, "GET")
    }

    /// Sends a `GET` to the server.
    pub(crate) fn open(&mut self, server: &Server, path: &str) -> Response {
        self.get(&url_of(server, path))
    }

    /// Sends a `POST` of a form.
    pub(crate) fn post(&mut self, url: &Url, form: &str) -> Response {
        self.send(url, |ask| ask.form(form), "POST")
    }

    /// Sends a `POST` of a form to the server.
    pub(crate) fn submit(&mut self, server: &Server, path: &str, form: &str) -> Response {
        self.post(&url_of(server, path), form)
    }

    fn send(&mut self, url: &Url, finish: impl Fn(Request) -> Request, method: &str) -> Response {
        let host = format!("{}:{}", url.host_str().unwrap(), url.port().unwrap());
        let path =
            url.query().map_or_else(|| url.path().to_owned(), |q| format!("{}?{q}", url.path()));
        let kept = self.cookies.iter().filter(|((of, _), _)| *of == host);
        let cookies: Vec<_> = kept.map(|((_, name), value)| format!("{name}={value}")).collect();
        let mut ask = Request::new(host.parse().unwrap(), method, &path).browser();
        if !cookies.is_empty() {
            ask = ask.header("Cookie", &cookies.join("; "));
        }
        let answer = finish(ask).send();
        for (_, cookie) in answer.headers.iter().filter(|(name, _)| name == "set-cookie") {
            let (name, value) = cookie.split(';').next().unwrap().split_once('=').unwrap();
            let place = (host.clone(), name.to_owned());
            if value.is_empty() {
                self.cookies.remove(&place);
            } else {
                self.cookies.insert(place, value.to_owned());
            }
        }
        answer
    }

    /// Signs in at the provider and consents. Returns the callback URL.
    pub(crate) fn through_provider(&mut self, server: &Server, url: &Url, login: &str) -> Url {
        // A new session at the provider: the login may be another one than before.
        self.cookies.retain(|(host, _), _| *host == server.address.to_string());
        let mut url = url.clone();
        for _ in 0..STEPS_MAX {
            let page = self.get(&url);
            let answer = if page.location().is_some() {
                page
            } else {
                let text = page.text();
                let action = between(&text, "action=\"", "\"").unwrap();
                let form = match between(&text, "name=\"prompt\" value=\"", "\"").unwrap() {
                    "login" => format!("prompt=login&login={login}&password=any"),
                    prompt => format!("prompt={prompt}"),
                };
                self.post(&url.join(action).unwrap(), &form)
            };
            url = url.join(answer.location().unwrap_or_else(|| panic!("{answer:?}"))).unwrap();
            if is_at(&url, server) {
                return url;
            }
        }
        panic!("the provider did not redirect back within {STEPS_MAX} steps")
    }

    /// Aborts the sign-in at the provider. Returns the callback URL.
    pub(crate) fn refuse_provider(&mut self, server: &Server, url: &Url) -> Url {
        let page = self.get(url);
        let mut url = url.join(page.location().unwrap()).unwrap();
        url.set_path(&format!("{}/abort", url.path()));
        while !is_at(&url, server) {
            url = url.join(self.get(&url).location().unwrap()).unwrap();
        }
        url
    }

    /// Begins a sign-in by a provider. Returns the authorization URL.
    pub(crate) fn set_out(&mut self, server: &Server, provider: &str) -> Url {
        let answer = self.open(server, &format!("/login/by/{provider}")).expect(303);
        answer.location().unwrap().parse().unwrap()
    }

    /// Begins a sign-in by a provider and signs in there. Returns the callback URL.
    pub(crate) fn there_and_back(&mut self, server: &Server, provider: &str, login: &str) -> Url {
        let there = self.set_out(server, provider);
        self.through_provider(server, &there, login)
    }

    /// Signs in by a provider. Returns the server's response to the callback.
    pub(crate) fn sign_in_by(&mut self, server: &Server, provider: &str, login: &str) -> Response {
        let back = self.there_and_back(server, provider, login);
        self.get(&back)
    }

    /// Begins a reauthentication by a provider. Returns the authorization URL.
    pub(crate) fn set_out_to_reauthenticate(&mut self, server: &Server, provider: &str) -> Url {
        let path = format!("/login/by/{provider}?next=/account&reauthenticate=1");
        self.open(server, &path).expect(303).location().unwrap().parse().unwrap()
    }

    /// Signs in by a provider that must authenticate again. Returns the server's response to the callback.
    pub(crate) fn reauthenticate_by(
        &mut self,
        server: &Server,
        provider: &str,
        login: &str,
    ) -> Response {
        let there = self.set_out_to_reauthenticate(server, provider);
        let back = self.through_provider(server, &there, login);
        self.get(&back)
    }

    /// Creates an account by a provider, and signs in to it once more as a reauthentication. Returns the session token.
    pub(crate) fn member_by(&mut self, server: &Server, provider: &str, login: &str) -> String {
        self.sign_up_by(server, provider, login);
        assert_eq!(self.reauthenticate_by(server, provider, login).location(), Some("/account"));
        self.cookie(server, "lodge_session").unwrap().to_owned()
    }

    /// Creates an account by a provider, named like its login there. Returns the session token.
    pub(crate) fn sign_up_by(&mut self, server: &Server, provider: &str, login: &str) -> String {
        self.sign_in_by(server, provider, login).leads_to(303, "/signup/name");
        self.submit(server, "/signup/name", &format!("username={login}")).leads_to(303, "/account");
        self.cookie(server, "lodge_session").unwrap().to_owned()
    }
}

/// Returns the URL of a path on the server.
fn url_of(server: &Server, path: &str) -> Url {
    format!("http://{}{path}", server.address).parse().unwrap()
}

fn is_at(url: &Url, server: &Server) -> bool {
    url.port() == Some(server.address.port())
}

/// Replaces one query parameter, or removes it.
pub(crate) fn with_parameter(url: &Url, name: &str, value: Option<&str>) -> Url {
    let pairs: Vec<(String, String)> =
        url.query_pairs().into_owned().filter(|(key, _)| key != name).collect();
    let mut changed = url.clone();
    changed.query_pairs_mut().clear().extend_pairs(pairs);
    if let Some(value) = value {
        changed.query_pairs_mut().append_pair(name, value);
    }
    changed
}

/// Decodes the authorization state in the cookie `lodge_provider`, and its expiry in seconds since 1970.
pub(crate) fn authorization_state(cookie: &str) -> (Value, u64) {
    let (said, _mac) = cookie.split_once('.').unwrap();
    serde_json::from_slice(&URL_SAFE_NO_PAD.decode(said).unwrap()).unwrap()
}

/// Returns the value of a query parameter.
pub(crate) fn parameter(url: &Url, name: &str) -> String {
    let found = url.query_pairs().find(|(key, _)| key == name);
    found.unwrap_or_else(|| panic!("no {name} in {url}")).1.into_owned()
}
