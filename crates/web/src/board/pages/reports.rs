//! The page of open reports.

use std::collections::HashSet;

use askama::Template;
use axum::extract::{RawQuery, State};
use http::StatusCode;
use lodge_domain::{
    Error, Result,
    board::{Action, Actor, Report, Visibility},
};
use serde::Deserialize;

use super::{
    message::MessageItem,
    signed_in::{require_sign_in, signed_in_staff},
};
use crate::{
    board::app::{BoardApp, message_id, slug},
    body::FullBody,
    error::{HttpResult, Problem},
    pages::{self, redirect_to},
    request::{self, RequestContext},
};

/// The most reports on the page; the next ones follow when these are settled.
const SHOWN: usize = 20;

const PATH: &str = "/board/-/reports";

#[derive(Template)]
#[template(path = "board/reports.html")]
pub(super) struct ReportsPage<'a> {
    pub(super) rows: &'a [Row<'a>],
    pub(super) notice: Option<&'static str>,
}

/// A report and its message.
pub(super) struct Row<'a> {
    pub(super) report: &'a Report,
    pub(super) item: MessageItem<'a>,
    /// Whether another moderator has hidden the message already.
    pub(super) is_hidden: bool,
}

impl<'a> Row<'a> {
    pub(super) fn to(reader: &'a Actor, report: &'a Report) -> Self {
        Self {
            report,
            item: MessageItem::to(&reader.profile, &report.message).closed(true),
            is_hidden: report.message.visibility == Visibility::Hidden,
        }
    }
}

/// `GET /board/-/reports`.
pub(super) async fn show(
    State(app): State<BoardApp>,
    RawQuery(query): RawQuery,
    asked: RequestContext,
) -> HttpResult {
    let Some(me) = signed_in_staff(&app, &asked).await? else {
        return require_sign_in(&asked, PATH);
    };
    let reports = app.board.reports(&me, SHOWN).await?;
    // A message with several reports is listed once.
    let mut seen = HashSet::new();
    let firsts = reports.iter().filter(|&of| seen.insert((&of.message.channel, of.message.id)));
    let rows: Vec<_> = firsts.map(|report| Row::to(&me, report)).collect();
    let notice = (query.as_deref() == Some("done")).then_some("Done.");
    pages::page(&app.site, StatusCode::OK, &ReportsPage { rows: &rows, notice })
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct SettleForm {
    report: i64,
    channel: String,
    message: String,
    action: ReportAction,
}

#[derive(Deserialize)]
#[serde(rename_all = "snake_case")]
enum ReportAction {
    Hide,
    Dismiss,
}

/// `POST /board/-/reports`.
pub(super) async fn settle(
    State(app): State<BoardApp>,
    asked: RequestContext,
    FullBody(body): FullBody,
) -> HttpResult {
    let Some(me) = signed_in_staff(&app, &asked).await? else {
        return require_sign_in(&asked, PATH);
    };
    let form: SettleForm = request::form(&body)?;
    settled(&app, &me, &form).await?;
    redirect_to(&format!("{PATH}?done"))
}

async fn settled(app: &BoardApp, me: &Actor, form: &SettleForm) -> Result<(), Problem> {
    if let ReportAction::Hide = form.action {
        let (slug, id) = (slug(&form.channel)?, message_id(&form.message)?);
        match app.board.apply(me, &slug, id, Action::Hide(true)).await {
            // Its author has deleted it in the meantime.
            Ok(_) | Err(Error::Gone(_)) => {}
            Err(error) => return Err(error.into()),
        }
    }
    match app.board.settle(me, form.report).await {
        // Another moderator has settled it in the meantime.
        Ok(()) | Err(Error::NotFound(_)) => Ok(()),
        Err(error) => Err(error.into()),
    }
}
