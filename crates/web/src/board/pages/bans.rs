//! The page of banned accounts.

use askama::Template;
use axum::extract::State;
use http::StatusCode;
use lodge_domain::{
    Result,
    accounts::Username,
    board::{Actor, KnownMember},
};
use serde::Deserialize;

use super::signed_in::{require_sign_in, signed_in_staff};
use crate::{
    board::app::BoardApp,
    body::FullBody,
    error::HttpResult,
    pages::{self, errors::FormErrors, redirect_to},
    request::{self, QueryParams, RequestContext},
};

const PATH: &str = "/board/-/bans";

#[derive(Template)]
#[template(path = "board/bans.html")]
pub(super) struct BansPage<'a> {
    pub(super) banned: &'a [KnownMember],
    pub(super) typed: &'a str,
    pub(super) errors: &'a FormErrors,
    pub(super) notice: Option<&'static str>,
}

/// The query: a username to fill in, and `done` after a change.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct BansQuery {
    username: String,
    done: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct BanForm {
    username: String,
    action: BanAction,
}

#[derive(Deserialize)]
#[serde(rename_all = "snake_case")]
enum BanAction {
    Ban,
    Unban,
}

/// `GET /board/-/bans`.
pub(super) async fn show(
    State(app): State<BoardApp>,
    QueryParams(wanted): QueryParams<BansQuery>,
    asked: RequestContext,
) -> HttpResult {
    let Some(me) = signed_in_staff(&app, &asked).await? else {
        return require_sign_in(&asked, PATH);
    };
    let notice = wanted.done.map(|_| "Done.");
    page(&app, &me, &wanted.username, &FormErrors::default(), notice).await
}

/// `POST /board/-/bans`.
pub(super) async fn change(
    State(app): State<BoardApp>,
    asked: RequestContext,
    FullBody(body): FullBody,
) -> HttpResult {
    let Some(me) = signed_in_staff(&app, &asked).await? else {
        return require_sign_in(&asked, PATH);
    };
    let form: BanForm = request::form(&body)?;
    let Err(error) = changed(&app, &me, &form).await else {
        return redirect_to(&format!("{PATH}?done"));
    };
    let errors = FormErrors::of_refusal(error, "username")?
        .beside_field(StatusCode::FORBIDDEN, "username")
        .beside_field(StatusCode::NOT_FOUND, "username");
    page(&app, &me, &form.username, &errors, None).await
}

async fn page(
    app: &BoardApp,
    me: &Actor,
    typed: &str,
    errors: &FormErrors,
    notice: Option<&'static str>,
) -> HttpResult {
    let banned = &app.board.bans(me).await?;
    pages::form_page(&app.site, errors, &BansPage { banned, typed, errors, notice })
}

async fn changed(app: &BoardApp, me: &Actor, form: &BanForm) -> Result<()> {
    let name = Username::parse(&form.username)?;
    let is_banned = matches!(form.action, BanAction::Ban);
    app.board.ban(me, &app.accounts, name, is_banned).await.map(drop)
}
