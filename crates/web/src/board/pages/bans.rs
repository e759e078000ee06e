//! The page of banned accounts.

use askama::Template;
use axum::extract::State;
use http::StatusCode;
use lodge_domain::{
    Result,
    accounts::Username,
    board::{Actor, Known},
};
use serde::Deserialize;

use super::me::{sign_in_first, staff};
use crate::{
    board::app::BoardApp,
    body::Whole,
    error::HttpResult,
    pages::{self, errors::FormErrors, go_to},
    request::{self, Asked, Parameters},
};

const PATH: &str = "/board/-/bans";

#[derive(Template)]
#[template(path = "board/bans.html")]
pub(super) struct BansPage<'a> {
    pub(super) banned: &'a [Known],
    pub(super) typed: &'a str,
    pub(super) errors: &'a FormErrors,
    pub(super) notice: Option<&'static str>,
}

/// The query: a username to fill in, and `done` after a change.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Wanted {
    username: String,
    done: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct BanForm {
    username: String,
    action: Action,
}

#[derive(Deserialize)]
#[serde(rename_all = "snake_case")]
enum Action {
    Ban,
    Unban,
}

/// `GET /board/-/bans`.
pub(super) async fn show(
    State(app): State<BoardApp>,
    Parameters(wanted): Parameters<Wanted>,
    asked: Asked,
) -> HttpResult {
    let Some(me) = staff(&app, &asked).await? else { return sign_in_first(&asked, PATH) };
    let notice = wanted.done.map(|_| "Done.");
    page(&app, &me, &wanted.username, &FormErrors::default(), notice).await
}

/// `POST /board/-/bans`.
pub(super) async fn change(
    State(app): State<BoardApp>,
    asked: Asked,
    Whole(body): Whole,
) -> HttpResult {
    let Some(me) = staff(&app, &asked).await? else { return sign_in_first(&asked, PATH) };
    let form: BanForm = request::form(&body)?;
    let Err(error) = changed(&app, &me, &form).await else {
        return go_to(&format!("{PATH}?done"));
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
    let is_banned = matches!(form.action, Action::Ban);
    app.board.ban(me, &app.accounts, name, is_banned).await.map(drop)
}
