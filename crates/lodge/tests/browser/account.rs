//! A person's account, from sign-up to deletion.

use std::time::{Duration, Instant};

use lodge_contract::pictures::files;

use crate::{
    browser::Browser, engine::Scripts, scene::Scene, server::DEADLINE, with_scripts_and_without,
};

with_scripts_and_without!(
    a_person_makes_an_account_uses_it_and_deletes_it,
    what_is_wrong_with_an_account_is_said_beside_its_field,
    an_admin_finds_somebody_and_keeps_them_out,
);

pub(crate) const PASSWORD: &str = "a lift in the fog";

pub(crate) async fn sign_up(scene: &Scene, browser: &Browser, name: &str) {
    browser.open(&format!("{}/signup", scene.origin())).await;
    browser.fill("username", name).await;
    browser.fill("password", PASSWORD).await;
    browser.press("Make the account").await;
    browser.sees("Welcome! Your account is ready.").await;
}

/// What comes of it is to be waited for.
pub(crate) async fn sign_in(scene: &Scene, browser: &Browser, name: &str, password: &str) {
    browser.open(&format!("{}/login", scene.origin())).await;
    browser.fill("username", name).await;
    browser.fill("password", password).await;
    browser.press("Sign in").await;
}

async fn a_person_makes_an_account_uses_it_and_deletes_it(scripts: Scripts) {
    let scene = Scene::begin(scripts).await;
    let browser = &scene.browser;
    scene.open("/links").await;
    assert_eq!(browser.path().await, "/login?next=/links");
    browser.press("Make an account").await;
    sign_up(&scene, browser, "Ada").await;
    assert_eq!(browser.text("h1").await, "ada");

    browser.fill("nickname", "Ada Løvelace ✨").await;
    browser.fill("email", "ada@example.org").await;
    browser.press("Save").await;
    browser.sees("Saved.").await;
    assert_eq!(browser.text("h1").await, "Ada Løvelace ✨");

    her_picture_is_shown_and_taken_away(&scene, scripts).await;

    // What she makes is hers, on every browser.
    scene.make("slope", "/slope").await;
    let other = scene.somebody_else().await;
    sign_in(&scene, &other, "ada", PASSWORD).await;
    other.sees("Made by Ada Løvelace ✨").await;
    other.press("127.0.0.1").await;
    other.sees("Your short link").await;

    // A new password puts the other browser out.
    scene.open("/account").await;
    assert_eq!(browser.all(".places li").await.len(), 2);
    browser.fill("current", PASSWORD).await;
    browser.fill("new", "another in the fog").await;
    browser.press("Change the password").await;
    browser.sees("Your password is changed.").await;
    assert_eq!(browser.all(".places li").await.len(), 1);
    until_it_closes(&other, &format!("{}/account", scene.origin())).await;
    sign_in(&scene, &other, "ada", "another in the fog").await;
    other.sees("Made by").await;

    // She ends that session, and then all.
    scene.open("/account").await;
    browser.press("End").await;
    browser.sees("That session has ended.").await;
    browser.press("Sign out everywhere").await;
    browser.sees("Sign in").await;
    assert_eq!(browser.path().await, "/login");
    sign_in(&scene, browser, "ada", "another in the fog").await;
    browser.sees("Made by").await;

    scene.open("/account").await;
    browser.press("Delete this account").await;
    browser.fill("confirm", "somebody").await;
    browser.fill("delete-current", "another in the fog").await;
    browser.press("Yes, delete it").await;
    browser.sees("Type the account's name to delete it.").await;
    browser.fill("confirm", "ADA").await;
    browser.fill("delete-current", "a guess").await;
    browser.press("Yes, delete it").await;
    browser.sees("This is not your current password.").await;
    browser.fill("confirm", "ADA").await;
    browser.fill("delete-current", "another in the fog").await;
    browser.press("Yes, delete it").await;
    browser.sees("The account is gone").await;
    sign_in(&scene, browser, "ada", "another in the fog").await;
    browser.sees("The name or the password is wrong.").await;
    scene.end().await;
}

async fn her_picture_is_shown_and_taken_away(scene: &Scene, scripts: Scripts) {
    let browser = &scene.browser;
    assert!(!browser.is_shown("#preview").await);
    attach(scene, "not-a-picture.jpg", b"<svg/>").await;
    browser.press("Use this picture").await;
    browser.one("#picture-error").await;
    attach(scene, "too-long.jpg", &vec![0; 20 << 20]).await;
    if scripts == Scripts::On {
        let said = "return document.getElementById('picture').validationMessage";
        browser.until(said, "This file is larger than 5 MB. Choose a smaller one.").await;
    } else {
        browser.press("Use this picture").await;
        browser.sees("The picture is larger than 5 MB; choose a smaller one.").await;
    }
    attach(scene, "picture.jpg", &files::with_gps()).await;
    if scripts == Scripts::On {
        // Before it is sent, the right way up.
        browser.until(PREVIEW_WIDTH, "480").await;
    }
    browser.press("Use this picture").await;
    browser.sees("Saved.").await;
    let path = browser.attribute("#preview", "src").await;
    assert!(path.starts_with("/-/pictures/"), "{path}");
    browser.until(PREVIEW_WIDTH, "256").await;
    browser.press("Take the picture away").await;
    browser.sees("Saved.").await;
    assert!(!browser.is_shown("#preview").await);
}

