//! Form errors, shown beside their fields.

use std::{borrow::Cow, time::Duration};

use http::StatusCode;
use lodge_domain::{Error, Result};

use crate::{error::Problem, pages::words};

/// The errors of a form, by field and for the whole form, and the status of its page.
#[derive(Debug, Default)]
pub(crate) struct FormErrors {
    /// Field and sentence, in form order.
    pub(crate) fields: Vec<(Cow<'static, str>, String)>,
    /// The error that belongs to no field.
    pub(crate) whole: Option<String>,
    /// The status of the refusal; `None` is 400.
    refused: Option<StatusCode>,
    retry_after: Option<Duration>,
}

impl FormErrors {
    /// An error of one field.
    pub(crate) fn about(field: &'static str, text: &str) -> Self {
        Self { fields: vec![(field.into(), words::sentence(text))], ..Self::default() }
    }

    /// An error of the whole form, with its status.
    pub(crate) fn refusal(status: StatusCode, whole: &str) -> Self {
        Self { whole: Some(whole.to_owned()), refused: Some(status), ..Self::default() }
    }

    /// The status of the form's page; 200 without errors.
    pub(crate) fn status(&self) -> StatusCode {
        let wrong = self.refused.unwrap_or(StatusCode::BAD_REQUEST);
        if self.is_empty() { StatusCode::OK } else { wrong }
    }

    /// The value of `Retry-After`, if known.
    pub(crate) fn retry_after(&self) -> Option<Duration> {
        self.retry_after
    }

    /// Returns the first error of `field`.
    pub(crate) fn of(&self, field: &str) -> Option<&str> {
        self.fields.iter().find(|(name, _)| *name == field).map(|(_, text)| text.as_str())
    }

    /// Whether there are no errors.
    pub(crate) fn is_empty(&self) -> bool {
        self.fields.is_empty() && self.whole.is_none()
    }

    /// Whether a field other than `names` has an error.
    pub(crate) fn beside(&self, names: &[&str; 2]) -> bool {
        self.fields.iter().any(|(name, _)| !names.contains(&name.as_ref()))
    }

    /// Makes the errors of a refusal; a conflict belongs to the field `contended`.
    ///
    /// # Errors
    ///
    /// Returns the problem itself if it is a server error, which no change of the form avoids.
    pub(crate) fn of_refusal(
        refusal: impl Into<Problem>,
        contended: &'static str,
    ) -> Result<Self, Problem> {
        let problem = refusal.into();
        let is_ours = problem.status.is_server_error();
        if is_ours { Err(problem) } else { Ok(Self::of_problem(problem, contended)) }
    }

    /// The same, server errors included: for a page that keeps the typed text in any case.
    pub(crate) fn of_problem(problem: Problem, contended: &'static str) -> Self {
        let (refused, retry_after) = (Some(problem.status), problem.retry_after);
        let mut errors = Self { refused, retry_after, ..Self::default() };
        match problem.field {
            Some(field) if label(&field).is_some() => errors.add(field, reason(&problem.detail)),
            _ if problem.status == StatusCode::CONFLICT => errors.say(contended, &problem.detail),
            _ => errors.whole = Some(words::sentence(&problem.detail)),
        }
        errors
    }

    /// Moves the error of the whole form to `field`, if the status is `status`.
    pub(crate) fn beside_field(mut self, status: StatusCode, field: &'static str) -> Self {
        if self.refused == Some(status)
            && let Some(text) = self.whole.take()
        {
            self.fields.push((field.into(), text));
        }
        self
    }

    /// Replaces all errors by one of `field`; the status stays.
    pub(crate) fn only(self, field: impl Into<Cow<'static, str>>, text: &str) -> Self {
        let fields = vec![(field.into(), words::sentence(text))];
        Self { fields, whole: None, ..self }
    }

    fn say(&mut self, field: &'static str, text: &str) {
        self.fields.push((field.into(), words::sentence(text)));
    }

    fn add(&mut self, field: Cow<'static, str>, reason: &str) {
        let text =
            label(&field).map_or_else(|| reason.to_owned(), |name| format!("{name} {reason}"));
        self.fields.push((field, words::sentence(&text)));
    }

    /// Returns the value, or records the error.
    pub(crate) fn take<T>(&mut self, parsed: Result<T>) -> Option<T> {
        match parsed {
            Ok(value) => Some(value),
            Err(Error::Invalid { field, reason }) => {
                self.add(field, &reason);
                None
            }
            Err(error) => {
                self.whole = Some(words::sentence(&error.to_string()));
                None
            }
        }
    }
}

/// The name of a field at the start of a sentence; `None` for fields that are not shown in forms.
fn label(field: &str) -> Option<&'static str> {
    Some(match field {
        "target" => "the address",
        "short" => "the short name",
        "redirect" => "the redirect type",
        "expires_at" => "the expiry time",
        "max_clicks" => "the click limit",
        "password" => "the password",
        "tags" => "the tags",
        "username" => "the username",
        "channel" | "name" => "the name",
        "url" => "the URL",
        "nickname" => "the nickname",
        "email" => "the e-mail address",
        "current" => "the current password",
        "new" => "the new password",
        "picture" => "the picture",
        "code" => "the code",
        "resort" => "the resort",
        "season" => "the season",
        "day" => "the day",
        "skierID" | "skier" => "the skier number",
        "body" => "the message",
        "reason" => "the reason",
        "topic" => "the topic",
        "slow_mode_s" => "the slow mode",
        "archived" => "the archive option",
        "q" => "the search text",
        _ => return None,
    })
}

/// Returns the reason of `field: reason`.
fn reason(detail: &str) -> &str {
    detail.split_once(": ").map_or(detail, |(_, reason)| reason)
}
