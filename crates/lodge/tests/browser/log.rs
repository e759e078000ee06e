//! A browser's log: requests of pages and console errors.

use fantoccini::wd::WebDriverCompatibleCommand;
use http::Method;
use serde_json::Value;
use url::{ParseError, Url};

/// A vendor-specific command of chromedriver.
#[derive(Debug)]
pub(crate) struct Vendor {
    pub(crate) path: &'static str,
    pub(crate) body: Value,
}

impl WebDriverCompatibleCommand for Vendor {
    fn endpoint(&self, base: &Url, session: Option<&str>) -> Result<Url, ParseError> {
        base.join(&format!("session/{}/{}", session.unwrap_or_default(), self.path))
    }

    fn method_and_body(&self, _: &Url) -> (Method, Option<String>) {
        (Method::POST, Some(self.body.to_string()))
    }
}

/// The browser's log since it started.
#[derive(Default)]
pub(crate) struct Log {
    /// Requests in the order in which they were sent.
    pub(crate) requests: Vec<Request>,
    /// Console messages above the level DEBUG.
    pub(crate) errors: Vec<String>,
}

/// A request for a page or by a page.
#[derive(Debug)]
pub(crate) struct Request {
    id: String,
    /// The loader id, shared by a page and its subresources.
    page: String,
    pub(crate) url: String,
    /// The encoded size of the body, in bytes.
    pub(crate) bytes: u64,
}

impl Log {
    /// Adds the entries of one of the driver's logs.
    pub(crate) fn add_entries(&mut self, kind: &str, entries: &Value) {
        for entry in entries.as_array().into_iter().flatten() {
            let message = entry["message"].as_str().unwrap_or_default();
            if kind == "performance" {
                let event: Value = serde_json::from_str(message).unwrap();
                self.take_in_event(&event["message"]);
            } else if entry["level"] != "DEBUG" && !is_expected(entry) {
                self.errors.push(format!("{}: {message}", entry["level"]));
            }
        }
    }

    fn take_in_event(&mut self, event: &Value) {
        let details = &event["params"];
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let id = text(&details["requestId"]);
        match event["method"].as_str().unwrap_or_default() {
            "Network.requestWillBeSent" => self.requests.push(Request {
                id,
                page: text(&details["loaderId"]),
                url: text(&details["request"]["url"]),
                bytes: 0,
            }),
            "Network.dataReceived" => {
                let bytes = details["encodedDataLength"].as_u64().unwrap_or(0);
                if let Some(request) = self.requests.iter_mut().rfind(|request| request.id == id) {
                    request.bytes += bytes;
                }
            }
            _ => {}
        }
    }

    /// Returns the requests of the newest page: its own and those of its subresources.
    pub(crate) fn newest_page(&self) -> Vec<&Request> {
        let newest = self.requests.iter().rfind(|request| request.id == request.page);
        let page = newest.map(|request| request.page.as_str()).unwrap_or_default();
        self.requests.iter().filter(|request| request.page == page).collect()
    }
}

/// Returns whether an entry only reports a 4xx response, which tests provoke, or the data that a sign-out cleared.
fn is_expected(entry: &Value) -> bool {
    let message = entry["message"].as_str().unwrap_or_default();
    let says = |text: &str| message.contains(text);
    entry["source"] == "network" && says("the server responded with a status of 4")
        || entry["level"] == "INFO" && says("Clear-Site-Data header on ")
}