/// How wide the picture is that is shown; 0 before it is there.
const PREVIEW_WIDTH: &str = "return String(document.getElementById('preview').naturalWidth)";

/// Chooses a file as a picture.
async fn attach(scene: &Scene, name: &str, bytes: &[u8]) {
    let file = scene.lodge.file(name);
    std::fs::write(&file, bytes).unwrap();
    scene.browser.attach("picture", &file).await;
}

/// Opens a page until it leads to signing in.
async fn until_it_closes(browser: &Browser, url: &str) {
    until(browser, url, async || browser.path().await.starts_with("/login")).await;
}

/// Opens a page until it is as it should be.
async fn until(browser: &Browser, url: &str, is_so: impl AsyncFn() -> bool) {
    let deadline = Instant::now() + DEADLINE;
    loop {
        browser.open(url).await;
        if is_so().await {
            return;
        }
        assert!(Instant::now() < deadline, "not in time: {url}:\n{}", browser.page().await);
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

async fn what_is_wrong_with_an_account_is_said_beside_its_field(scripts: Scripts) {
    let scene = Scene::begin(scripts).await;
    let browser = &scene.browser;
    sign_up(&scene, &scene.somebody_else().await, "ada").await;
    scene.open("/signup").await;
    browser.fill("username", "ADA").await;
    browser.fill("password", "password").await;
    if scripts == Scripts::On {
        // As it is typed.
        browser.sees("This name is taken.").await;
        browser.sees("The password is one of the passwords that are tried first.").await;
        browser.fill("username", "grace").await;
        browser
            .until("return String(document.getElementById('username-error').hidden)", "true")
            .await;
        browser.fill("username", "ADA").await;
    }
    browser.press("Make the account").await;
    browser.sees("That did not work yet.").await;
    let said = browser.text("#password-error").await;
    assert_eq!(said, "The password is one of the passwords that are tried first.");
    browser.fill("password", PASSWORD).await;
    browser.press("Make the account").await;
    browser.one("#username-error").await;
    browser.sees("This name is taken.").await;
    assert_eq!(browser.value("username").await, "ADA", "what was typed stays");
    assert_eq!(browser.value("password").await, "", "but for the password");

    sign_in(&scene, browser, "ada", "a guess").await;
    let said = browser.text("#password-error").await;
    assert_eq!(said, "The name or the password is wrong.");
    sign_in(&scene, browser, "nobody", "a guess").await;
    assert_eq!(browser.text("#password-error").await, said, "who is known does not show");

    sign_in(&scene, browser, "ada", PASSWORD).await;
    browser.sees("Made by").await;
    scene.open("/account").await;
    browser.fill("current", "a guess").await;
    browser.fill("new", "another in the fog").await;
    browser.press("Change the password").await;
    assert_eq!(browser.text("#current-error").await, "This is not your current password.");
    browser.fill("email", "nowhere@").await;
    browser
        .ask("document.querySelectorAll('form').forEach((form) => { form.noValidate = true; })")
        .await;
    browser.press("Save").await;
    browser.one("#email-error").await;
    scene.end().await;
}

async fn an_admin_finds_somebody_and_keeps_them_out(scripts: Scripts) {
    let scene = Scene::begin(scripts).await;
    let browser = &scene.browser;
    let eve = scene.somebody_else().await;
    sign_up(&scene, &eve, "eve").await;
    sign_up(&scene, browser, "ada").await;
    scene.lodge.admin(&["user", "role", "ada", "admin"]);
    until(browser, &format!("{}/account", scene.origin()), async || {
        browser.has("a[href='/admin/accounts']").await
    })
    .await;
    browser.press("All accounts").await;
    browser.fill("search", "EV").await;
    browser.press("Search").await;
    browser.one(".people li:only-child").await;
    browser.press("eve").await;
    browser.press("Ban").await;
    browser.sees("Done.").await;
    until_it_closes(&eve, &format!("{}/account", scene.origin())).await;
    sign_in(&scene, &eve, "eve", PASSWORD).await;
    eve.sees("This account is banned.").await;

    browser.press("Lift the ban").await;
    browser.press("Make a code").await;
    browser.sees("A one-time code").await;
    let code = browser.text(".secret code").await;
    eve.open(&format!("{}/login/reset", scene.origin())).await;
    eve.fill("username", "eve").await;
    eve.fill("code", &code).await;
    eve.fill("new", "another in the fog").await;
    eve.press("Set the password").await;
    eve.sees("Your new password is set.").await;
    sign_in(&scene, &eve, "eve", "another in the fog").await;
    eve.sees("Made by").await;
    scene.end().await;
}
