//! The page of API keys, for admins.

use axum::extract::{RawQuery, State};

use crate::{
    admin::{
        Admin,
        keys::{self, KeyForm, KeyKind, NamedKeys},
    },
    error::HttpResult,
    links::app::LinksApp,
    request::FormBody,
};

const KIND: KeyKind = KeyKind {
    path: "/admin/keys",
    title: "API keys",
    one: "API key",
    token: "API key",
    a_new_one: "an API key",
    about: "A program with a key creates links that belong to the key, and lists and changes them.",
    hint: "What the key is for, such as marketing.",
    usage: "Send it as Authorization: Bearer with each request, or sign in with it to see its links.",
    revocation: "Requests with the key are refused from now on. Its links keep working.",
    renewal: None,
    command: "lodge admin key list",
};

/// `GET /admin/keys`.
pub(super) async fn show(
    State(app): State<LinksApp>,
    _: Admin,
    RawQuery(query): RawQuery,
) -> HttpResult {
    keys::show(&app.site, NamedKeys(&KIND, &app.site.keys), query.as_deref()).await
}

/// `POST /admin/keys`.
pub(super) async fn change(
    State(app): State<LinksApp>,
    _: Admin,
    FormBody(form): FormBody<KeyForm>,
) -> HttpResult {
    keys::change(&app.site, NamedKeys(&KIND, &app.site.keys), form).await
}
