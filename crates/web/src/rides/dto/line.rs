//! What came of the lines of a batch.

use http::StatusCode;
use lodge_domain::rides::EventId;
use serde::Serialize;
use utoipa::ToSchema;

use super::Id;
use crate::error::Problem;

/// What came of a line.
#[derive(Serialize, ToSchema)]
#[schema(as = LineOutcome)]
pub(in crate::rides) struct LineJson<'a> {
    /// Its number; the first is 1.
    line: u16,
    /// 201, 200, 400, 403, 404, 409 or 503.
    status: u16,
    /// What the event is called, if it is kept.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>)]
    id: Option<Id<'a>>,
    /// Why it is not.
    #[serde(skip_serializing_if = "Option::is_none")]
    message: Option<&'a str>,
}

impl<'a> LineJson<'a> {
    /// Of a line whose event is kept.
    pub(in crate::rides) fn kept(line: u16, status: StatusCode, id: &'a EventId) -> Self {
        Self { line, status: status.as_u16(), id: Some(Id(id)), message: None }
    }

    /// Of a line whose event is not.
    pub(in crate::rides) fn refused(line: u16, problem: &'a Problem) -> Self {
        let message = Some(problem.detail.as_str());
        Self { line, status: problem.status.as_u16(), id: None, message }
    }
}
