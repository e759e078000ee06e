//! The pages of the board.

use lodge_contract::pictures::files;

use crate::{
    account::PASSWORD,
    browser::Browser,
    engine::{Engine, Kind, Scripts},
    in_chromium, in_each_browser,
    scene::Scene,
    server::Lodge,
};

in_each_browser!(
    members_read_and_write,
    members_read_and_write_without_scripts,
    a_picture_is_shown_to_all_readers,
    no_message_is_lost_or_duplicated_when_the_server_is_killed,
);
in_chromium!(
    a_picture_is_shown_to_all_readers_without_scripts,
    presence_and_nickname_changes_are_shown_live,
    a_signed_out_reader_is_notified_and_led_to_sign_in,
    an_unsent_message_is_sent_after_a_reload,
    a_too_long_message_is_reported_while_typing,
);

/// Starts a scene with two members on the board, each in their own browser.
async fn two_people(kind: impl Into<Kind>) -> (Scene, Browser) {
    two_people_in(Scene::begin(kind).await).await
}

pub(crate) async fn two_people_in(scene: Scene) -> (Scene, Browser) {
    let other = scene.somebody_else().await;
    for (browser, name) in [(&scene.browser, "ada"), (&other, "bob")] {
        browser.sign_up(name).await;
        browser.press_for("Board", "#lobby").await;
        browser.ask("window.stays = 'same page'").await;
    }
    (scene, other)
}

pub(crate) async fn write(browser: &Browser, text: &str) {
    browser.fill("body", text).await;
    browser.press("Send").await;
}

/// Returns the messages in order, and whether the page was reloaded.
pub(crate) const SAID: &str = "
    const said = [...document.querySelectorAll('#messages [id] .said')].map((body) => body.textContent);
    return said.join() + '; ' + window.stays;
";

/// Makes all requests of the page fail.
const NO_WAY_OUT: &str = "window.fetch = () => Promise.reject(new Error('no way out'))";

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
    let (scene, other) = two_people(kind).await;
    let scripts = kind.scripts;
    let browser = &scene.browser;
    write(browser, "Fresh **snow**, @bob!").await;
    browser.sees("Fresh snow, @bob!").await;
    if scripts == Scripts::Off {
        other.reload().await;
    }
    other.sees("Fresh snow, @bob!").await;
    write(&other, "Where?").await;
    other.sees("Where?").await;
    if scripts == Scripts::Off {
        browser.reload().await;
    }
    browser.sees("Where?").await;
    let stays = if scripts == Scripts::On { "same page" } else { "undefined" };
    for browser in [browser, &other] {
        browser.until(SAID, &format!("Fresh snow, @bob!,Where?; {stays}")).await;
    }
    assert_eq!(other.all("li.me").await.len(), 1, "bob's mention is highlighted for him");
    assert!(!browser.has("li.me").await);

    // All other actions on a message, on its own page.
    browser.one("#messages [id] a[aria-label]").await.click().await.unwrap();
    if scripts == Scripts::On {
        browser.press("More").await;
    }
    browser.sees("Message by ada").await;
    browser.fill("body", "Fresh ice").await;
    browser.press_for("Save", "Saved.").await;
    browser.press("Delete this message").await;
    browser.press_for("Yes, delete it", "This message was deleted.").await;
    if scripts == Scripts::Off {
        other.reload().await;
    }
    other.sees("This message was deleted.").await;
    scene.end().await;
}

/// Returns the natural width of the preview in the last message; 0 before it is loaded.
const PREVIEW_PX: &str = "
    const image = [...document.querySelectorAll('#messages .picture img')].at(-1);
    return String(image?.naturalWidth ?? 0) + '; ' + window.stays;
";

async fn a_picture_is_shown_to_all_readers(engine: Engine) {
    a_picture_is_shown(engine.into()).await;
}

async fn a_picture_is_shown_to_all_readers_without_scripts(engine: Engine) {
    a_picture_is_shown(Kind { engine, scripts: Scripts::Off }).await;
}

async fn a_picture_is_shown(kind: Kind) {
    let Kind { scripts, .. } = kind;
    let (scene, other) = two_people(kind).await;
    let browser = &scene.browser;
    scene.attach("picture.jpg", &files::jpeg()).await;
    browser.press("Send").await;
    if scripts == Scripts::Off {
        browser.one("#messages .picture").await;
        other.reload().await;
    }
    let stays = if scripts == Scripts::On { "same page" } else { "undefined" };
    for browser in [browser, &other] {
        browser.until(PREVIEW_PX, &format!("320; {stays}")).await;
    }
    browser.until("return String(document.querySelectorAll('.waits').length)", "0").await;
    other.one("#messages .picture").await.click().await.unwrap();
    other.until("return String(document.querySelector('img').naturalWidth)", "640").await;
    scene.end().await;
}

