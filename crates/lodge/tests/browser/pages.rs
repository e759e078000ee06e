//! Requirements for pages: the keyboard, the header.

use fantoccini::key::Key;
use serde_json::{Value, json};

use crate::{browser::Browser, engine::Scripts, scene::Scene, with_scripts_and_without};

with_scripts_and_without!(forms_are_filled_in_and_sent_by_keyboard_alone);

/// The maximum number of Tab presses to reach an element.
const TABS_MAX: usize = 60;

#[tokio::test]
async fn the_header_shows_who_is_signed_in_and_has_a_menu_on_a_phone() {
    let scene = Scene::begin(Scripts::Off).await;
    let browser = &scene.browser;
    scene.open("/rides").await;
    assert_eq!(browser.text(".top [aria-current=page]").await, "Rides");
    assert!(!browser.is_shown(".menu").await, "the menu is in one line");
    browser.press("Sign in").await;
    browser.press("Create an account").await;
    browser.sign_up("Ada").await;
    assert_eq!(browser.text(".top .caller a").await, "ada");

    browser.set_phone_size().await;
    scene.open("/nothing-here").await;
    assert!(!browser.is_shown(".top nav").await, "the menu is closed");
    browser.press("Menu").await;
    browser.press("Board").await;
    assert_eq!(browser.text("h1").await, "#lobby");
    assert_eq!(browser.text(".top .caller a").await, "ada", "the name is shown on a phone");
    assert!(!browser.has(".top a[href^='/admin']").await, "she is no admin");
    browser.press_and_wait("Sign out", "Long address,").await;
    assert_eq!(browser.text(".top .caller a").await, "Sign in");
    scene.end().await;
}

async fn forms_are_filled_in_and_sent_by_keyboard_alone(scripts: Scripts) {
    let scene = Scene::begin(scripts).await;
    let browser = &scene.browser;
    scene.create(None, "theirs", "/", json!({}));
    scene.create(None, "secret", "/", json!({"password": "open sesame"}));

    scene.open("/new").await;
    tab_to(browser, "target").await;
    browser.write(&scene.target.url("/typed")).await;
    tab_to(browser, "short").await;
    browser.write("typed").await;
    tab_to(browser, "Create link").await;
    browser.press_key(Key::Enter).await;
    browser.wait_for_text("Your link is ready.").await;

    scene.open("/links/typed").await;
    tab_to(browser, "tags").await;
    browser.write("by-hand").await;
    tab_to(browser, "Save").await;
    browser.press_key(Key::Enter).await;
    browser.wait_for_text("Saved.").await;
    tab_to(browser, "Delete ").await;
    browser.press_key(Key::Enter).await;
    tab_to(browser, "Yes, delete it").await;

    for (page, field, button, answer) in [
        ("/secret", "password", "Continue", "This link needs a password"),
        ("/links/theirs", "manage_key", "Open", "This is not the manage key of this link."),
        ("/login", "password", "Sign in", "Wrong username or password."),
    ] {
        scene.open(page).await;
        if page == "/login" {
            tab_to(browser, "username").await;
            browser.write("unknown").await;
        }
        if browser.focus().await["id"] != *field {
            tab_to(browser, field).await;
        }
        browser.write("wrong").await;
        tab_to(browser, button).await;
        browser.press_key(Key::Enter).await;
        browser.one(&format!("#{field}-error")).await;
        browser.wait_for_text(answer).await;
        assert_eq!(browser.focus().await["id"], field, "{page}: the wrong field has the focus");
    }
    scene.end().await;
}

/// Presses Tab until the field with this id or the button with this text has the focus. The focus must be visible
/// all the way.
async fn tab_to(browser: &Browser, wanted: &str) {
    let mut passed = Vec::new();
    for _ in 0..TABS_MAX {
        browser.press_key(Key::Tab).await;
        let focus = browser.focus().await;
        assert_eq!(focus["seen"], true, "the focus is not visible: {focus}");
        let text = focus["text"].as_str().unwrap_or_default();
        if focus["id"] == *wanted || text.starts_with(wanted) {
            return;
        }
        passed.push(focus);
    }
    panic!("{wanted} is not reachable by keyboard; passed {:#?}", Value::from(passed));
}
