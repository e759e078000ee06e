//! A browser with the actions of a user: open pages, fill in fields, press buttons, read text.

use std::{
    cell::{Ref, RefCell},
    path::Path,
    time::{Duration, Instant},
};

use fantoccini::{
    Client, ClientBuilder, Locator,
    actions::{InputSource, KeyAction, KeyActions, MOUSE_BUTTON_LEFT, MouseActions, PointerAction},
    elements::Element,
    error::CmdError,
    key::Key,
    wd::WindowHandle,
};
use hyper_util::client::legacy::connect::HttpConnector;
use serde_json::{Value, json};

use crate::{
    driver::Driver,
    engine::{Engine, Kind},
    log::{Log, Vendor},
    server::DEADLINE,
};

/// A page that shows whether scripts run.
const PROBE: &str =
    "data:text/html,<p>Off</p><script>document.querySelector('p').textContent='On'</script>";

/// The first interval at which conditions are polled; each is longer than the one before, up to [`POLL_MAX`]: polling
/// costs processor time that the browsers need.
const POLL: Duration = Duration::from_millis(20);

/// The longest interval at which conditions are polled.
const POLL_MAX: Duration = Duration::from_millis(200);

/// Returns the focused element, and whether its focus outline is visible.
const FOCUS: &str = "
    const { id, innerText } = document.activeElement;
    const { outlineStyle, outlineWidth } = getComputedStyle(document.activeElement);
    const { width, height, top, bottom } = document.activeElement.getBoundingClientRect();
    const outlined = outlineStyle !== 'none' && parseFloat(outlineWidth) >= 2;
    const inside = width > 0 && height > 0 && top < innerHeight && bottom > 0;
    return { id, text: innerText ?? '', seen: outlined && inside };
";

/// A browser with its own profile.
pub(crate) struct Browser {
    client: Client,
    origin: String,
    engine: Engine,
    log: RefCell<Log>,
    driver: Driver,
}

impl Browser {
    /// Starts a browser for a site, and checks whether it runs scripts.
    pub(crate) async fn start(kind: Kind, origin: &str) -> Self {
        let driver = Driver::start(kind.engine);
        let client = ClientBuilder::new(HttpConnector::new())
            .capabilities(kind.capabilities(driver.profile.path()))
            .connect(&driver.url)
            .await
            .unwrap();
        client.goto(PROBE).await.unwrap();
        let (origin, log) = (origin.to_owned(), RefCell::default());
        let browser = Self { client, origin, engine: kind.engine, log, driver };
        assert_eq!(browser.text("p").await, format!("{:?}", kind.scripts), "scripts");
        if kind.engine == Engine::Chromium {
            // Without a window it grants nothing by itself.
            let clipboard =
                json!({"permissions": ["clipboardReadWrite", "clipboardSanitizedWrite"]});
            browser.command("Browser.grantPermissions", clipboard).await;
        }
        browser.read_log().await;
        browser.log.take();
        browser
    }

    /// Opens a page of the site.
    pub(crate) async fn open(&self, path: &str) {
        self.client.goto(&format!("{}{path}", self.origin)).await.unwrap();
    }

    /// Reloads the page.
    pub(crate) async fn reload(&self) {
        self.client.refresh().await.unwrap();
    }

    /// Opens a new tab and switches to it. Returns the previous tab.
    pub(crate) async fn new_tab(&self) -> WindowHandle {
        let before = self.client.window().await.unwrap();
        let tab = self.client.new_window(true).await.unwrap().handle;
        self.client.switch_to_window(tab).await.unwrap();
        before
    }

    /// Switches to another tab. Returns the previous tab.
    pub(crate) async fn switch_to(&self, tab: WindowHandle) -> WindowHandle {
        let before = self.client.window().await.unwrap();
        self.client.switch_to_window(tab).await.unwrap();
        before
    }

    /// Closes the current tab and switches to another.
    pub(crate) async fn close_for(&self, tab: WindowHandle) {
        self.client.close_window().await.unwrap();
        self.client.switch_to_window(tab).await.unwrap();
    }