#[tokio::test]
async fn a_picture_and_its_text_are_sent_when_the_server_is_reachable_again() {
    let (scene, other) = two_people(Scripts::On).await;
    let browser = &scene.browser;
    browser.ask("window.heard = window.fetch").await;
    browser.ask(NO_WAY_OUT).await;
    scene.attach("snow.jpg", &files::jpeg()).await;
    write(browser, "Look!").await;
    browser
        .sees("Waiting to be sent: the picture snow.jpg, kept only while this page is open")
        .await;
    assert_eq!(browser.ask("return Object.keys(localStorage).filter((name) => name.startsWith('lodge-board')).length").await, 0);
    browser.ask("window.fetch = window.heard").await;
    for browser in [browser, &other] {
        browser.until(SAID, "Look!; same page").await;
        browser.one("#messages .picture").await;
    }
    browser.until("return String(document.querySelectorAll('.waits').length)", "0").await;
    scene.end().await;
}

#[tokio::test]
async fn an_invalid_picture_is_refused_and_its_text_can_be_edited() {
    let (scene, _other) = two_people(Scripts::On).await;
    let browser = &scene.browser;
    scene.attach("picture.jpg", b"<svg/>").await;
    write(browser, "Look!").await;
    browser.sees("must be a JPEG, PNG, WebP or GIF").await;
    browser.press("Edit").await;
    browser.until("return document.querySelector('#body').value", "Look!").await;
    browser.press("Send").await;
    browser.until(SAID, "Look!; same page").await;
    scene.end().await;
}

async fn presence_and_nickname_changes_are_shown_live(engine: Engine) {
    let (scene, other) = two_people(engine).await;
    let browser = &scene.browser;
    // Right after the server's start no arrival is announced: a member may have been present before.
    browser.until(NAMES, "; ada,bob").await;
    write(&other, "Hello").await;
    browser.until(NAMES, "bob; ada,bob").await;
    other.open("/account").await;
    other.fill("nickname", "Robert").await;
    other.press_for("Save", "Saved.").await;
    browser.until(NAMES, "Robert; ada,Robert").await;
    other.press_for("Sign out everywhere", "Sign in").await;
    browser.sees("Robert @bob left.").await;
    browser.until(NAMES, "Robert; ada").await;
    other.sign_in("bob", PASSWORD).await;
    other.sees("Created by").await;
    other.press("Board").await;
    browser.sees("Robert @bob joined.").await;
    scene.end().await;
}

async fn a_signed_out_reader_is_notified_and_led_to_sign_in(engine: Engine) {
    let (scene, _other) = two_people(engine).await;
    let browser = &scene.browser;
    let elsewhere = scene.somebody_else().await;
    elsewhere.sign_in("ada", PASSWORD).await;
    elsewhere.sees("Created by ada").await;
    elsewhere.open("/account").await;
    elsewhere.press_for("Sign out everywhere", "Sign in").await;
    browser.sees("You are signed out").await;
    browser.press("Sign in").await;
    assert_eq!(browser.path().await, "/login?next=/board/lobby");
}

async fn no_message_is_lost_or_duplicated_when_the_server_is_killed(engine: Engine) {
    let (scene, other) = two_people(engine).await;
    write(&scene.browser, "before").await;
    other.until(SAID, "before; same page").await;
    let Scene { browser, server, lodge, target: _target, .. } = scene;
    let address = server.address;
    // One of these messages may be in flight.
    browser.ask(WRITE_FIVE).await;
    server.kill();
    write(&other, "meanwhile").await;
    other.sees("Waiting to be sent").await;
    other.sees("No connection to the server.").await;
    let server = lodge.start_at(address);
    for browser in [&browser, &other] {
        browser.until(SORTED, "1,2,3,4,5,before,meanwhile; 0; same page").await;
    }
    write(&other, "after").await;
    for browser in [&browser, &other] {
        browser.until(SORTED, "1,2,3,4,5,after,before,meanwhile; 0; same page").await;
        browser.until("return String(document.querySelector('[data-lost]').hidden)", "true").await;
    }
    let said = browser.ask(SAID).await;
    assert_eq!(said, other.ask(SAID).await, "all see the same order");
    let numbers: String = said.as_str().unwrap().chars().filter(char::is_ascii_digit).collect();
    assert_eq!(numbers, "12345", "the messages of one author keep their order");
    assert_eq!(stored(&lodge), 8);
    assert_eq!(server.stop(), Some(0));
}

