//! The page of bots, for admins.

use axum::extract::{RawQuery, State};

use crate::{
    admin::{
        Admin,
        keys::{self, KeyForm, KeyKind, NamedKeys},
    },
    board::app::BoardApp,
    error::HttpResult,
    request::FormBody,
};

const KIND: KeyKind = KeyKind {
    path: "/admin/bots",
    title: "Bots",
    one: "bot",
    token: "Key of bot",
    a_new_one: "a bot",
    about: "A bot is a program that reads the board and posts to it with its own key.",
    hint: "The name of the bot on the board.",
    usage: "The bot sends it as Authorization: Bearer with each request.",
    revocation: "Requests of the bot are refused from now on. Its messages stay.",
    renewal: None,
    command: "lodge admin bot list",
};

/// `GET /admin/bots`.
pub(super) async fn show(
    State(app): State<BoardApp>,
    _: Admin,
    RawQuery(query): RawQuery,
) -> HttpResult {
    keys::show(&app.site, NamedKeys(&KIND, app.board.bots()), query.as_deref()).await
}

/// `POST /admin/bots`.
pub(super) async fn change(
    State(app): State<BoardApp>,
    _: Admin,
    FormBody(form): FormBody<KeyForm>,
) -> HttpResult {
    keys::change(&app.site, NamedKeys(&KIND, app.board.bots()), form).await
}
