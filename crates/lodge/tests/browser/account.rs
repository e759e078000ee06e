//! The pages of an account, from sign-up to deletion.

use lodge_contract::pictures::files;

use crate::{browser::Browser, engine::Scripts, scene::Scene, with_scripts_and_without};

with_scripts_and_without!(
    a_person_makes_an_account_uses_it_and_deletes_it,
    account_form_errors_are_shown_beside_their_fields,
    an_admin_finds_an_account_and_bans_it,
);

pub(crate) const PASSWORD: &str = "a lift in the fog";

impl Browser {
    /// Creates an account with [`PASSWORD`] and signs in to it.
    pub(crate) async fn sign_up(&self, name: &str) {
        self.open("/signup").await;
        self.fill_in(&[("username", name), ("password", PASSWORD)]).await;
        self.press_and_wait("Create account", "Welcome! Your account is ready.").await;
    }

    /// Submits the sign-in form, without waiting for the result.
    pub(crate) async fn sign_in(&self, name: &str, password: &str) {
        self.open("/login").await;
        self.fill_in(&[("username", name), ("password", password)]).await;
        self.press("Sign in").await;
    }
}

async fn a_person_makes_an_account_uses_it_and_deletes_it(scripts: Scripts) {
    let scene = Scene::begin(scripts).await;
    let browser = &scene.browser;
    scene.open("/links").await;
    assert_eq!(browser.path().await, "/login?next=/links");
    browser.press("Create an account").await;
    browser.sign_up("Ada").await;
    assert_eq!(browser.text("h1").await, "ada");

    browser.fill_in(&[("nickname", "Ada Løvelace ✨"), ("email", "ada@example.org")]).await;
    browser.press_and_wait("Save", "This is not your current password.").await;
    browser.fill("profile-current", PASSWORD).await;
    browser.press_and_wait("Save", "Saved.").await;
    assert_eq!(browser.text("h1").await, "Ada Løvelace ✨");

    picture_is_shown_and_removed(&scene, scripts).await;

    // Her links are hers in every browser.
    scene.make("slope", "/slope").await;
    let other = scene.another_browser().await;
    other.sign_in("ada", PASSWORD).await;
    other.wait_for_text("Created by Ada Løvelace ✨").await;
    other.press_and_wait("Edit", "Your short link").await;

    // A new password ends the session of the other browser.
    scene.open("/account").await;
    assert_eq!(browser.all(".places li").await.len(), 2);
    browser.fill_in(&[("current", PASSWORD), ("new", "another in the fog")]).await;
    browser.press_and_wait("Change password", "Password changed.").await;
    assert_eq!(browser.all(".places li").await.len(), 1);
    until_signed_out(&other, "/account").await;
    other.sign_in("ada", "another in the fog").await;
    other.wait_for_text("Created by").await;

    // She ends that session, and then all.
    scene.open("/account").await;
    browser.fill("sessions-current", "a guess").await;
    browser.press_and_wait("End session", "This is not your current password.").await;
    browser.fill("sessions-current", "another in the fog").await;
    browser.press_and_wait("End session", "Session ended.").await;
    browser.fill("sessions-current", "another in the fog").await;
    browser.press_and_wait("Sign out everywhere", "Sign in").await;
    assert_eq!(browser.path().await, "/login");
    browser.sign_in("ada", "another in the fog").await;
    browser.wait_for_text("Created by").await;

    scene.open("/account").await;
    browser.press("Delete this account").await;
    browser.fill_in(&[("confirm", "another"), ("delete-current", "another in the fog")]).await;
    browser.press_and_wait("Delete account", "Type your username to delete the account.").await;
    browser.fill_in(&[("confirm", "ADA"), ("delete-current", "a guess")]).await;
    browser.press_and_wait("Delete account", "This is not your current password.").await;
    browser.fill_in(&[("confirm", "ADA"), ("delete-current", "another in the fog")]).await;
    browser.press_and_wait("Delete account", "Account deleted").await;
    browser.sign_in("ada", "another in the fog").await;
    browser.wait_for_text("Wrong username or password.").await;
    scene.end().await;
}

async fn picture_is_shown_and_removed(scene: &Scene, scripts: Scripts) {
    let browser = &scene.browser;
    assert!(!browser.is_shown("#preview").await);
    scene.attach("not-a-picture.jpg", b"<svg/>").await;
    browser.press("Upload picture").await;
    browser.one("#picture-error").await;
    scene.attach("too-long.jpg", &vec![0; 20 << 20]).await;
    if scripts == Scripts::On {
        let said = "return document.getElementById('picture').validationMessage";
        browser.wait_for_script(said, "This file is larger than 5 MB. Choose a smaller one.").await;
    } else {
        let said = "The picture is larger than 5 MB; choose a smaller one.";
        browser.press_and_wait("Upload picture", said).await;
    }
    scene.attach("picture.jpg", &files::with_gps()).await;
    if scripts == Scripts::On {
        // A preview before the upload, rotated upright.
        browser.wait_for_script(PREVIEW_WIDTH, "480").await;
    }
    browser.press_and_wait("Upload picture", "Saved.").await;
    let path = browser.attribute("#preview", "src").await;
    assert!(path.starts_with("/-/pictures/"), "{path}");
    browser.wait_for_script(PREVIEW_WIDTH, "256").await;
    browser.press_and_wait("Remove picture", "Saved.").await;
    assert!(!browser.is_shown("#preview").await);
}

