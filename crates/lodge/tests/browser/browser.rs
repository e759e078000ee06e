//! A browser as a person uses it: pages opened, fields filled in, buttons pressed, text read.

use std::{
    cell::{Ref, RefCell},
    path::Path,
    time::{Duration, Instant},
};

use fantoccini::{
    Client, ClientBuilder, Locator,
    actions::{InputSource, KeyAction, KeyActions, MOUSE_BUTTON_LEFT, MouseActions, PointerAction},
    elements::Element,
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

/// Says whether scripts run.
const PROBE: &str =
    "data:text/html,<p>Off</p><script>document.querySelector('p').textContent='On'</script>";

/// How often a condition is looked at.
const POLL: Duration = Duration::from_millis(20);

/// What has the focus. Every element shows it as an outline.
const FOCUS: &str = "
    const { id, innerText } = document.activeElement;
    const { outlineStyle, outlineWidth } = getComputedStyle(document.activeElement);
    const { width, height, top, bottom } = document.activeElement.getBoundingClientRect();
    const outlined = outlineStyle !== 'none' && parseFloat(outlineWidth) >= 2;
    const inside = width > 0 && height > 0 && top < innerHeight && bottom > 0;
    return { id, text: innerText ?? '', seen: outlined && inside };
";

/// A browser with a profile of its own.
pub(crate) struct Browser {
    client: Client,
    origin: String,
    engine: Engine,
    log: RefCell<Log>,
    driver: Driver,
}

impl Browser {
    /// Starts one that visits a site, and sees that it runs scripts or does not.
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
        browser.read_log().await;
        browser.log.take();
        browser
    }

    /// Opens a page of the site.
    pub(crate) async fn open(&self, path: &str) {
        self.client.goto(&format!("{}{path}", self.origin)).await.unwrap();
    }

    /// Opens the page once more.
    pub(crate) async fn reload(&self) {
        self.client.refresh().await.unwrap();
    }

    /// Opens another tab, in which the next page is opened; the one before.
    pub(crate) async fn new_tab(&self) -> WindowHandle {
        let before = self.client.window().await.unwrap();
        let tab = self.client.new_window(true).await.unwrap().handle;
        self.client.switch_to_window(tab).await.unwrap();
        before
    }

    /// Goes to another tab; the one before.
    pub(crate) async fn switch_to(&self, tab: WindowHandle) -> WindowHandle {
        let before = self.client.window().await.unwrap();
        self.client.switch_to_window(tab).await.unwrap();
        before
    }

    /// Closes the tab, and goes to another.
    pub(crate) async fn close_for(&self, tab: WindowHandle) {
        self.client.close_window().await.unwrap();
        self.client.switch_to_window(tab).await.unwrap();
    }

    /// The path and query of the page.
    pub(crate) async fn path(&self) -> String {
        let url = self.client.current_url().await.unwrap();
        url[url::Position::BeforePath..].to_owned()
    }

    /// Waits for an element.
    pub(crate) async fn one(&self, css: &str) -> Element {
        let found = self.client.wait().at_most(DEADLINE).for_element(Locator::Css(css)).await;
        match found {
            Ok(element) => element,
            Err(error) => {
                panic!("no {css} on {}: {error}\n{}", self.path().await, self.page().await)
            }
        }
    }

    /// All such elements that are there now.
    pub(crate) async fn all(&self, css: &str) -> Vec<Element> {
        self.client.find_all(Locator::Css(css)).await.unwrap()
    }

    /// Whether there is such an element now.
    pub(crate) async fn has(&self, css: &str) -> bool {
        !self.all(css).await.is_empty()
    }

    /// What an element says to those who see it.
    pub(crate) async fn text(&self, css: &str) -> String {
        self.one(css).await.text().await.unwrap()
    }

    /// An attribute.
    pub(crate) async fn attribute(&self, css: &str, name: &str) -> String {
        self.one(css).await.attr(name).await.unwrap().unwrap_or_default()
    }

    /// The text of the whole page; between two pages there may be none.
    pub(crate) async fn page(&self) -> String {
        match self.client.find(Locator::Css("body")).await {
            Ok(body) => body.text().await.unwrap_or_default(),
            Err(_) => String::new(),
        }
    }

    /// Waits until the page says something.
    pub(crate) async fn sees(&self, text: &str) {
        self.in_time(text, async || {
            let said = self.page().await;
            if said.contains(text) { Ok(()) } else { Err(said) }
        })
        .await;
    }

    /// Looks until something is as it should be; what there is then.
    pub(crate) async fn in_time<T>(
        &self,
        what: &str,
        look: impl AsyncFn() -> Result<T, String>,
    ) -> T {
        let deadline = Instant::now() + DEADLINE;
        loop {
            match look().await {
                Ok(found) => return found,
                Err(_) if Instant::now() < deadline => tokio::time::sleep(POLL).await,
                Err(seen) => panic!("no {what:?} on {}:\n{seen}", self.path().await),
            }
        }
    }

    /// Types into the field, in the place of what it holds.
    pub(crate) async fn fill(&self, field: &str, value: &str) {
        let input = self.one(&format!("#{field}")).await;
        input.clear().await.unwrap();
        input.send_keys(value).await.unwrap();
    }

    /// Types into some fields, one after the other.
    pub(crate) async fn fill_in(&self, fields: &[(&str, &str)]) {
        for (field, value) in fields {
            self.fill(field, value).await;
        }
    }

    /// Chooses a file.
    pub(crate) async fn attach(&self, field: &str, file: &Path) {
        self.one(&format!("#{field}")).await.send_keys(&file.display().to_string()).await.unwrap();
    }

    /// Whether an element is to be seen.
    pub(crate) async fn is_shown(&self, css: &str) -> bool {
        self.one(css).await.is_displayed().await.unwrap()
    }

    /// What stands in a field.
    pub(crate) async fn value(&self, field: &str) -> String {
        self.one(&format!("#{field}")).await.prop("value").await.unwrap().unwrap_or_default()
    }

    /// Clicks on what has this text: a button, a link, or what unfolds something.
    pub(crate) async fn press(&self, text: &str) {
        self.in_time(text, async || {
            let clicked = self.button(text).await.click().await;
            clicked.map_err(|error| {
                // It was found on the page before.
                assert!(error.is_stale_element_reference(), "{text:?} cannot be pressed: {error}");
                error.to_string()
            })
        })
        .await;
    }

    /// Clicks on it, and waits until the page says something.
    pub(crate) async fn press_for(&self, text: &str, said: &str) {
        self.press(text).await;
        self.sees(said).await;
    }

    /// Fills in a form, sends it, and waits for the message beside a field, which it returns.
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

    /// Clicks on it twice, as fast as a hand never does.
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
        let path = format!(
            "//*[self::a or self::button or self::summary][starts-with(normalize-space(), '{text}')]"
        );
        let found = self.client.wait().at_most(DEADLINE).for_element(Locator::XPath(&path)).await;
        match found {
            Ok(element) => element,
            Err(error) => panic!("no {text:?} to press: {error}\n{}", self.page().await),
        }
    }

    /// Types on the keyboard, wherever the focus is.
    pub(crate) async fn strike(&self, key: Key) {
        let value = char::from(key);
        let keyboard = KeyActions::new("keyboard".to_owned())
            .then(KeyAction::Down { value })
            .then(KeyAction::Up { value });
        self.client.perform_actions(keyboard).await.unwrap();
    }

    /// What has the focus, and whether that is to be seen.
    pub(crate) async fn focus(&self) -> Value {
        self.ask(FOCUS).await
    }

    /// Puts in what was copied.
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

    /// Types a text where the focus is.
    pub(crate) async fn write(&self, text: &str) {
        self.client.active_element().await.unwrap().send_keys(text).await.unwrap();
    }

    /// Asks the page something. The driver can, whether or not the page's own scripts run.
    pub(crate) async fn ask(&self, script: &str) -> Value {
        self.client.execute(script, Vec::new()).await.unwrap()
    }

    /// Makes the page as wide as a telephone is.
    pub(crate) async fn on_a_telephone(&self) {
        let size = json!({"width": 360, "height": 740, "deviceScaleFactor": 2, "mobile": false});
        self.command("Emulation.setDeviceMetricsOverride", size).await;
    }

    /// Makes the page as large as on a desk.
    pub(crate) async fn on_a_desk(&self) {
        let size = json!({"width": 1600, "height": 900, "deviceScaleFactor": 1, "mobile": false});
        self.command("Emulation.setDeviceMetricsOverride", size).await;
    }

    /// Fetches everything anew for each page.
    pub(crate) async fn without_cache(&self) {
        self.command("Network.setCacheDisabled", json!({"cacheDisabled": true})).await;
    }

    async fn command(&self, command: &str, parameters: Value) {
        let body = json!({"cmd": command, "params": parameters});
        self.client.issue_cmd(Vendor { path: "goog/cdp/execute", body }).await.unwrap();
    }

    /// Asks the page something until it answers as wanted.
    pub(crate) async fn until(&self, script: &str, wanted: &str) {
        self.in_time(wanted, async || {
            // On its way to another page it answers nothing.
            let said = self.client.execute(script, Vec::new()).await.unwrap_or_default();
            if said == wanted { Ok(()) } else { Err(format!("{script}: {said}")) }
        })
        .await;
    }

    /// Waits until so many windows show such a page; their addresses.
    pub(crate) async fn windows_at(&self, path: &str, count: usize) -> Vec<String> {
        self.in_time(path, async || {
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

    /// What the browser noted so far.
    pub(crate) async fn read_log(&self) -> Ref<'_, Log> {
        if self.engine == Engine::Firefox {
            self.log.borrow_mut().complaints.append(&mut self.driver.errors.lock());
            return self.log.borrow();
        }
        for kind in ["browser", "performance"] {
            let asked = Vendor { path: "se/log", body: json!({"type": kind}) };
            let entries = self.client.issue_cmd(asked).await.unwrap();
            self.log.borrow_mut().take_in(kind, &entries);
        }
        self.log.borrow()
    }

    /// Ends it. It must have had nothing to complain about.
    pub(crate) async fn end(self) {
        let complaints = self.read_log().await.complaints.clone();
        assert!(complaints.is_empty(), "the browser complains: {complaints:#?}");
        // What does not close is killed.
        let _ = self.client.close().await;
    }
}
