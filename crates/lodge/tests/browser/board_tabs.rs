//! Long sessions on the board: several tabs, many messages, deletions.

use std::{
    net::SocketAddr,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    thread,
    time::Duration,
};

use serde_json::json;
use uuid::Uuid;

use crate::{
    account::PASSWORD,
    board::{MESSAGES, SORTED_MESSAGES, stored, two_members_in, write},
    client::Request,
    engine::Engine,
    in_chromium,
    scene::Scene,
    server::{Lodge, Server},
};

in_chromium!(
    a_tab_opened_or_left_alone_during_writes_misses_no_message,
    a_deleted_message_disappears_from_every_page_and_every_quote,
    older_messages_join_those_left_after_a_long_session,
    a_browser_with_full_storage_sends_a_message_immediately,
    an_unsent_message_is_not_sent_after_another_account_signs_in,
);

/// Returns an installation without a limit on messages.
pub(crate) fn busy() -> Lodge {
    Lodge::new().with("LODGE_LIMITS_POSTS_PER_MINUTE", "0")
}

/// The maximum number of messages written during a test.
const LAST: i64 = 20_000;

/// An account that posts over the API.
#[derive(Clone)]
pub(crate) struct ApiMember {
    server: SocketAddr,
    token: String,
}

impl ApiMember {
    pub(crate) fn start(server: &Server, name: &str) -> Self {
        let person = json!({"username": name, "password": PASSWORD});
        server.post("/api/accounts").json(&person).expect(201);
        let session = server.post("/api/session").json(&person).send().json();
        let token = session["token"].as_str().unwrap().to_owned();
        Self { server: server.address, token }
    }

    /// Posts a message.
    pub(crate) fn write(&self, body: &str) {
        let message = json!({"client_id": Uuid::new_v4(), "body": body});
        let path = "/api/board/lobby/messages";
        Request::new(self.server, "POST", path).bearer(&self.token).json(&message).expect(201);
    }
}

async fn a_tab_opened_or_left_alone_during_writes_misses_no_message(engine: Engine) {
    let scene = Scene::begin_on(busy(), engine).await;
    let browser = &scene.browser;
    browser.sign_up("ada").await;
    let bob = ApiMember::start(&scene.server, "bob");
    let stop = Arc::new(AtomicBool::new(false));
    let stopped = Arc::clone(&stop);
    let writes = tokio::task::spawn_blocking(move || {
        // Bounded, in case the test fails before it sets the flag.
        let last = (0..LAST).find(|number| {
            bob.write(&number.to_string());
            // A steady rate, which a browser on a busy machine can show.
            thread::sleep(Duration::from_millis(20));
            stopped.load(Ordering::Acquire)
        });
        last.unwrap_or(LAST - 1)
    });
    // The name is shown once, above messages that may be out of sight.
    browser.press_and_wait("Board", "#lobby").await;
    browser.one("#messages .said").await;
    let first = browser.new_tab().await;
    scene.open("/board").await;
    browser.one("#messages .said").await;
    let second = browser.new_tab().await;
    scene.open("/board").await;
    browser.one("#messages .said").await;
    // The first tab held the stream for all tabs.
    let third = browser.switch_to(first).await;
    browser.close_for(second).await;
    browser.one("#messages .said").await;
    stop.store(true, Ordering::Release);
    let last = writes.await.unwrap();
    browser.wait_for_script(GAPS, &format!("none until {last}")).await;
    browser.switch_to(third).await;
    browser.wait_for_script(GAPS, &format!("none until {last}")).await;
    assert_eq!(stored(&scene.lodge), last + 1);
    scene.end().await;
}

/// Returns the messages that are missing, duplicated or misplaced between the first and the last shown message.
const GAPS: &str = "
    const said = [...document.querySelectorAll('#messages .said')].map((body) => Number(body.textContent));
    const gaps = said.slice(1).filter((number, index) => number !== said[index] + 1);
    return `${gaps.join() || 'none'} until ${said.at(-1)}`;
";

