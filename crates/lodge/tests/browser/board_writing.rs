//! Writing on the board.

use fantoccini::key::Key;
use lodge_contract::pictures::files;

use crate::{
    account::PASSWORD,
    board::{MESSAGES, SORTED_MESSAGES, eventually_staff, stored, two_members, write},
    board_tabs::{ApiMember, busy},
    browser::Browser,
    engine::{Engine, Kind, Scripts},
    in_chromium, in_each_browser,
    scene::Scene,
};

in_each_browser!(
    a_picture_is_shown_to_all_readers,
    no_message_is_lost_or_duplicated_when_the_server_is_killed,
);
in_chromium!(
    a_picture_is_shown_to_all_readers_without_scripts,
    an_unsent_message_is_sent_after_a_reload,
    a_draft_survives_a_reload_and_a_new_session,
    a_too_long_message_is_reported_while_typing,
);

/// Makes all requests of the page fail.
const FAIL_REQUESTS: &str = "window.fetch = () => Promise.reject(new Error('no way out'))";

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

const WRITE_FIVE: &str = "
    const body = document.getElementById('body');
    for (const text of '12345') {
        body.value = text;
        body.dispatchEvent(new Event('input'));
        document.getElementById('box').requestSubmit();
    }
";

/// The names of the unsent messages that the browser keeps.
const KEPT: &str = "return Object.keys(localStorage).filter((name) => name.startsWith('lodge-board')).sort().join()";

#[tokio::test]
async fn unsent_messages_of_others_are_removed_after_a_week_and_all_at_sign_out() {
    let (scene, _other) = two_members(Scripts::On).await;
    let browser = &scene.browser;
    browser
        .run_script(
            "const day = 24 * 60 * 60 * 1000;
             const letter = (age) => JSON.stringify({ body: 'x', at: Date.now() - age, tries: 0, problem: 'Refused.' });
             localStorage.setItem('lodge-board:ada:elsewhere:old', letter(8 * day));
             localStorage.setItem('lodge-board:bob:lobby:damaged', '{');
             localStorage.setItem('lodge-board:bob:lobby:old', letter(8 * day));
             localStorage.setItem('lodge-board:bob:lobby:young', letter(6 * day));",
        )
        .await;
    browser.reload().await;
    let left = "lodge-board:ada:elsewhere:old,lodge-board:bob:lobby:young";
    browser.wait_for_script(KEPT, left).await;
    // The page is left although no server answers.
    browser
        .run_script(
            "for (const form of document.forms) form.addEventListener('submit', (event) => event.preventDefault());
             document.querySelector(\"form[action='/logout']\").requestSubmit();
             dispatchEvent(new Event('pagehide'));",
        )
        .await;
    browser.wait_for_script(KEPT, "").await;
    scene.end().await;
}

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

async fn a_draft_survives_a_reload_and_a_new_session(engine: Engine) {
    const TYPED: &str = "return document.querySelector('#body').value";
    let (scene, _other) = two_members(engine).await;
    let browser = &scene.browser;
    browser.fill("body", "half a").await;
    browser.reload().await;
    browser.wait_for_script(TYPED, "half a").await;
    browser.one("#body").await.send_keys(" sentence").await.unwrap();
    scene.lodge.admin(&["user", "sign-out", "ada"]);
    browser.wait_for_text("You are signed out").await;
    browser.sign_in("ada", PASSWORD).await;
    browser.wait_for_text("Created by ada").await;
    browser.press_and_wait("Board", "#lobby").await;
    browser.wait_for_script(TYPED, "half a sentence").await;
    browser.press("Send").await;
    browser.wait_for_script(MESSAGES, "half a sentence; undefined").await;
    browser.reload().await;
    browser.wait_for_script(TYPED, "").await;
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