    /// Returns the path and query of the page.
    pub(crate) async fn path(&self) -> String {
        let url = self.client.current_url().await.unwrap();
        url[url::Position::BeforePath..].to_owned()
    }

    /// Waits for an element.
    pub(crate) async fn one(&self, css: &str) -> Element {
        self.wait_for(css, Locator::Css(css)).await
    }

    async fn wait_for(&self, what: &str, locator: Locator<'_>) -> Element {
        self.eventually(what, async || match self.client.find(locator).await {
            Ok(element) => Ok(element),
            Err(error) if error.is_no_such_element() || is_of_navigation(&error) => {
                Err(error.to_string())
            }
            Err(error) => panic!("no {what}: {error}"),
        })
        .await
    }

    /// Returns the current elements that match.
    pub(crate) async fn all(&self, css: &str) -> Vec<Element> {
        self.client.find_all(Locator::Css(css)).await.unwrap()
    }

    /// Returns whether an element currently matches.
    pub(crate) async fn has(&self, css: &str) -> bool {
        !self.all(css).await.is_empty()
    }

    /// Waits for an element. Returns its visible text.
    pub(crate) async fn text(&self, css: &str) -> String {
        self.one(css).await.text().await.unwrap()
    }

    /// Waits for an element. Returns an attribute, or an empty string.
    pub(crate) async fn attribute(&self, css: &str, name: &str) -> String {
        self.one(css).await.attr(name).await.unwrap().unwrap_or_default()
    }

    /// Returns the text of the whole page; empty during navigation.
    pub(crate) async fn page(&self) -> String {
        match self.client.find(Locator::Css("body")).await {
            Ok(body) => body.text().await.unwrap_or_default(),
            Err(_) => String::new(),
        }
    }

    /// Waits until the page contains the text.
    pub(crate) async fn wait_for_text(&self, text: &str) {
        self.eventually(text, async || {
            if self.page().await.contains(text) {
                Ok(())
            } else {
                Err("not in the text".to_owned())
            }
        })
        .await;
    }

    /// Polls until `look` succeeds. Returns its value.
    pub(crate) async fn eventually<T>(
        &self,
        what: &str,
        look: impl AsyncFn() -> Result<T, String>,
    ) -> T {
        let deadline = Instant::now() + DEADLINE;
        let mut interval = POLL;
        loop {
            match look().await {
                Ok(found) => return found,
                Err(_) if Instant::now() < deadline => tokio::time::sleep(interval).await,
                Err(seen) => {
                    panic!("no {what:?} on {}: {seen}\n{}", self.path().await, self.page().await)
                }
            }
            interval = interval.mul_f64(1.25).min(POLL_MAX);
        }
    }

    /// Replaces the value of a field by typing.
    pub(crate) async fn fill(&self, field: &str, value: &str) {
        let input = self.one(&format!("#{field}")).await;
        input.clear().await.unwrap();
        input.send_keys(value).await.unwrap();
    }

    /// Fills in several fields in order.
    pub(crate) async fn fill_in(&self, fields: &[(&str, &str)]) {
        for (field, value) in fields {
            self.fill(field, value).await;
        }
    }

    /// Selects a file in a file field.
    pub(crate) async fn attach(&self, field: &str, file: &Path) {
        self.one(&format!("#{field}")).await.send_keys(&file.display().to_string()).await.unwrap();
    }

    /// Returns whether an element is visible.
    pub(crate) async fn is_shown(&self, css: &str) -> bool {
        self.one(css).await.is_displayed().await.unwrap()
    }

    /// Returns the value of a field.
    pub(crate) async fn value(&self, field: &str) -> String {
        self.one(&format!("#{field}")).await.prop("value").await.unwrap().unwrap_or_default()
    }

    /// Clicks the button, link or summary with this text, else the first whose text starts with it; one in the main
    /// part of the page before one in its header.
    pub(crate) async fn press(&self, text: &str) {
        self.eventually(text, async || {
            let clicked = self.button(text).await.click().await;
            clicked.map_err(|error| {
                assert!(is_of_navigation(&error), "{text:?} cannot be pressed: {error}");
                error.to_string()
            })
        })
        .await;
    }