/// Returns the number of stored messages.
pub(crate) fn stored(lodge: &Lodge) -> i64 {
    let count = "SELECT count(*) FROM board_messages";
    lodge.query(count)
}

const WRITE_FIVE: &str = "
    const body = document.getElementById('body');
    for (const text of '12345') {
        body.value = text;
        body.dispatchEvent(new Event('input'));
        document.getElementById('box').requestSubmit();
    }
";

/// Returns the messages sorted, the number of unsent messages, and whether the page was reloaded.
pub(crate) const SORTED: &str = "
    const said = [...document.querySelectorAll('#messages [id] .said')].map((body) => body.textContent);
    return said.sort().join() + '; ' + document.querySelectorAll('.waits').length + '; ' + window.stays;
";

async fn an_unsent_message_is_sent_after_a_reload(engine: Engine) {
    let (scene, other) = two_people(engine).await;
    let browser = &scene.browser;
    browser.ask(NO_WAY_OUT).await;
    write(browser, "kept").await;
    browser.sees("Waiting to be sent").await;
    browser.reload().await;
    browser.until(SAID, "kept; undefined").await;
    other.until(SAID, "kept; same page").await;
    browser.until("return String(document.querySelectorAll('.waits').length)", "0").await;
    assert_eq!(browser.ask("return Object.keys(localStorage).filter((name) => name.startsWith('lodge-board')).length").await, 0);
    scene.end().await;
}

async fn a_too_long_message_is_reported_while_typing(engine: Engine) {
    let scene = Scene::begin(engine).await;
    let browser = &scene.browser;
    browser.sign_up("ada").await;
    browser.press("Board").await;
    browser.ask("document.querySelector('#body').value = 'ä'.repeat(2000)").await;
    browser.one("#body").await.send_keys("b").await.unwrap();
    browser.sees("Over the limit by 1.").await;
    browser.press("Send").await;
    assert!(!browser.has(".waits").await && !browser.has("#messages li").await);
    browser.fill("body", "short").await;
    browser.press("Send").await;
    browser.until(SAID, "short; undefined").await;
    scene.end().await;
}

/// Returns the text, marks and reactions of the first message, and whether the page was reloaded.
const STANDS: &str = "
    const item = document.querySelector('#messages [id]');
    const texts = (css) => [...item.querySelectorAll(css)].map((found) => found.textContent);
    return [...texts('.said'), ...texts('.edited'), ...texts('.gone'), ...texts('.signs button')].join() + '; ' + window.stays;
";

#[tokio::test]
async fn a_message_is_answered_reacted_to_edited_and_deleted_in_place() {
    let (scene, other) = two_people(Scripts::On).await;
    let browser = &scene.browser;
    write(browser, "Fresh **snow**").await;
    other.until(STANDS, "Fresh snow; same page").await;

    // Another member's message can be answered and reacted to.
    let open = async |browser: &Browser| {
        browser.one("#messages [id] .by > a").await.click().await.unwrap();
    };
    open(&other).await;
    other.press("👍").await;
    for browser in [browser, &other] {
        browser.until(STANDS, "Fresh snow,👍 1; same page").await;
    }
    assert!(other.has(".acts [aria-pressed=true]").await, "it is their own reaction");
    // The focus is restored, although the message was rendered again.
    other.until("return String(document.activeElement.matches('#messages .by > a'))", "true").await;
    for _ in 0..2 {
        assert!(!other.has("#box .answers").await);
        open(&other).await;
        other.press_for("Reply", "Replying to ada: Fresh snow").await;
        other.press("Cancel reply").await;
    }
    open(&other).await;
    other.press("Reply").await;
    write(&other, "Where?").await;
    let quote = "return document.querySelector('#messages .quote')?.textContent ?? ''";
    browser.until(quote, "ada Fresh **snow**").await;
    assert!(!other.has("#box .answers").await, "the next message is not an answer");

    // The author edits the source text; a reaction that arrives meanwhile does not close the editor.
    open(browser).await;
    browser.press("Edit").await;
    let typed = "return document.querySelector('.change textarea')?.value ?? ''";
    browser.until(typed, "Fresh **snow**").await;
    other.ask("document.querySelector('#messages .signs button').click()").await;
    browser.until(STANDS, "Fresh snow; same page").await;
    browser.ask("document.querySelector('.change textarea').value = 'Fresh *ice*'").await;
    browser.press("Save").await;
    for browser in [browser, &other] {
        browser.until(STANDS, "Fresh ice,edited; same page").await;
    }
    assert!(!browser.has(".change").await);
    open(browser).await;
    browser.press_for("Delete", "This removes its text for all readers.").await;
    browser.press("No").await;
    browser.press("Delete").await;
    browser.press("Yes, delete it").await;
    for browser in [browser, &other] {
        browser.until(STANDS, "This message was deleted.; same page").await;
    }
    scene.end().await;
}

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
    browser.ask(&send).await;
    browser.until("return String(window.sent)", "all").await;
    browser.open("/board").await;
    browser.ask("window.stays = 'same page'").await;
    scene
}

