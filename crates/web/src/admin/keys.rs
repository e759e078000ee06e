//! The page of one kind of keys: API keys, bots or gates.

use std::cmp::Reverse;

use askama::Template;
use jiff::Timestamp;
use lodge_domain::{
    Error, Result,
    keys::{ApiKey, Keys},
    secret::SecretText,
};
use serde::Deserialize;

use super::secret::SecretPage;
use crate::{
    context::SiteContext,
    error::HttpResult,
    pages::{self, errors::FormErrors, redirect_to},
};

/// The most keys on a page.
const SHOWN_MAX: usize = 100;

/// The texts of the page of one kind of keys.
pub(crate) struct KeyKind {
    /// The path.
    pub(crate) path: &'static str,
    /// The kind as a title.
    pub(crate) title: &'static str,
    /// One of them: "API key".
    pub(crate) one: &'static str,
    /// What a new key is called, in front of the name.
    pub(crate) token: &'static str,
    /// One of them with its article.
    pub(crate) a_new_one: &'static str,
    /// What the keys are for.
    pub(crate) about: &'static str,
    /// What the name says.
    pub(crate) hint: &'static str,
    /// How a key is used.
    pub(crate) usage: &'static str,
    /// The effect of a revocation.
    pub(crate) revocation: &'static str,
    /// The effect of a renewal, if keys can be renewed.
    pub(crate) renewal: Option<&'static str>,
    /// The command that lists all of them.
    pub(crate) command: &'static str,
}

/// A key on the page.
pub(crate) struct KeyRow {
    /// The name.
    pub(crate) name: String,
    /// What the key is limited to, if anything.
    pub(crate) limit: Option<String>,
    /// The time of creation.
    pub(crate) created_at: Timestamp,
    /// The time of revocation.
    pub(crate) revoked_at: Option<Timestamp>,
}

impl From<ApiKey> for KeyRow {
    fn from(key: ApiKey) -> Self {
        let ApiKey { name, created_at, revoked_at, .. } = key;
        Self { name, limit: None, created_at, revoked_at }
    }
}

/// The forms of the page, as sent.
#[derive(Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct KeyForm {
    pub(crate) action: KeyAction,
    pub(crate) name: String,
    /// The number of the only resort of a gate; empty for all.
    pub(crate) resort: String,
}

/// What to do with the key of the form.
#[derive(Default, Clone, Copy, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum KeyAction {
    #[default]
    Create,
    Renew,
    Revoke,
}

/// A service of one kind of keys.
pub(crate) trait KeyService {
    /// The texts of the page.
    fn kind(&self) -> &'static KeyKind;
    /// The resorts to which a new key can be limited, by number.
    fn resorts(&self) -> Vec<(u16, String)> {
        Vec::new()
    }
    /// Returns all keys, oldest first.
    async fn list(&self) -> Result<Vec<KeyRow>>;
    /// Creates the key of the form; returns its token.
    async fn create(&self, form: &KeyForm) -> Result<SecretText>;
    /// Replaces the token of a key and returns the new one.
    async fn renew(&self, _name: &str) -> Result<SecretText> {
        Err(Error::invalid("action", "must be create or revoke"))
    }
    /// Revokes a key.
    async fn revoke(&self, name: &str) -> Result<()>;
}

/// Keys with a name only.
pub(crate) struct NamedKeys<'a>(pub(crate) &'static KeyKind, pub(crate) &'a Keys);

impl KeyService for NamedKeys<'_> {
    fn kind(&self) -> &'static KeyKind {
        self.0
    }

    async fn list(&self) -> Result<Vec<KeyRow>> {
        Ok(self.1.list().await?.into_iter().map(Into::into).collect())
    }

    async fn create(&self, form: &KeyForm) -> Result<SecretText> {
        Ok(self.1.create(&form.name).await?.1.into())
    }

    async fn revoke(&self, name: &str) -> Result<()> {
        self.1.revoke(name).await.map(drop)
    }
}