    /// Clicks an element, and waits until the page contains `said`.
    pub(crate) async fn press_and_wait(&self, text: &str, said: &str) {
        self.press(text).await;
        self.wait_for_text(said).await;
    }

    /// Fills in and submits a form that is refused. Returns the error beside `field`.
    pub(crate) async fn is_refused(
        &self,
        fields: &[(&str, &str)],
        button: &str,
        field: &str,
    ) -> String {
        self.fill_in(fields).await;
        self.press(button).await;
        self.text(&format!("#{field}-error")).await
    }

    /// Clicks an element twice without a pause.
    pub(crate) async fn press_twice(&self, text: &str) {
        let element = self.button(text).await;
        let down = PointerAction::Down { button: MOUSE_BUTTON_LEFT };
        let up = PointerAction::Up { button: MOUSE_BUTTON_LEFT };
        let mouse = MouseActions::new("mouse".to_owned())
            .then(PointerAction::MoveToElement { element, duration: None, x: 0.0, y: 0.0 })
            .then(down.clone())
            .then(up.clone())
            .then(down)
            .then(up);
        self.client.perform_actions(mouse).await.unwrap();
    }

    async fn button(&self, text: &str) -> Element {
        self.wait_for(text, Locator::XPath(&path_of_button(text))).await
    }

    /// Presses a key, wherever the focus is.
    pub(crate) async fn press_key(&self, key: Key) {
        let value = char::from(key);
        let keyboard = KeyActions::new("keyboard".to_owned())
            .then(KeyAction::Down { value })
            .then(KeyAction::Up { value });
        self.client.perform_actions(keyboard).await.unwrap();
    }

    /// Returns the focused element, and whether its focus is visible.
    pub(crate) async fn focus(&self) -> Value {
        self.run_script(FOCUS).await
    }

    /// Pastes the clipboard into a field.
    pub(crate) async fn paste(&self, field: &str) {
        self.one(&format!("#{field}")).await.click().await.unwrap();
        let (control, v) = (char::from(Key::Control), 'v');
        let keyboard = KeyActions::new("keyboard".to_owned())
            .then(KeyAction::Down { value: control })
            .then(KeyAction::Down { value: v })
            .then(KeyAction::Up { value: v })
            .then(KeyAction::Up { value: control });
        self.client.perform_actions(keyboard).await.unwrap();
    }

    /// Types text into the focused element.
    pub(crate) async fn write(&self, text: &str) {
        self.client.active_element().await.unwrap().send_keys(text).await.unwrap();
    }

    /// Runs a script of the driver, which works even if the page's own scripts are off. Returns its result.
    pub(crate) async fn run_script(&self, script: &str) -> Value {
        self.client.execute(script, Vec::new()).await.unwrap()
    }

    /// Sets the viewport size of a phone.
    pub(crate) async fn set_phone_size(&self) {
        let size = json!({"width": 360, "height": 740, "deviceScaleFactor": 2, "mobile": false});
        self.command("Emulation.setDeviceMetricsOverride", size).await;
    }

    /// Sets the viewport size of a wide desktop computer.
    pub(crate) async fn set_desktop_size(&self) {
        self.set_size(1600, 900).await;
    }

    /// Sets the viewport size, in CSS pixels.
    pub(crate) async fn set_size(&self, width: u32, height: u32) {
        let size =
            json!({"width": width, "height": height, "deviceScaleFactor": 1, "mobile": false});
        self.command("Emulation.setDeviceMetricsOverride", size).await;
    }

    /// Sets the viewport size of the window, 1280 pixels wide.
    pub(crate) async fn set_window_size(&self) {
        self.command("Emulation.clearDeviceMetricsOverride", json!({})).await;
    }

