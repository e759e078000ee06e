//! Reading the board, and who is on it.

use crate::{
    account::PASSWORD,
    board_tabs::ApiMember,
    browser::Browser,
    engine::{Engine, Kind, Scripts},
    in_chromium, in_each_browser,
    scene::Scene,
    server::Lodge,
};

in_each_browser!(members_read_and_write, members_read_and_write_without_scripts,);
in_chromium!(
    presence_and_nickname_changes_are_shown_live,
    a_signed_out_reader_is_notified_and_led_to_sign_in,
);

/// Starts a scene with two members on the board, each in their own browser.
pub(crate) async fn two_members(kind: impl Into<Kind>) -> (Scene, Browser) {
    two_members_in(Scene::begin(kind).await).await
}

pub(crate) async fn two_members_in(scene: Scene) -> (Scene, Browser) {
    let other = scene.another_browser().await;
    for (browser, name) in [(&scene.browser, "ada"), (&other, "bob")] {
        browser.sign_up(name).await;
        browser.press_and_wait("Board", "#lobby").await;
        browser.run_script("window.stays = 'same page'").await;
    }
    (scene, other)
}

pub(crate) async fn write(browser: &Browser, text: &str) {
    browser.fill("body", text).await;
    browser.press("Send").await;
}

/// Returns the messages in order, and whether the page was reloaded.
pub(crate) const MESSAGES: &str = "
    const said = [...document.querySelectorAll('#messages [id] .said')].map((body) => body.textContent);
    return said.join() + '; ' + window.stays;
";

/// Returns the authors of messages, and the members who are present.
const NAMES: &str = "
    const names = (css) => [...document.querySelectorAll(css)].map((name) => name.textContent);
    return names('#messages bdi').join() + '; ' + names('#people bdi').join();
";

async fn members_read_and_write(engine: Engine) {
    two_members_read_and_write(engine.into()).await;
}

async fn members_read_and_write_without_scripts(engine: Engine) {
    two_members_read_and_write(Kind { engine, scripts: Scripts::Off }).await;
}

async fn two_members_read_and_write(kind: Kind) {
    let (scene, other) = two_members(kind).await;
    let scripts = kind.scripts;
    let browser = &scene.browser;
    write(browser, "Fresh **snow**, @bob!").await;
    browser.wait_for_text("Fresh snow, @bob!").await;
    if scripts == Scripts::Off {
        other.reload().await;
    }
    other.wait_for_text("Fresh snow, @bob!").await;
    write(&other, "Where?").await;
    other.wait_for_text("Where?").await;
    if scripts == Scripts::Off {
        browser.reload().await;
    }
    browser.wait_for_text("Where?").await;
    let stays = if scripts == Scripts::On { "same page" } else { "undefined" };
    for browser in [browser, &other] {
        browser.wait_for_script(MESSAGES, &format!("Fresh snow, @bob!,Where?; {stays}")).await;
    }
    assert_eq!(other.all("li.me").await.len(), 1, "bob's mention is highlighted for him");
    assert!(!browser.has("li.me").await);

    // All other actions on a message, on its own page.
    browser.one("#messages [id] a[aria-label]").await.click().await.unwrap();
    if scripts == Scripts::On {
        browser.press("More").await;
    }
    browser.wait_for_text("Message by ada").await;
    browser.fill("body", "Fresh ice").await;
    browser.press_and_wait("Save", "Saved.").await;
    browser.press("Delete this message").await;
    browser.press_and_wait("Yes, delete it", "This message was deleted.").await;
    if scripts == Scripts::Off {
        other.reload().await;
    }
    other.wait_for_text("This message was deleted.").await;
    scene.end().await;
}

