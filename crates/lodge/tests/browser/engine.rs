//! The kinds of browsers and their WebDriver capabilities.

use std::path::Path;

use fantoccini::wd::Capabilities;
use serde_json::{Value, json};

use crate::driver::installed;

/// Whether pages may run scripts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Scripts {
    On,
    Off,
}

/// The kind of browser.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Engine {
    Chromium,
    Firefox,
}

/// The browser to start.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Kind {
    pub(crate) engine: Engine,
    pub(crate) scripts: Scripts,
}

impl From<Scripts> for Kind {
    /// Returns Chromium, the default.
    fn from(scripts: Scripts) -> Self {
        Self { engine: Engine::Chromium, scripts }
    }
}

impl From<Engine> for Kind {
    /// Returns a browser with scripts, the default.
    fn from(engine: Engine) -> Self {
        Self { engine, scripts: Scripts::On }
    }
}

impl Engine {
    /// Returns the name of the WebDriver executable.
    pub(crate) fn driver(self) -> &'static str {
        match self {
            Self::Chromium => "chromedriver",
            Self::Firefox => "geckodriver",
        }
    }

    /// Returns the driver's port, if this line of its output reports it (at the end of the line).
    pub(crate) fn port(self, line: &str) -> Option<u16> {
        let before = match self {
            Self::Chromium => "started successfully on port ",
            Self::Firefox => "Listening on 127.0.0.1:",
        };
        line.split_once(before)?.1.trim_end_matches('.').parse().ok()
    }
}

impl Kind {
    /// Returns the capabilities to request from the driver.
    pub(crate) fn capabilities(self, profile: &Path) -> Capabilities {
        match self.engine {
            Engine::Chromium => chromium(self.scripts, profile),
            Engine::Firefox => firefox(self.scripts, profile),
        }
    }
}

fn chromium(scripts: Scripts, profile: &Path) -> Capabilities {
    let arguments = [
        "--headless",
        "--no-sandbox",
        "--disable-gpu",
        "--disable-quic",
        "--no-first-run",
        "--disable-background-networking",
        "--disable-component-update",
        "--disable-sync",
        "--lang=en-GB",
        "--window-size=1280,900",
        &format!("--user-data-dir={}", profile.display()),
    ];
    let scripts = if scripts == Scripts::On { 1 } else { 2 };
    let options = json!({
        "binary": installed("chromium"),
        "args": arguments,
        "prefs": {"profile.managed_default_content_settings.javascript": scripts},
    });
    Capabilities::from_iter([
        ("goog:chromeOptions".to_owned(), options),
        ("goog:loggingPrefs".to_owned(), json!({"browser": "ALL", "performance": "ALL"})),
    ])
}

/// Returns the capabilities for Firefox. Its driver already disables background requests.
fn firefox(scripts: Scripts, profile: &Path) -> Capabilities {
    let arguments: [&str; 7] = [
        "-headless",
        "-width",
        "1280",
        "-height",
        "900",
        "-profile",
        &profile.display().to_string(),
    ];
    let preferences: Value = json!({
        "intl.accept_languages": "en-GB, en",
        "javascript.enabled": scripts == Scripts::On,
        "network.proxy.type": 0,
    });
    let options = json!({
        "binary": installed("firefox-esr"),
        "args": arguments,
        "prefs": preferences,
    });
    Capabilities::from_iter([("moz:firefoxOptions".to_owned(), options)])
}