async fn a_deleted_message_disappears_from_every_page_and_every_quote(engine: Engine) {
    let (scene, other) = two_members_in(Scene::begin_on(busy(), engine).await).await;
    let browser = &scene.browser;
    write(browser, "a secret").await;
    other.wait_for_script(MESSAGES, "a secret; same page").await;
    other.one("#messages a[aria-label]").await.click().await.unwrap();
    other.press_and_wait("Reply", "Replying to ada: a secret").await;
    other.run_script("window.stays = 'same page'").await;
    write(&other, "Indeed").await;
    browser.wait_for_script(MESSAGES, "a secret,Indeed; same page").await;
    assert_eq!(browser.text(".quote").await, "ada a secret");
    other.wait_for_script(MESSAGES, "a secret,Indeed; same page").await;
    // Delete it in another tab, while both pages stay open.
    let here = browser.new_tab().await;
    scene.open("/board").await;
    browser.one("#messages [id] a[aria-label]").await.click().await.unwrap();
    browser.press("Delete").await;
    browser.press_and_wait("Yes, delete it", "This message was deleted.").await;
    browser.switch_to(here).await;
    for browser in [browser, &other] {
        browser.wait_for_script(MESSAGES, "Indeed; same page").await;
        browser
            .wait_for_script("return String(document.body.innerHTML.includes('secret'))", "false")
            .await;
    }
    scene.end().await;
}

async fn older_messages_join_those_left_after_a_long_session(engine: Engine) {
    let scene = Scene::begin_on(busy(), engine).await;
    let browser = &scene.browser;
    browser.sign_up("ada").await;
    let bob = ApiMember::start(&scene.server, "bob");
    browser.press_and_wait("Board", "#lobby").await;
    let count = 530;
    (0..count).for_each(|number| bob.write(&number.to_string()));
    browser.wait_for_script(GAPS, &format!("none until {}", count - 1)).await;
    let shown =
        browser.run_script("return document.querySelectorAll('#messages [id]').length").await;
    assert!(shown.as_u64().unwrap() <= 500, "the page does not grow without end: {shown}");
    assert_ne!(browser.run_script(FIRST).await, "0");
    browser.run_script("document.querySelector('.scroll').scrollTop = -1e6").await;
    browser.wait_for_script(FIRST, "0").await;
    browser.wait_for_script(GAPS, &format!("none until {}", count - 1)).await;
    scene.end().await;
}

const FIRST: &str = "return document.querySelector('#messages .said').textContent";

async fn a_browser_with_full_storage_sends_a_message_immediately(engine: Engine) {
    let (scene, other) = two_members_in(Scene::begin_on(busy(), engine).await).await;
    let browser = &scene.browser;
    browser.run_script(FILL).await;
    write(browser, "no room").await;
    other.wait_for_script(MESSAGES, "no room; same page").await;
    browser.wait_for_script(MESSAGES, "no room; undefined").await;
    // The plain form submit reloaded the page, which now stores what fits.
    write(browser, "still none").await;
    other.wait_for_script(MESSAGES, "no room,still none; same page").await;
    browser.wait_for_script(MESSAGES, "no room,still none; undefined").await;
    assert_eq!(stored(&scene.lodge), 2);
}

/// Fills the site's local storage to the last character.
const FILL: &str = "
    for (let size = 1 << 20, number = 0; size; size >>= 1) {
        try {
            for (;;) localStorage.setItem(`fill-${number += 1}`, 'x'.repeat(size));
        } catch {}
    }
";

async fn an_unsent_message_is_not_sent_after_another_account_signs_in(engine: Engine) {
    let scene = Scene::begin(engine).await;
    let browser = &scene.browser;
    scene.another_browser().await.sign_up("bob").await;
    browser.sign_up("ada").await;
    browser.press_and_wait("Board", "#lobby").await;
    browser.run_script(HOLD).await;
    write(browser, "hers").await;
    browser.wait_for_text("Sending").await;
    let hers = browser.new_tab().await;
    browser.sign_in("bob", PASSWORD).await;
    browser.wait_for_text("Created by bob").await;
    browser.press_and_wait("Board", "#lobby").await;
    write(browser, "his").await;
    browser.wait_for_script(SORTED_MESSAGES, "his; 0; undefined").await;
    // Her page tries to send, is refused, and keeps her message.
    let his = browser.switch_to(hers).await;
    browser.wait_for_text("You are signed out").await;
    browser.run_script("window.release()").await;
    browser.wait_for_script("return String(window.answered)", "401").await;
    assert_eq!(stored(&scene.lodge), 1);
    browser.close_for(his).await;
    browser.sign_in("ada", PASSWORD).await;
    browser.wait_for_text("Created by ada").await;
    browser.press("Board").await;
    browser.wait_for_script(SORTED_MESSAGES, "hers,his; 0; undefined").await;
    assert_eq!(stored(&scene.lodge), 2);
}

/// Holds the page's requests until they are released, and then records the status of a message's response.
const HOLD: &str = "
    const ask = window.fetch;
    const released = new Promise((done) => (window.release = done));
    window.fetch = async (...asked) => {
        await released;
        const answer = await ask(asked[0], { ...asked[1], signal: undefined });
        if (asked[1]?.headers) window.answered = answer.status;
        return answer;
    };
";
