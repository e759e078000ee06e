//! The board as people see it.

use crate::{
    account::{PASSWORD, sign_in, sign_up},
    browser::{Browser, Scripts},
    scene::Scene,
    with_scripts_and_without,
};

with_scripts_and_without!(people_read_and_write);

/// A scene with two people on the board.
async fn two_people(scripts: Scripts) -> (Scene, Browser) {
    let scene = Scene::begin(scripts).await;
    let other = scene.somebody_else().await;
    for (browser, name) in [(&scene.browser, "ada"), (&other, "bob")] {
        sign_up(&scene, browser, name).await;
        browser.press("Board").await;
        browser.sees("#lobby").await;
        browser.ask("window.stays = 'same page'").await;
    }
    (scene, other)
}

async fn write(browser: &Browser, text: &str) {
    browser.fill("body", text).await;
    browser.press("Send").await;
}

/// What is said, in order, and whether the page was loaded again.
const SAID: &str = "
    const said = [...document.querySelectorAll('#messages [id] .said')].map((body) => body.textContent);
    return said.join() + '; ' + window.stays;
";

/// Who wrote, and who is here.
const NAMES: &str = "
    const names = (css) => [...document.querySelectorAll(css)].map((name) => name.textContent);
    return names('#messages bdi').join() + '; ' + names('#people bdi').join();
";

async fn people_read_and_write(scripts: Scripts) {
    let (scene, other) = two_people(scripts).await;
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
    assert_eq!(other.all("li.me").await.len(), 1, "bob sees that he is named");
    assert!(!browser.has("li.me").await);

    // Everything else that can be done with a message, on its own page.
    browser.one("#messages [id]:first-child a[aria-label]").await.click().await.unwrap();
    browser.sees("A message by ada").await;
    browser.fill("body", "Fresh ice").await;
    browser.press("Save").await;
    browser.sees("Saved.").await;
    browser.press("Delete this message").await;
    browser.press("Yes, delete it").await;
    browser.sees("This message was deleted.").await;
    if scripts == Scripts::Off {
        other.reload().await;
    }
    other.sees("This message was deleted.").await;
    scene.end().await;
}

#[tokio::test]
async fn who_comes_and_goes_and_what_they_are_called_is_told() {
    let (scene, other) = two_people(Scripts::On).await;
    let browser = &scene.browser;
    // So soon after the server's start nobody is announced: they may have been here before.
    browser.until(NAMES, "; ada,bob").await;
    write(&other, "Hello").await;
    browser.until(NAMES, "bob; ada,bob").await;
    other.open(&format!("{}/account", scene.origin())).await;
    other.fill("nickname", "Robert").await;
    other.press("Save").await;
    other.sees("Saved.").await;
    browser.until(NAMES, "Robert; ada,Robert").await;
    other.press("Sign out everywhere").await;
    other.sees("Sign in").await;
    browser.sees("Robert has left.").await;
    browser.until(NAMES, "Robert; ada").await;
    sign_in(&scene, &other, "bob", PASSWORD).await;
    other.press("Board").await;
    browser.sees("Robert is here.").await;
    scene.end().await;
}

#[tokio::test]
async fn whoever_is_signed_out_is_told_so_and_led_to_sign_in() {
    let (scene, _other) = two_people(Scripts::On).await;
    let browser = &scene.browser;
    let elsewhere = scene.somebody_else().await;
    sign_in(&scene, &elsewhere, "ada", PASSWORD).await;
    elsewhere.open(&format!("{}/account", scene.origin())).await;
    elsewhere.press("Sign out everywhere").await;
    elsewhere.sees("Sign in").await;
    browser.sees("You are signed out").await;
    browser.press("Sign in").await;
    assert_eq!(browser.path().await, "/login?next=/board/lobby");
}

#[tokio::test]
async fn nothing_is_lost_while_the_server_is_away() {
    let (scene, other) = two_people(Scripts::On).await;
    write(&scene.browser, "before").await;
    other.until(SAID, "before; same page").await;
    let Scene { browser, server, lodge, target: _target, .. } = scene;
    let address = server.address;
    assert_eq!(server.stop(), Some(0));
    write(&browser, "meanwhile").await;
    browser.sees("Waiting to be sent").await;
    other.sees("The server cannot be heard.").await;
    let _server = lodge.start_at(address);
    for browser in [&browser, &other] {
        browser.until(SAID, "before,meanwhile; same page").await;
    }
    write(&other, "after").await;
    for browser in [&browser, &other] {
        browser.until(SAID, "before,meanwhile,after; same page").await;
    }
    assert!(!browser.has(".waits").await && !other.is_shown("[data-lost]").await);
}

#[tokio::test]
async fn what_could_not_be_sent_is_sent_when_the_page_is_there_again() {
    let (scene, other) = two_people(Scripts::On).await;
    let browser = &scene.browser;
    browser.ask("window.fetch = () => Promise.reject(new Error('no way out'))").await;
    write(browser, "kept").await;
    browser.sees("Waiting to be sent").await;
    browser.reload().await;
    browser.until(SAID, "kept; undefined").await;
    other.until(SAID, "kept; same page").await;
    browser.until("return String(document.querySelectorAll('.waits').length)", "0").await;
    assert_eq!(browser.ask("return Object.keys(localStorage).filter((name) => name.startsWith('lodge-board')).length").await, 0);
    scene.end().await;
}

#[tokio::test]
async fn what_is_too_long_is_said_as_one_types() {
    let scene = Scene::begin(Scripts::On).await;
    let browser = &scene.browser;
    sign_up(&scene, browser, "ada").await;
    browser.press("Board").await;
    browser.ask("document.querySelector('#body').value = 'ä'.repeat(2000)").await;
    browser.one("#body").await.send_keys("b").await.unwrap();
    browser.sees("That is 1 too many.").await;
    browser.press("Send").await;
    assert!(!browser.has(".waits").await && !browser.has("#messages li").await);
    browser.fill("body", "short").await;
    browser.press("Send").await;
    browser.until(SAID, "short; undefined").await;
    scene.end().await;
}