/// Returns the natural width of the shown picture; 0 before it is loaded.
const PREVIEW_WIDTH: &str = "return String(document.getElementById('preview').naturalWidth)";

/// Reopens a page until it redirects to the sign-in page.
async fn until_signed_out(browser: &Browser, path: &str) {
    until(browser, path, async || browser.path().await.starts_with("/login")).await;
}

/// Reopens a page until the condition holds.
async fn until(browser: &Browser, path: &str, is_so: impl AsyncFn() -> bool) {
    let look = async || {
        browser.open(path).await;
        if is_so().await { Ok(()) } else { Err(browser.page().await) }
    };
    browser.eventually(path, look).await;
}

async fn account_form_errors_are_shown_beside_their_fields(scripts: Scripts) {
    let scene = Scene::begin(scripts).await;
    let browser = &scene.browser;
    scene.another_browser().await.sign_up("ada").await;
    scene.open("/signup").await;
    browser.fill_in(&[("username", "ADA"), ("password", "password")]).await;
    if scripts == Scripts::On {
        // While typing.
        browser
            .wait_for_text(
                "This username is taken or looks like one that is taken; choose another one.",
            )
            .await;
        browser.wait_for_text("The password is too common; choose another one.").await;
        browser.fill("username", "grace").await;
        let is_gone = "return String(document.getElementById('username-error').hidden)";
        browser.wait_for_script(is_gone, "true").await;
        browser.fill("username", "ADA").await;
        // The error moves the button, which a click would miss meanwhile.
        browser.wait_for_script(is_gone, "false").await;
    }
    browser.press_and_wait("Create account", "There is a problem").await;
    let said = browser.text("#password-error").await;
    assert_eq!(said, "The password is too common; choose another one.");
    browser.fill("password", PASSWORD).await;
    browser.press("Create account").await;
    browser.one("#username-error").await;
    browser
        .wait_for_text(
            "This username is taken or looks like one that is taken; choose another one.",
        )
        .await;
    assert_eq!(browser.value("username").await, "ADA", "fields keep their values");
    assert_eq!(browser.value("password").await, "", "except the password");

    browser.sign_in("ada", "a guess").await;
    let said = browser.text("#password-error").await;
    assert_eq!(said, "Wrong username or password.");
    browser.sign_in("unknown", "a guess").await;
    assert_eq!(browser.text("#password-error").await, said, "the error does not reveal usernames");

    browser.sign_in("ada", PASSWORD).await;
    browser.wait_for_text("Created by").await;
    scene.open("/account").await;
    let wrong = [("current", "a guess"), ("new", "another in the fog")];
    let said = browser.is_refused(&wrong, "Change password", "current").await;
    assert_eq!(said, "This is not your current password.");
    browser.fill("email", "nowhere@").await;
    let unchecked = "document.querySelectorAll('form').forEach((form) => form.noValidate = true)";
    browser.run_script(unchecked).await;
    browser.press("Save").await;
    browser.one("#email-error").await;
    scene.end().await;
}

async fn an_admin_finds_an_account_and_bans_it(scripts: Scripts) {
    let scene = Scene::begin(scripts).await;
    let browser = &scene.browser;
    let eve = scene.another_browser().await;
    eve.sign_up("eve").await;
    scene.open("/").await;
    browser.press("Set up the admin account").await;
    browser.fill_in(&[("username", "ada"), ("password", PASSWORD)]).await;
    browser.press("Create admin account").await;
    browser.press("API keys").await;
    browser.fill("name", "marketing").await;
    browser.press_and_wait("Create API key", "It is shown only once").await;
    assert!(browser.text(".secret code").await.starts_with("lodge_"));
    browser.press("Done").await;
    browser.wait_for_text("marketing").await;
    browser.press("Revoke").await;
    browser.press_and_wait("Revoke API key", "Revoked.").await;
    scene.open("/admin").await;
    browser.press("Accounts").await;
    browser.fill("search", "EV").await;
    browser.press("Search").await;
    browser.one(".people li:only-child").await;
    browser.press("eve").await;
    browser.press("Ban account").await;
    browser.press_and_wait("Yes, ban it", "Done.").await;
    until_signed_out(&eve, "/account").await;
    eve.sign_in("eve", PASSWORD).await;
    eve.wait_for_text("This account is banned.").await;

    browser.press("Lift ban").await;
    browser.press("Create code").await;
    browser.press_and_wait("Yes, create it", "One-time code").await;
    let code = browser.text(".secret code").await;
    eve.open("/login/reset").await;
    eve.fill_in(&[("username", "eve"), ("code", &code), ("new", "another in the fog")]).await;
    eve.press_and_wait("Set password", "Your new password is set.").await;
    eve.sign_in("eve", "another in the fog").await;
    eve.wait_for_text("Created by").await;
    scene.end().await;
}
