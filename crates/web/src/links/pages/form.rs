//! The form that creates and edits links: its values, how they are parsed, and their errors.

use jiff::{Timestamp, civil::DateTime, tz::TimeZone};
use lodge_domain::{
    Error, Random, Result,
    links::{ClickLimit, Link, LinkChange, NewLink, RedirectCode, Short, Tags, Target},
    passwords::Password,
};
use serde::Deserialize;

use crate::pages::{
    errors::FormErrors,
    forms::{self, non_empty},
};

/// The submitted form, each field as text.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct LinkForm {
    /// The idempotency key of the form: a second submission changes nothing.
    pub(super) form: String,
    /// The version of the link that the form edits.
    pub(super) version: String,
    pub(super) target: String,
    pub(super) short: String,
    pub(super) redirect: String,
    pub(super) expires_at: String,
    pub(super) max_clicks: String,
    pub(super) password: String,
    pub(super) remove_password: String,
    pub(super) tags: String,
    pub(super) new_manage_key: String,
}

impl LinkForm {
    /// Returns a form to create a link.
    pub(super) fn empty(random: &dyn Random, target: String) -> Self {
        Self { form: forms::id(random), target, redirect: "307".to_owned(), ..Self::default() }
    }

    /// Returns a form to edit `link`.
    pub(super) fn of(link: &Link, random: &dyn Random) -> Self {
        Self { form: forms::id(random), ..Self::values(link) }
    }

    /// Returns the initial values of a form to edit `link`.
    fn values(link: &Link) -> Self {
        Self {
            version: link.version.to_string(),
            target: link.target.to_string(),
            redirect: u16::from(link.redirect).to_string(),
            expires_at: link.expires_at.map(|at| typed_time(&at)).unwrap_or_default(),
            max_clicks: link.click_limit.map(|limit| limit.max.to_string()).unwrap_or_default(),
            tags: link.tags.to_string(),
            ..Self::default()
        }
    }

    /// Whether an optional field, which the form hides at first, has a value.
    pub(super) fn uses_options(&self) -> bool {
        let unusual_redirect = !matches!(self.redirect.as_str(), "" | "307");
        unusual_redirect
            || [&self.expires_at, &self.max_clicks, &self.password, &self.tags]
                .iter()
                .any(|text| !text.is_empty())
    }

    /// Parses the form as a new link.
    pub(super) fn to_new(&self) -> Result<NewLink, FormErrors> {
        let mut errors = FormErrors::default();
        let target = errors.take(Target::parse(&self.target));
        let short = errors.take(non_empty(&self.short).map(Short::parse).transpose());
        let redirect = errors.take(redirect(&self.redirect));
        let expires_at = errors.take(non_empty(&self.expires_at).map(time).transpose());
        let click_limit = errors.take(non_empty(&self.max_clicks).map(click_limit).transpose());
        let password = errors.take(self.typed_password());
        let tags = errors.take(Tags::parse_list(&self.tags));
        let Some(target) = target.filter(|_| errors.is_empty()) else { return Err(errors) };
        Ok(NewLink {
            target,
            short: short.flatten(),
            redirect: redirect.unwrap_or_default(),
            expires_at: expires_at.flatten(),
            click_limit: click_limit.flatten(),
            password: password.flatten(),
            tags: tags.unwrap_or_default(),
        })
    }

