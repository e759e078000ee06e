//! What is wrong with a form, said beside the fields that it is about.

use std::{borrow::Cow, time::Duration};

use http::StatusCode;
use lodge_domain::{Error, Result};

use crate::{error::Problem, pages::words};

/// What is wrong with a form: about fields, and about the whole; and how its page is answered.
#[derive(Debug, Default)]
pub(crate) struct FormErrors {
    /// Field and sentence, in the order of the form.
    pub(crate) fields: Vec<(Cow<'static, str>, String)>,
    /// What is wrong beside them.
    pub(crate) whole: Option<String>,
    /// The status of the refusal, if it is another than that of a form that cannot be read.
    refused: Option<StatusCode>,
    retry_after: Option<Duration>,
}

impl FormErrors {
    /// One thing, about one field.
    pub(crate) fn about(field: &'static str, text: &str) -> Self {
        Self { fields: vec![(field.into(), words::sentence(text))], ..Self::default() }
    }

    /// What is wrong with the whole, refused with this status.
    pub(crate) fn refusal(status: StatusCode, whole: &str) -> Self {
        Self { whole: Some(whole.to_owned()), refused: Some(status), ..Self::default() }
    }

    /// The status of the form's page.
    pub(crate) fn status(&self) -> StatusCode {
        let wrong = self.refused.unwrap_or(StatusCode::BAD_REQUEST);
        if self.is_empty() { StatusCode::OK } else { wrong }
    }

    /// When the form can be sent again, where that is known.
    pub(crate) fn retry_after(&self) -> Option<Duration> {
        self.retry_after
    }

    /// What is wrong with `field`.
    pub(crate) fn of(&self, field: &str) -> Option<&str> {
        self.fields.iter().find(|(name, _)| *name == field).map(|(_, text)| text.as_str())
    }

    /// Whether nothing is.
    pub(crate) fn is_empty(&self) -> bool {
        self.fields.is_empty() && self.whole.is_none()
    }

    /// Whether something is wrong with a field that is none of these.
    pub(crate) fn beside(&self, names: &[&str; 2]) -> bool {
        self.fields.iter().any(|(name, _)| !names.contains(&name.as_ref()))
    }

    /// A refusal by a rule, beside the field that it is about; a conflict is about the field `contended`.
    ///
    /// # Errors
    ///
    /// The problem itself, if it is the server's: no change of the form would help.
    pub(crate) fn of_refusal(
        refusal: impl Into<Problem>,
        contended: &'static str,
    ) -> Result<Self, Problem> {
        let problem = refusal.into();
        let is_ours = problem.status.is_server_error();
        if is_ours { Err(problem) } else { Ok(Self::of_problem(problem, contended)) }
    }

    /// The same of any problem: for a page that keeps what was typed, whatever went wrong.
    pub(crate) fn of_problem(problem: Problem, contended: &'static str) -> Self {
        let (refused, retry_after) = (Some(problem.status), problem.retry_after);
        let mut errors = Self { refused, retry_after, ..Self::default() };
        match problem.field {
            Some(field) if called(&field).is_some() => errors.add(field, reason(&problem.detail)),
            _ if problem.status == StatusCode::CONFLICT => errors.say(contended, &problem.detail),
            _ => errors.whole = Some(words::sentence(&problem.detail)),
        }
        errors
    }

    /// Says what is wrong with the whole beside `field` instead, if it is refused with this status.
    pub(crate) fn beside_field(mut self, status: StatusCode, field: &'static str) -> Self {
        if self.refused == Some(status)
            && let Some(text) = self.whole.take()
        {
            self.fields.push((field.into(), text));
        }
        self
    }

    /// Says this of one field, and nothing else; it is refused as it was.
    pub(crate) fn only(self, field: impl Into<Cow<'static, str>>, text: &str) -> Self {
        let fields = vec![(field.into(), words::sentence(text))];
        Self { fields, whole: None, ..self }
    }

    fn say(&mut self, field: &'static str, text: &str) {
        self.fields.push((field.into(), words::sentence(text)));
    }

    fn add(&mut self, field: Cow<'static, str>, reason: &str) {
        let text =
            called(&field).map_or_else(|| reason.to_owned(), |name| format!("{name} {reason}"));
        self.fields.push((field, words::sentence(&text)));
    }

    /// The value, or a note of what is wrong with it.
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

/// What a field is called at the start of a sentence.
fn called(field: &str) -> Option<&'static str> {
    Some(match field {
        "target" => "the address",
        "short" => "the short name",
        "redirect" => "the kind of redirect",
        "expires_at" => "the end",
        "max_clicks" => "the number of clicks",
        "password" => "the password",
        "tags" => "the tags",
        "username" | "channel" => "the name",
        "nickname" => "the nickname",
        "email" => "the e-mail address",
        "current" => "the current password",
        "new" => "the new password",
        "picture" => "the picture",
        "skierID" => "the number",
        "code" => "the code",
        "resort" => "the resort",
        "season" => "the season",
        "day" => "the day",
        "skier" => "the skier's number",
        "body" => "the message",
        "reason" => "the reason",
        "topic" => "the topic",
        "slow_mode_s" => "the slow mode",
        "archived" => "archiving",
        "q" => "the search",
        _ => return None,
    })
}

/// The reason in `field: reason`.
fn reason(detail: &str) -> &str {
    detail.split_once(": ").map_or(detail, |(_, reason)| reason)
}