async fn presence_and_nickname_changes_are_shown_live(engine: Engine) {
    let (scene, other) = two_members(engine).await;
    let browser = &scene.browser;
    // Right after the server's start no arrival is announced: a member may have been present before.
    browser.wait_for_script(NAMES, "; ada,bob").await;
    write(&other, "Hello").await;
    browser.wait_for_script(NAMES, "bob; ada,bob").await;
    other.open("/account").await;
    other.fill("nickname", "Robert").await;
    other.press_and_wait("Save", "Saved.").await;
    browser.wait_for_script(NAMES, "Robert; ada,Robert").await;
    other.fill("sessions-current", PASSWORD).await;
    other.press_and_wait("Sign out everywhere", "Sign in").await;
    browser.wait_for_text("Robert @bob left.").await;
    browser.wait_for_script(NAMES, "Robert; ada").await;
    other.sign_in("bob", PASSWORD).await;
    other.wait_for_text("Created by").await;
    other.press("Board").await;
    browser.wait_for_text("Robert @bob joined.").await;
    scene.end().await;
}

async fn a_signed_out_reader_is_notified_and_led_to_sign_in(engine: Engine) {
    let (scene, _other) = two_members(engine).await;
    let browser = &scene.browser;
    let elsewhere = scene.another_browser().await;
    elsewhere.sign_in("ada", PASSWORD).await;
    elsewhere.wait_for_text("Created by ada").await;
    elsewhere.open("/account").await;
    elsewhere.fill("sessions-current", PASSWORD).await;
    elsewhere.press_and_wait("Sign out everywhere", "Sign in").await;
    browser.wait_for_text("You are signed out").await;
    browser.press("Sign in").await;
    assert_eq!(browser.path().await, "/login?next=/board/lobby");
}

/// Returns the number of stored messages.
pub(crate) fn stored(lodge: &Lodge) -> i64 {
    let count = "SELECT count(*) FROM board_messages";
    lodge.query(count)
}

/// Returns the messages sorted, the number of unsent messages, and whether the page was reloaded.
pub(crate) const SORTED_MESSAGES: &str = "
    const said = [...document.querySelectorAll('#messages [id] .said')].map((body) => body.textContent);
    return said.sort().join() + '; ' + document.querySelectorAll('.waits').length + '; ' + window.stays;
";

/// Starts a scene with one member on a board with this many messages.
async fn full_board(messages: usize) -> Scene {
    let lodge = Lodge::new().with("LODGE_LIMITS_POSTS_PER_MINUTE", "0");
    let scene = Scene::begin_on(lodge, Scripts::On).await;
    let browser = &scene.browser;
    browser.sign_up("ada").await;
    browser.press("Board").await;
    let send = format!(
        "const send = async () => {{
            for (let number = 1; number <= {messages}; number++) {{
                const body = new URLSearchParams({{ client_id: `n-${{number}}`, body: `number ${{number}}` }});
                await fetch('/board/lobby', {{ method: 'POST', headers: {{ Accept: 'application/json' }}, body }});
            }}
            window.sent = 'all';
        }};
        send();"
    );
    browser.run_script(&send).await;
    browser.wait_for_script("return String(window.sent)", "all").await;
    browser.open("/board").await;
    browser.run_script("window.stays = 'same page'").await;
    scene
}

