//! What is wrong with a form, said beside the fields that it is about.

use std::borrow::Cow;

use http::StatusCode;
use lodge_domain::{Error, Result};

use crate::{error::Problem, pages::words};

/// What is wrong with a form: about fields, and about the whole.
#[derive(Debug, Default)]
pub(crate) struct FormErrors {
    /// Field and sentence, in the order of the form.
    pub(crate) fields: Vec<(Cow<'static, str>, String)>,
    /// What is wrong beside them.
    pub(crate) whole: Option<String>,
}

impl FormErrors {
    /// One thing, about one field.
    pub(crate) fn about(field: &'static str, text: &str) -> Self {
        Self { fields: vec![(field.into(), words::sentence(text))], whole: None }
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
    pub(crate) fn from_error(error: Error, contended: &'static str) -> (Self, Problem) {
        let problem = Problem::from(error);
        (Self::from_problem(&problem, contended), problem)
    }

    /// The same of a refusal that is on its way already.
    pub(crate) fn from_problem(problem: &Problem, contended: &'static str) -> Self {
        let mut errors = Self::default();
        match &problem.field {
            Some(field) if called(field).is_some() => {
                errors.add(field.clone(), reason(&problem.detail));
            }
            _ if problem.status == StatusCode::CONFLICT => {
                errors.fields.push((contended.into(), words::sentence(&problem.detail)));
            }
            _ => errors.whole = Some(words::sentence(&problem.detail)),
        }
        errors
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