#[derive(Template)]
#[template(path = "admin/keys.html")]
pub(crate) struct KeysPage<'a> {
    pub(crate) kind: &'static KeyKind,
    /// Active keys first, then the newest.
    pub(crate) rows: &'a [KeyRow],
    /// Whether there are more keys.
    pub(crate) has_more: bool,
    pub(crate) resorts: &'a [(u16, String)],
    pub(crate) form: &'a KeyForm,
    pub(crate) errors: &'a FormErrors,
    pub(crate) notice: Option<&'static str>,
}

/// Shows the page.
pub(crate) async fn show(
    site: &SiteContext,
    keys: impl KeyService,
    query: Option<&str>,
) -> HttpResult {
    let notice = (query == Some("revoked")).then_some("Revoked.");
    page(site, &keys, &KeyForm::default(), &FormErrors::default(), notice).await
}

/// Does what the form says. The response to a creation or a renewal shows the new token.
pub(crate) async fn change(site: &SiteContext, keys: impl KeyService, form: KeyForm) -> HttpResult {
    let KeyKind { path, title, token, usage, .. } = keys.kind();
    let done = match form.action {
        KeyAction::Create => keys.create(&form).await,
        KeyAction::Renew => keys.renew(&form.name).await,
        KeyAction::Revoke => {
            keys.revoke(&form.name).await?;
            return redirect_to(&format!("{path}?revoked"));
        }
    };
    match done {
        Ok(secret) => {
            let named = format!("{token} “{}”", form.name.trim());
            let back = (*path, *title);
            SecretPage { title: &named, usage, secret: &secret, back }.shown(site)
        }
        Err(error) => page(site, &keys, &form, &FormErrors::of_refusal(error, "name")?, None).await,
    }
}

async fn page(
    site: &SiteContext,
    keys: &impl KeyService,
    form: &KeyForm,
    errors: &FormErrors,
    notice: Option<&'static str>,
) -> HttpResult {
    let mut rows = keys.list().await?;
    rows.sort_by_key(|row| (row.revoked_at.is_some(), Reverse(row.created_at)));
    let has_more = rows.len() > SHOWN_MAX;
    rows.truncate(SHOWN_MAX);
    let (kind, resorts) = (keys.kind(), &keys.resorts());
    let page = KeysPage { kind, rows: &rows, has_more, resorts, form, errors, notice };
    pages::form_page(site, errors, &page)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pages::check::{self, HOSTILE_INPUT};

    const KIND: KeyKind = KeyKind {
        path: "/admin/keys",
        title: "API keys",
        one: "API key",
        token: "API key",
        a_new_one: "an API key",
        about: "About",
        hint: "Hint",
        usage: "Usage",
        revocation: "Revocation",
        renewal: Some("Renewal"),
        command: "lodge admin key list",
    };

    #[test]
    fn names_of_keys_are_escaped_and_only_active_keys_are_revoked() {
        let row = |revoked_at| KeyRow {
            name: HOSTILE_INPUT.to_owned(),
            limit: Some(HOSTILE_INPUT.to_owned()),
            created_at: Timestamp::UNIX_EPOCH,
            revoked_at,
        };
        let rows = [row(None), row(Some(Timestamp::UNIX_EPOCH))];
        let form = KeyForm { name: HOSTILE_INPUT.to_owned(), ..KeyForm::default() };
        let html = check::rendered(&KeysPage {
            kind: &KIND,
            rows: &rows,
            has_more: true,
            resorts: &[(1, HOSTILE_INPUT.to_owned())],
            form: &form,
            errors: &FormErrors::about("name", HOSTILE_INPUT),
            notice: Some("Revoked."),
        });
        assert_eq!(html.matches("value=\"revoke\"").count(), 1);
        assert_eq!(html.matches("value=\"renew\"").count(), 2);
        let none = KeysPage {
            kind: &KIND,
            rows: &[],
            has_more: false,
            resorts: &[],
            form: &form,
            errors: &FormErrors::default(),
            notice: None,
        };
        assert!(!check::rendered(&none).contains("id=\"resort\""));
        let secret = SecretText::from(HOSTILE_INPUT.to_owned());
        let back = ("/admin/keys", "API keys");
        let (title, usage) = (HOSTILE_INPUT, HOSTILE_INPUT);
        check::rendered(&SecretPage { title, usage, secret: &secret, back });
    }
}
