//! The pages of the board.

use fantoccini::key::Key;
use lodge_contract::pictures::files;

use crate::{
    account::PASSWORD,
    board_tabs::{ApiMember, busy},
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
async fn two_members(kind: impl Into<Kind>) -> (Scene, Browser) {
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

/// Makes all requests of the page fail.
const FAIL_REQUESTS: &str = "window.fetch = () => Promise.reject(new Error('no way out'))";

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
    let (scene, other) = two_members(kind).await;
    let browser = &scene.browser;
    scene.attach("picture.jpg", &files::jpeg()).await;
    browser.press("Send").await;
    if scripts == Scripts::Off {
        browser.one("#messages .picture").await;
        other.reload().await;
    }
    let stays = if scripts == Scripts::On { "same page" } else { "undefined" };
    for browser in [browser, &other] {
        browser.wait_for_script(PREVIEW_PX, &format!("320; {stays}")).await;
    }
    browser.wait_for_script("return String(document.querySelectorAll('.waits').length)", "0").await;
    other.one("#messages .picture").await.click().await.unwrap();
    other.wait_for_script("return String(document.querySelector('img').naturalWidth)", "640").await;
    scene.end().await;
}

#[tokio::test]
async fn a_picture_and_its_text_are_sent_when_the_server_is_reachable_again() {
    let (scene, other) = two_members(Scripts::On).await;
    let browser = &scene.browser;
    browser.run_script("window.heard = window.fetch").await;
    browser.run_script(FAIL_REQUESTS).await;
    scene.attach("snow.jpg", &files::jpeg()).await;
    write(browser, "Look!").await;
    browser
        .wait_for_text(
            "Waiting to be sent: the picture snow.jpg, kept only while this page is open",
        )
        .await;
    assert_eq!(browser.run_script("return Object.keys(localStorage).filter((name) => name.startsWith('lodge-board')).length").await, 0);
    browser.run_script("window.fetch = window.heard").await;
    for browser in [browser, &other] {
        browser.wait_for_script(MESSAGES, "Look!; same page").await;
        browser.one("#messages .picture").await;
    }
    browser.wait_for_script("return String(document.querySelectorAll('.waits').length)", "0").await;
    scene.end().await;
}

#[tokio::test]
async fn an_invalid_picture_is_refused_and_its_text_can_be_edited() {
    let (scene, _other) = two_members(Scripts::On).await;
    let browser = &scene.browser;
    scene.attach("picture.jpg", b"<svg/>").await;
    write(browser, "Look!").await;
    browser.wait_for_text("must be a JPEG, PNG, WebP or GIF").await;
    browser.press("Edit").await;
    browser.wait_for_script("return document.querySelector('#body').value", "Look!").await;
    browser.press("Send").await;
    browser.wait_for_script(MESSAGES, "Look!; same page").await;
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
    elsewhere.press_and_wait("Sign out everywhere", "Sign in").await;
    browser.wait_for_text("You are signed out").await;
    browser.press("Sign in").await;
    assert_eq!(browser.path().await, "/login?next=/board/lobby");
}

async fn no_message_is_lost_or_duplicated_when_the_server_is_killed(engine: Engine) {
    let (scene, other) = two_members(engine).await;
    write(&scene.browser, "before").await;
    other.wait_for_script(MESSAGES, "before; same page").await;
    let Scene { browser, server, lodge, target: _target, .. } = scene;
    let address = server.address;
    // One of these messages may be in flight.
    browser.run_script(WRITE_FIVE).await;
    server.kill();
    write(&other, "meanwhile").await;
    other.wait_for_text("Waiting to be sent").await;
    other.wait_for_text("No connection to the server.").await;
    let server = lodge.start_at(address);
    for browser in [&browser, &other] {
        browser.wait_for_script(SORTED_MESSAGES, "1,2,3,4,5,before,meanwhile; 0; same page").await;
    }
    write(&other, "after").await;
    for browser in [&browser, &other] {
        browser
            .wait_for_script(SORTED_MESSAGES, "1,2,3,4,5,after,before,meanwhile; 0; same page")
            .await;
        browser
            .wait_for_script("return String(document.querySelector('[data-lost]').hidden)", "true")
            .await;
    }
    let said = browser.run_script(MESSAGES).await;
    assert_eq!(said, other.run_script(MESSAGES).await, "all see the same order");
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
pub(crate) const SORTED_MESSAGES: &str = "
    const said = [...document.querySelectorAll('#messages [id] .said')].map((body) => body.textContent);
    return said.sort().join() + '; ' + document.querySelectorAll('.waits').length + '; ' + window.stays;
";

async fn an_unsent_message_is_sent_after_a_reload(engine: Engine) {
    let (scene, other) = two_members(engine).await;
    let browser = &scene.browser;
    browser.run_script(FAIL_REQUESTS).await;
    write(browser, "kept").await;
    browser.wait_for_text("Waiting to be sent").await;
    browser.reload().await;
    browser.wait_for_script(MESSAGES, "kept; undefined").await;
    other.wait_for_script(MESSAGES, "kept; same page").await;
    browser.wait_for_script("return String(document.querySelectorAll('.waits').length)", "0").await;
    assert_eq!(browser.run_script("return Object.keys(localStorage).filter((name) => name.startsWith('lodge-board')).length").await, 0);
    scene.end().await;
}

async fn a_too_long_message_is_reported_while_typing(engine: Engine) {
    let scene = Scene::begin(engine).await;
    let browser = &scene.browser;
    browser.sign_up("ada").await;
    browser.press("Board").await;
    browser.run_script("document.querySelector('#body').value = 'ä'.repeat(2000)").await;
    browser.one("#body").await.send_keys("b").await.unwrap();
    browser.wait_for_text("Over the limit by 1.").await;
    browser.press("Send").await;
    assert!(!browser.has(".waits").await && !browser.has("#messages li").await);
    browser.fill("body", "short").await;
    browser.press("Send").await;
    browser.wait_for_script(MESSAGES, "short; undefined").await;
    scene.end().await;
}

/// Returns the text, marks and reactions of the first message, and whether the page was reloaded.
const MESSAGE_STATE: &str = "
    const item = document.querySelector('#messages [id]');
    const texts = (css) => [...item.querySelectorAll(css)].map((found) => found.textContent);
    return [...texts('.said'), ...texts('.edited'), ...texts('.gone'), ...texts('.signs button')].join() + '; ' + window.stays;
";

#[tokio::test]
async fn a_message_is_answered_reacted_to_edited_and_deleted_in_place() {
    let (scene, other) = two_members(Scripts::On).await;
    let browser = &scene.browser;
    write(browser, "Fresh **snow**").await;
    other.wait_for_script(MESSAGE_STATE, "Fresh snow; same page").await;

    // Another member's message can be answered and reacted to. The toolbar is worked by arrow keys.
    let open = async |browser: &Browser| {
        browser.one("#messages [id] .by > a").await.click().await.unwrap();
    };
    open(&other).await;
    let focused = "return document.activeElement.textContent + '; ' + document.querySelectorAll('.acts [tabindex=\"0\"]').length";
    other.wait_for_script(focused, "👍; 1").await;
    for (key, stop) in [(Key::Right, "❤️; 1"), (Key::End, "More; 1"), (Key::Right, "👍; 1")] {
        other.press_key(key).await;
        other.wait_for_script(focused, stop).await;
    }
    other.wait_for_script(COVERS, "nothing").await;
    other.press_key(Key::Escape).await;
    other.wait_for_script(focused, "…; 1").await;
    assert!(!other.is_shown(".acts").await);
    open(&other).await;
    other.press("👍").await;
    for browser in [browser, &other] {
        browser.wait_for_script(MESSAGE_STATE, "Fresh snow,👍 1; same page").await;
    }
    assert!(other.has(".acts [aria-pressed=true]").await, "it is their own reaction");
    // The focus is restored, although the message was rendered again.
    other
        .wait_for_script(
            "return String(document.activeElement.matches('#messages .by > a'))",
            "true",
        )
        .await;
    for _ in 0..2 {
        assert!(!other.has("#box .answers").await);
        open(&other).await;
        other.press_and_wait("Reply", "Replying to ada: Fresh snow").await;
        other.press("Cancel reply").await;
    }
    open(&other).await;
    other.press("Reply").await;
    write(&other, "Where?").await;
    let quote = "return document.querySelector('#messages .quote')?.textContent ?? ''";
    browser.wait_for_script(quote, "ada Fresh **snow**").await;
    assert!(!other.has("#box .answers").await, "the next message is not an answer");

    // The author edits the source text; a reaction that arrives meanwhile does not close the editor.
    open(browser).await;
    browser.press("Edit").await;
    let typed = "return document.querySelector('.change textarea')?.value ?? ''";
    browser.wait_for_script(typed, "Fresh **snow**").await;
    other.run_script("document.querySelector('#messages .signs button').click()").await;
    browser.wait_for_script(MESSAGE_STATE, "Fresh snow; same page").await;
    browser.run_script("document.querySelector('.change textarea').value = 'Fresh *ice*'").await;
    browser.press("Save").await;
    for browser in [browser, &other] {
        browser.wait_for_script(MESSAGE_STATE, "Fresh ice,edited; same page").await;
    }
    assert!(!browser.has(".change").await);
    open(browser).await;
    browser.press_and_wait("Delete", "This removes its text for all readers.").await;
    browser.press("No").await;
    browser.press("Delete").await;
    browser.press("Yes, delete it").await;
    for browser in [browser, &other] {
        browser.wait_for_script(MESSAGE_STATE, "This message was deleted.; same page").await;
    }
    scene.end().await;
}

/// Returns what of the first message its toolbar covers, and whether it is clipped.
const COVERS: &str = "
    const box = (css) => document.querySelector(css).getBoundingClientRect();
    const [bar, scroll] = [box('.acts'), box('.scroll')];
    const covers = (css) => box(css).bottom > bar.top && box(css).top < bar.bottom;
    const wrong = ['#messages .said', '#messages .by'].filter(covers);
    if (bar.top < scroll.top || bar.bottom > scroll.bottom) wrong.push('clipped');
    return wrong.join() || 'nothing';
";

#[tokio::test]
async fn a_message_is_written_by_keyboard_with_names_and_a_pasted_picture() {
    let scene = Scene::begin_on(busy(), Scripts::On).await;
    let browser = &scene.browser;
    let bob = ApiMember::start(&scene.server, "bob");
    bob.write("Fresh snow");
    browser.sign_up("ada").await;
    browser.press_and_wait("Board", "Fresh snow").await;
    browser.run_script("window.stays = 'same page'").await;

    // The key / leads to the box, which completes names; Enter takes a name before it sends.
    browser.write("/").await;
    browser.write("hi @b").await;
    browser
        .wait_for_script(
            "return document.querySelector('[role=option]')?.textContent ?? ''",
            "bob @bob",
        )
        .await;
    browser.press_key(Key::Enter).await;
    assert_eq!(browser.value("body").await, "hi @bob ");
    browser.write("and/or @zed").await;
    browser.press_key(Key::Escape).await;
    browser.press_key(Key::Enter).await;
    browser.wait_for_script(MESSAGES, "Fresh snow,hi @bob and/or @zed; same page").await;
    assert_eq!(browser.text("#messages .mention").await, "@bob");

    // A pasted picture is shown by its name and can be removed.
    browser.run_script(PASTE_PICTURE).await;
    browser.wait_for_text("snow.png").await;
    browser.press("Remove").await;
    assert!(!browser.has(".chosen").await);
    assert_eq!(
        browser.run_script("return document.getElementById('picture').files.length").await,
        0
    );

    // The box grows, up to a limit, and messages of one author follow without the name.
    let height = "return document.getElementById('body').offsetHeight";
    let low = browser.run_script(height).await.as_u64().unwrap();
    browser.run_script("document.getElementById('body').value = 'a\\n'.repeat(100)").await;
    let high = browser.run_script(height).await.as_u64().unwrap();
    assert!(high > 2 * low && high < 400, "{low}, {high}");
    write(browser, "one more").await;
    browser
        .wait_for_script(GROUPS, "day Today,Fresh snow,hi @bob and/or @zed,joined one more")
        .await;
    bob.write("indeed");
    let groups = "day Today,Fresh snow,hi @bob and/or @zed,joined one more,indeed";
    browser.wait_for_script(GROUPS, groups).await;
    scene.end().await;
}

/// Pastes a picture into the box.
const PASTE_PICTURE: &str = "
    const clipboardData = new DataTransfer();
    clipboardData.items.add(new File(['x'], 'snow.png', { type: 'image/png' }));
    document.getElementById('body').dispatchEvent(new ClipboardEvent('paste', { clipboardData, cancelable: true }));
";

/// Returns the days and messages of the list, and which messages are joined to the one before.
const GROUPS: &str = "
    const text = (item) => item.querySelector('.said')?.textContent ?? item.textContent;
    return [...document.querySelectorAll('#messages > li')].map((item) => `${item.className} ${text(item)}`.trim()).join();
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

#[tokio::test]
async fn a_message_in_slow_mode_is_sent_later_and_a_banned_member_is_notified() {
    let (scene, other) = two_members(Scripts::On).await;
    let browser = &scene.browser;
    scene.lodge.admin(&["user", "role", "ada", "moderator"]);
    browser.open("/board/-/channels?channel=lobby").await;
    eventually_staff(&scene).await;
    browser.fill("slow_mode_s", "8").await;
    browser.press_and_wait("Save", "Saved.").await;
    write(&other, "one").await;
    write(&other, "two").await;
    other.wait_for_text("Too soon after the last message: sent automatically in").await;
    other.wait_for_script(MESSAGES, "one,two; same page").await;

    browser.open("/board/-/bans?username=bob").await;
    browser.press("Ban").await;
    other.wait_for_text("You are banned from this board").await;
    write(&other, "three").await;
    other.wait_for_text("Not sent").await;
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