#[tokio::test]
async fn older_messages_load_when_scrolled_to() {
    let scene = full_board(120).await;
    let browser = &scene.browser;
    let count = "return document.querySelectorAll('#messages [id]').length + '; ' + window.stays";
    browser.wait_for_script(count, "50; same page").await;
    browser.run_script("document.querySelector('[rel=prev]').click()").await;
    browser.wait_for_script(count, "100; same page").await;
    browser.run_script("document.querySelector('.scroll').scrollTop = -100000").await;
    browser.wait_for_script(count, "120; same page").await;
    let ordered = "
        const said = [...document.querySelectorAll('#messages .said')].map((body) => body.textContent);
        return String(said.every((text, place) => text === `number ${place + 1}`));
    ";
    browser.wait_for_script(ordered, "true").await;
    assert!(!browser.has("[rel=prev]").await, "there are no older messages");

    // A search result leads to its message; the reader scrolls from there in both directions, until the page is live.
    browser.open("/board/lobby/search?q=30").await;
    browser.press("Show in #lobby").await;
    let target = "
        const at = document.querySelector('#messages > :target');
        const [{ top, bottom }, view] = [at, document.querySelector('.scroll')].map((one) => one.getBoundingClientRect());
        return at.querySelector('.said').textContent + '; ' + (top >= view.top && bottom <= view.bottom);
    ";
    browser.wait_for_script(target, "number 30; true").await;
    let ends = "
        const said = [...document.querySelectorAll('#messages .said')].map((body) => body.textContent);
        return [said[0], said.at(-1), said.length].join();
    ";
    browser.wait_for_script(ends, "number 5,number 54,50").await;
    for (top, wanted) in [
        ("-1e6", "number 1,number 54,54"),
        ("0", "number 1,number 104,104"),
        ("0", "number 1,number 120,120"),
    ] {
        browser.run_script(&format!("document.querySelector('.scroll').scrollTop = {top}")).await;
        browser.wait_for_script(ends, wanted).await;
    }
    ApiMember::start(&scene.server, "bob").write("number 121");
    browser.wait_for_script(ends, "number 1,number 121,121").await;
    browser.wait_for_script(ordered, "true").await;
    scene.end().await;
}

#[tokio::test]
async fn on_a_wide_screen_only_the_messages_scroll() {
    let scene = full_board(30).await;
    scene.browser.set_desktop_size().await;
    let scroll = "
        const scrolls = (one) => one.scrollHeight > one.clientHeight && (one === document.documentElement || ['auto', 'scroll'].includes(getComputedStyle(one).overflowY));
        return [...document.querySelectorAll('*')].filter(scrolls).map((one) => one.className || one.tagName).join();
    ";
    scene.browser.wait_for_script(scroll, "scroll").await;
    scene.end().await;
}

/// Waits until ada's page shows her moderator role.
pub(crate) async fn eventually_staff(scene: &Scene) {
    let look = async || {
        scene.browser.reload().await;
        if scene.browser.has("#slow_mode_s").await {
            Ok(())
        } else {
            Err("not a moderator yet".to_owned())
        }
    };
    scene.browser.eventually("#slow_mode_s", look).await;
}

#[tokio::test]
async fn unread_messages_of_other_channels_are_counted_live() {
    let (scene, other) = two_members(Scripts::On).await;
    let browser = &scene.browser;
    scene.lodge.admin(&["user", "role", "ada", "moderator"]);
    browser.open("/board/-/channels").await;
    eventually_staff(&scene).await;
    browser.fill("channel", "lift-7").await;
    browser.press_and_wait("Save", "Saved.").await;
    other.reload().await;
    browser.open("/board/lift-7").await;
    write(browser, "hello @bob").await;
    browser.wait_for_script(MESSAGES, "hello @bob; undefined").await;
    // The stream of bob's page of the lobby says that he is mentioned: the page polls once a minute only.
    let counts = "return document.querySelector('.channels [href$=lift-7]').textContent + '; ' + document.querySelector('[data-channels]').textContent + '; ' + document.title";
    other.wait_for_script(counts, "#lift-7 1 @1; Channels 1 @1; (1) #lobby · Lodge").await;
    scene.end().await;
}

#[tokio::test]
async fn messages_that_arrive_in_a_hidden_tab_follow_a_marker() {
    let (scene, other) = two_members(Scripts::On).await;
    write(&scene.browser, "old").await;
    other.wait_for_script(MESSAGES, "old; same page").await;
    other
        .run_script(
            "Object.defineProperty(document, 'hidden', { value: true, configurable: true })",
        )
        .await;
    for text in ["new", "newer"] {
        write(&scene.browser, text).await;
    }
    let list = "return [...document.querySelectorAll('#messages > li')].map((item) => item.querySelector('.said')?.textContent ?? item.className).join()";
    other.wait_for_script(list, "day,old,since,new,newer").await;
    scene.end().await;
}