    /// Parses the form as changes to `link`. An untouched field changes nothing: an expiry keeps its milliseconds, and
    /// a click limit its used clicks.
    pub(super) fn to_edit(&self, link: &Link) -> Result<LinkChange, FormErrors> {
        let was = Self::values(link);
        let mut errors = FormErrors::default();
        let changed = |now: &str, was: &str| now.trim() != was;
        let target =
            changed(&self.target, &was.target).then(|| Target::parse(&self.target)).transpose();
        let expires_at = changed(&self.expires_at, &was.expires_at)
            .then(|| non_empty(&self.expires_at).map(time).transpose())
            .transpose();
        let click_limit = changed(&self.max_clicks, &was.max_clicks)
            .then(|| non_empty(&self.max_clicks).map(click_limit).transpose())
            .transpose();
        let password = self.typed_password().map(|typed| match typed {
            None if !self.remove_password.is_empty() => Some(None),
            typed => typed.map(Some),
        });
        let edit = LinkChange {
            target: errors.take(target).flatten(),
            redirect: errors.take(redirect(&self.redirect)),
            expires_at: errors.take(expires_at).flatten(),
            click_limit: errors.take(click_limit).flatten(),
            password: errors.take(password).flatten(),
            tags: errors.take(Tags::parse_list(&self.tags)),
            new_manage_key: !self.new_manage_key.is_empty(),
        };
        if errors.is_empty() { Ok(edit) } else { Err(errors) }
    }

    fn typed_password(&self) -> Result<Option<Password>> {
        let typed = (!self.password.is_empty()).then(|| self.password.clone());
        typed.map(|typed| Password::parse("password", typed)).transpose()
    }
}

fn redirect(text: &str) -> Result<RedirectCode> {
    match non_empty(text) {
        None => Ok(RedirectCode::default()),
        // 0 stands for text that is not a number; `try_from` refuses it.
        Some(text) => RedirectCode::try_from(text.parse().unwrap_or(0)),
    }
}

fn click_limit(text: &str) -> Result<ClickLimit> {
    let clicks = text.parse().map_err(|_| {
        Error::invalid("max_clicks", "must be a whole number from 1 to 1,000,000,000")
    });
    clicks.and_then(ClickLimit::new)
}

/// Parses a time as `<input type=datetime-local>` sends it, in UTC.
fn time(text: &str) -> Result<Timestamp> {
    let at = text.parse::<DateTime>().and_then(|time| time.to_zoned(TimeZone::UTC));
    at.map(|at| at.timestamp()).map_err(|_| {
        Error::invalid("expires_at", "must be a date and a time, such as 2030-01-31T12:00")
    })
}

fn typed_time(at: &Timestamp) -> String {
    at.to_zoned(TimeZone::UTC).strftime("%Y-%m-%dT%H:%M").to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn typed(target: &str) -> LinkForm {
        LinkForm { target: target.to_owned(), ..LinkForm::default() }
    }

    #[test]
    fn every_wrong_field_is_named_at_once() {
        let form = LinkForm {
            short: "a/b".to_owned(),
            redirect: "200".to_owned(),
            expires_at: "tomorrow".to_owned(),
            max_clicks: "-1".to_owned(),
            password: "x".repeat(129),
            tags: "y".repeat(51),
            ..typed("javascript:alert(1)")
        };
        let errors = form.to_new().unwrap_err();
        let named: Vec<&str> = errors.fields.iter().map(|(name, _)| &**name).collect();
        assert_eq!(
            named,
            ["target", "short", "redirect", "expires_at", "max_clicks", "password", "tags"]
        );
        assert_eq!(errors.of("target"), Some("The address must be an http or https URL."));
        let expected = "The click limit must be a whole number from 1 to 1,000,000,000.";
        assert_eq!(errors.of("max_clicks"), Some(expected));
    }

    #[test]
    fn text_that_is_no_url_is_refused_with_an_example() {
        let errors = typed("not a url at all").to_new().unwrap_err();
        let expected = "The address is not a URL; a URL looks like https://example.org/page.";
        assert_eq!(errors.of("target"), Some(expected));
    }

    #[test]
    fn empty_fields_set_nothing() {
        let new = typed("example.org").to_new().unwrap();
        assert_eq!(new.target.as_str(), "https://example.org/");
        assert!(
            new.short.is_none()
                && new.expires_at.is_none()
                && new.click_limit.is_none()
                && new.password.is_none()
        );
    }

    #[test]
    fn times_are_utc() {
        let form = LinkForm { expires_at: "2030-01-31T12:00".to_owned(), ..typed("example.org") };
        assert_eq!(form.to_new().unwrap().expires_at, "2030-01-31T12:00:00Z".parse().ok());
    }
}
