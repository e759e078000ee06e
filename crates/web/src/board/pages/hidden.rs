//! The page of hidden messages, for moderators and admins.

use askama::Template;
use axum::extract::State;
use http::StatusCode;

use super::{
    message::MessageItem,
    signed_in::{require_sign_in, signed_in_staff},
};
use crate::{board::app::BoardApp, error::HttpResult, pages, request::RequestContext};

/// The most messages on the page.
const SHOWN: usize = 50;

#[derive(Template)]
#[template(path = "board/hidden.html")]
pub(super) struct HiddenPage<'a> {
    pub(super) items: &'a [MessageItem<'a>],
}

/// `GET /board/-/hidden`.
pub(super) async fn show(State(app): State<BoardApp>, asked: RequestContext) -> HttpResult {
    let Some(me) = signed_in_staff(&app, &asked).await? else {
        return require_sign_in(&asked, "/board/-/hidden");
    };
    let hidden = app.board.hidden(&me, SHOWN).await?;
    let items: Vec<_> =
        hidden.iter().map(|message| MessageItem::to(&me.profile, message).closed(true)).collect();
    pages::page(&app.site, StatusCode::OK, &HiddenPage { items: &items })
}
