//! The page of hidden messages, for moderators and admins.

use askama::Template;
use axum::extract::State;
use http::StatusCode;

use super::{
    me::{sign_in_first, staff},
    message::MessageItem,
};
use crate::{board::app::BoardApp, error::HttpResult, pages, request::Asked};

/// The most messages on the page.
const SHOWN: usize = 50;

#[derive(Template)]
#[template(path = "board/hidden.html")]
pub(super) struct HiddenPage<'a> {
    pub(super) items: &'a [MessageItem<'a>],
}

/// `GET /board/-/hidden`.
pub(super) async fn show(State(app): State<BoardApp>, asked: Asked) -> HttpResult {
    let Some(me) = staff(&app, &asked).await? else {
        return sign_in_first(&asked, "/board/-/hidden");
    };
    let hidden = app.board.hidden(&me, SHOWN).await?;
    let items: Vec<_> =
        hidden.iter().map(|message| MessageItem::to(&me.profile, message).closed(true)).collect();
    pages::page(&app.site, StatusCode::OK, &HiddenPage { items: &items })
}