#[tokio::test]
async fn older_messages_load_when_scrolled_to() {
    let scene = full_board(120).await;
    let browser = &scene.browser;
    let count = "return document.querySelectorAll('#messages [id]').length + '; ' + window.stays";
    browser.until(count, "50; same page").await;
    browser.ask("document.querySelector('[rel=prev]').click()").await;
    browser.until(count, "100; same page").await;
    browser.ask("document.querySelector('.scroll').scrollTop = -100000").await;
    browser.until(count, "120; same page").await;
    let ordered = "
        const said = [...document.querySelectorAll('#messages .said')].map((body) => body.textContent);
        return String(said.every((text, place) => text === `number ${place + 1}`));
    ";
    browser.until(ordered, "true").await;
    assert!(!browser.has("[rel=prev]").await, "there are no older messages");
    scene.end().await;
}

#[tokio::test]
async fn on_a_wide_screen_only_the_messages_scroll() {
    let scene = full_board(30).await;
    scene.browser.on_a_desk().await;
    let scroll = "
        const scrolls = (one) => one.scrollHeight > one.clientHeight && (one === document.documentElement || ['auto', 'scroll'].includes(getComputedStyle(one).overflowY));
        return [...document.querySelectorAll('*')].filter(scrolls).map((one) => one.className || one.tagName).join();
    ";
    scene.browser.until(scroll, "scroll").await;
    scene.end().await;
}

#[tokio::test]
async fn a_message_in_slow_mode_is_sent_later_and_a_banned_member_is_notified() {
    let (scene, other) = two_people(Scripts::On).await;
    let browser = &scene.browser;
    scene.lodge.admin(&["user", "role", "ada", "moderator"]);
    browser.open("/board/-/channels?channel=lobby").await;
    eventually_staff(&scene).await;
    browser.fill("slow_mode_s", "8").await;
    browser.press_for("Save", "Saved.").await;
    write(&other, "one").await;
    write(&other, "two").await;
    other.sees("Too soon after the last message: sent automatically in").await;
    other.until(SAID, "one,two; same page").await;

    browser.open("/board/-/bans?username=bob").await;
    browser.press("Ban").await;
    other.sees("You are banned from this board").await;
    write(&other, "three").await;
    other.sees("Not sent").await;
    scene.end().await;
}

/// Waits until ada's page shows her moderator role.
async fn eventually_staff(scene: &Scene) {
    let look = async || {
        scene.browser.reload().await;
        if scene.browser.has("#slow_mode_s").await {
            Ok(())
        } else {
            Err("not a moderator yet".to_owned())
        }
    };
    scene.browser.in_time("#slow_mode_s", look).await;
}

#[tokio::test]
async fn unread_messages_of_other_channels_are_counted_live() {
    let (scene, other) = two_people(Scripts::On).await;
    let browser = &scene.browser;
    scene.lodge.admin(&["user", "role", "ada", "moderator"]);
    browser.open("/board/-/channels").await;
    eventually_staff(&scene).await;
    browser.fill("channel", "lift-7").await;
    browser.press_for("Save", "Saved.").await;
    other.reload().await;
    browser.open("/board/lift-7").await;
    write(browser, "hello @bob").await;
    browser.until(SAID, "hello @bob; undefined").await;
    // As if the tab became visible again: the page polls rarely by itself.
    other.ask("document.dispatchEvent(new Event('visibilitychange'))").await;
    let counts = "return document.querySelector('.channels [href$=lift-7]').textContent + '; ' + document.querySelector('[data-channels]').textContent";
    other.until(counts, "#lift-7 1 @1; Channels 1").await;
    scene.end().await;
}

#[tokio::test]
async fn messages_that_arrive_in_a_hidden_tab_follow_a_marker() {
    let (scene, other) = two_people(Scripts::On).await;
    write(&scene.browser, "old").await;
    other.until(SAID, "old; same page").await;
    other
        .ask("Object.defineProperty(document, 'hidden', { value: true, configurable: true })")
        .await;
    for text in ["new", "newer"] {
        write(&scene.browser, text).await;
    }
    let list = "return [...document.querySelectorAll('#messages > li')].map((item) => item.querySelector('.said')?.textContent ?? item.className).join()";
    other.until(list, "old,since,new,newer").await;
    scene.end().await;
}
