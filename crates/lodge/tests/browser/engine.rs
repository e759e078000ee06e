//! The kinds of browsers and their WebDriver capabilities.

use std::{
    fs::{self, Permissions},
    os::unix::fs::PermissionsExt as _,
    path::{Path, PathBuf},
};

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

/// Chromium without its windows, which starts in a third of the time.
pub(crate) const CHROMIUM: &str = "chromium-headless-shell";

fn chromium(scripts: Scripts, profile: &Path) -> Capabilities {
    let mut arguments = vec![
        "--no-sandbox".to_owned(),
        "--disable-gpu".to_owned(),
        "--disable-quic".to_owned(),
        "--lang=en-GB".to_owned(),
        "--window-size=1280,760".to_owned(),
        format!("--user-data-dir={}", profile.display()),
    ];
    if scripts == Scripts::Off {
        arguments.push("--blink-settings=scriptEnabled=false".to_owned());
    }
    let options = json!({"binary": with_blank_page(profile), "args": arguments});
    Capabilities::from_iter([
        ("goog:chromeOptions".to_owned(), options),
        ("goog:loggingPrefs".to_owned(), json!({"browser": "ALL", "performance": "ALL"})),
    ])
}

/// Returns a script that starts Chromium with a page: without one, its driver waits for ever.
fn with_blank_page(profile: &Path) -> PathBuf {
    let script = profile.join("start");
    let line = format!("#!/bin/sh\nexec {} \"$@\" about:blank\n", installed(CHROMIUM).display());
    fs::write(&script, line).unwrap();
    fs::set_permissions(&script, Permissions::from_mode(0o700)).unwrap();
    script
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