    /// Prefers the color scheme `light` or `dark`, without transitions between them.
    pub(crate) async fn set_color_scheme(&self, scheme: &str) {
        let scheme = json!({"name": "prefers-color-scheme", "value": scheme});
        let motion = json!({"name": "prefers-reduced-motion", "value": "reduce"});
        let features = json!({"features": [scheme, motion]});
        self.command("Emulation.setEmulatedMedia", features).await;
    }

    /// Saves a picture of the visible part of the page without its scrollbars, as PNG.
    pub(crate) async fn save_picture(&self, file: &Path) {
        self.command("Emulation.setScrollbarsHidden", json!({"hidden": true})).await;
        std::fs::write(file, self.client.screenshot().await.unwrap()).unwrap();
    }

    /// Disables the HTTP cache.
    pub(crate) async fn without_cache(&self) {
        self.command("Network.setCacheDisabled", json!({"cacheDisabled": true})).await;
    }

    async fn command(&self, command: &str, parameters: Value) {
        let body = json!({"cmd": command, "params": parameters});
        self.client.issue_cmd(Vendor { path: "goog/cdp/execute", body }).await.unwrap();
    }

    /// Polls a script until it returns `wanted`.
    pub(crate) async fn wait_for_script(&self, script: &str, wanted: &str) {
        self.eventually(wanted, async || {
            // Returns nothing during navigation.
            let said = self.client.execute(script, Vec::new()).await.unwrap_or_default();
            if said == wanted { Ok(()) } else { Err(format!("{script}: {said}")) }
        })
        .await;
    }

    /// Waits until at least `count` windows show a URL that contains `path`. Returns their URLs.
    pub(crate) async fn windows_at(&self, path: &str, count: usize) -> Vec<String> {
        self.eventually(path, async || {
            let mut urls = Vec::new();
            for window in self.client.windows().await.unwrap() {
                self.client.switch_to_window(window).await.unwrap();
                urls.push(self.client.current_url().await.unwrap().to_string());
            }
            let there: Vec<_> = urls.iter().filter(|url| url.contains(path)).cloned().collect();
            if there.len() >= count { Ok(there) } else { Err(format!("{urls:?}")) }
        })
        .await
    }

    /// Returns the browser's log so far.
    pub(crate) async fn read_log(&self) -> Ref<'_, Log> {
        if self.engine == Engine::Firefox {
            self.log.borrow_mut().errors.append(&mut self.driver.errors.lock());
            return self.log.borrow();
        }
        for kind in ["browser", "performance"] {
            let asked = Vendor { path: "se/log", body: json!({"type": kind}) };
            let entries = self.client.issue_cmd(asked).await.unwrap();
            self.log.borrow_mut().add_entries(kind, &entries);
        }
        self.log.borrow()
    }

    /// Closes the browser. Fails if the browser logged errors.
    pub(crate) async fn end(self) {
        let complaints = self.read_log().await.errors.clone();
        assert!(complaints.is_empty(), "the browser logged errors: {complaints:#?}");
        // A session that does not close is killed.
        let _ = self.client.close().await;
    }
}

/// Returns whether a command failed because the browser opened another page meanwhile. Chromium's driver has an error
/// code of its own for it.
fn is_of_navigation(error: &CmdError) -> bool {
    error.is_stale_element_reference()
        || matches!(error, CmdError::NotW3C(answer) if *answer == "aborted by navigation")
        // Chromium's word for an element that went between its lookup and the click.
        || error.to_string().contains("does not belong to the document")
}

/// Returns the `XPath` of the button, link or summary that [`Browser::press`] clicks.
fn path_of_button(text: &str) -> String {
    let named = |within: &str, test: &str| {
        format!("{within}//*[self::a or self::button or self::summary][{test}]")
    };
    let exact = format!("normalize-space()='{text}'");
    let start = format!("starts-with(normalize-space(), '{text}')");
    let (exact_main, exact) = (named("//main", &exact), named("", &exact));
    let (start_main, start) = (named("//main", &start), named("", &start));
    format!(
        "{exact_main} | {exact}[not({exact_main})] | {start_main}[not({exact})] \
         | {start}[not({exact})][not({start_main})]"
    )
}
