//! The JSON types of the links API.

use std::borrow::Cow;

use jiff::Timestamp;
use lodge_domain::{
    Error, Result,
    links::{
        ClickLimit, Link, LinkChange, LinkState, NewLink, RedirectCode, Short, Tags, Target,
        clicks::ClickLine,
    },
    passwords::Password,
    patch,
};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// A link to create.
#[derive(Debug, Default, Deserialize, ToSchema)]
#[serde(deny_unknown_fields, expecting = "a link object")]
pub(crate) struct CreateLink {
    /// The target: an http or https URL of at most 8 KiB; without a scheme, https is added.
    #[schema(example = "https://example.org/a/long/path")]
    pub(crate) target: String,
    /// The short name; generated if absent.
    #[schema(example = "gg")]
    pub(crate) short: Option<String>,
    /// The status code of the redirect: 301, 302, 307 (default) or 308.
    pub(crate) redirect: Option<u16>,
    /// The time at which the link expires, RFC 3339.
    #[schema(example = "2030-01-31T12:00:00Z")]
    pub(crate) expires_at: Option<String>,
    /// The exact number of clicks after which the link stops working, 1 to 1,000,000,000.
    pub(crate) max_clicks: Option<u64>,
    /// The password that a visitor must enter, 1 to 128 characters.
    pub(crate) password: Option<String>,
    /// At most 20 tags of 1 to 50 characters.
    pub(crate) tags: Option<Vec<String>>,
}

/// Changes to a link. An absent field stays as it is; null removes it.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields, expecting = "an object of changes to a link")]
#[expect(clippy::option_option, reason = "absent, null and a value differ")]
pub(crate) struct EditLink {
    /// The new target.
    #[schema(example = "https://example.org/elsewhere")]
    target: Option<String>,
    /// The status code of the redirect: 301, 302, 307 or 308.
    redirect: Option<u16>,
    /// The time at which the link expires, RFC 3339.
    #[serde(default, deserialize_with = "patch::present")]
    #[schema(value_type = Option<String>)]
    expires_at: Option<Option<String>>,
    /// The click limit, past clicks included; null removes the limit, and a limit set after that counts from zero.
    #[serde(default, deserialize_with = "patch::present")]
    #[schema(value_type = Option<u64>)]
    max_clicks: Option<Option<u64>>,
    /// The new password; null removes it.
    #[serde(default, deserialize_with = "patch::present")]
    #[schema(value_type = Option<String>)]
    password: Option<Option<String>>,
    /// The new tags, which replace all old ones.
    tags: Option<Vec<String>>,
    /// True to replace the manage key; the old one stops working. Invalid for a link with an owner, which has none.
    #[serde(default)]
    new_manage_key: bool,
}

/// A link. Its owner, or the holder of the manage key of a link without an owner, sees all fields; other callers see
/// only the public ones, and the target only of a link without a click limit and password.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct LinkJson {
    #[schema(example = "gg")]
    short: String,
    #[schema(example = "https://go.example/gg")]
    short_url: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(example = "https://example.org/a/long/path")]
    target: Option<String>,
    #[schema(example = 307)]
    redirect: u16,
    /// `live`, `expired`, `exhausted` (click limit reached) or `deleted`.
    #[schema(example = "live")]
    state: &'static str,
    #[schema(value_type = String, format = DateTime)]
    created_at: Timestamp,
    #[schema(value_type = Option<String>, format = DateTime, example = "2030-01-31T12:00:00Z")]
    expires_at: Option<Timestamp>,
    /// Whether it is protected by a password.
    has_password: bool,
    #[serde(flatten)]
    managed: Option<ManagedJson>,
}

/// The fields that only the owner or the holder of the manage key sees.
#[derive(Debug, Serialize, ToSchema)]
struct ManagedJson {
    max_clicks: Option<u64>,
    /// Clicks that count against `max_clicks`.
    clicks_used: Option<u64>,
    #[schema(example = json!([]))]
    tags: Vec<String>,
    /// Rises with every change; send it as `If-Match` to change only this version.
    version: u64,
    #[schema(value_type = String, format = DateTime)]
    changed_at: Timestamp,
    /// Only in the response that creates the link or replaces the key. A link that was created with an API key or a
    /// session has an owner and no manage key.
    #[serde(skip_serializing_if = "Option::is_none")]
    manage_key: Option<String>,
}

/// A page of links.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct LinkPage {
    pub(crate) links: Vec<LinkJson>,
    /// The `after` of the next page; absent on the last one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) next: Option<String>,
}

/// The clicks on a link.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct ClicksJson {
    /// All clicks since the link was created, without those by known bots.
    #[schema(example = 42)]
    pub(crate) total: u64,
    /// All clicks by known bots.
    #[schema(example = 3)]
    pub(crate) bots: u64,
    /// The grouping of `lines`: `day`, `hour`, `referrer` or `device`.
    #[schema(example = "day")]
    pub(crate) by: String,
    pub(crate) lines: Vec<ClickLineJson>,
}

/// The clicks of one day, hour, referrer or device kind.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct ClickLineJson {
    #[schema(example = "2026-01-31")]
    key: String,
    #[schema(example = 42)]
    clicks: u64,
}

/// Links to create; each succeeds or fails on its own.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields, expecting = "an object with a list of links")]
pub(crate) struct BulkCreate {
    /// 1 to 1,000 links, each as for `POST /api/links`.
    #[schema(value_type = Vec<CreateLink>)]
    pub(crate) links: Vec<serde_json::Value>,
}

/// The results, in the order of the request.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct BulkAnswer {
    pub(crate) created: usize,
    pub(crate) refused: usize,
    pub(crate) results: Vec<BulkLine>,
}

/// The result of one link.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct BulkLine {
    /// 201, or the status code of the error.
    pub(crate) status: u16,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) link: Option<LinkJson>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) detail: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) field: Option<Cow<'static, str>>,
}

impl CreateLink {
    /// Parses every field.
    pub(crate) fn parse(self) -> Result<NewLink> {
        Ok(NewLink {
            target: Target::parse(&self.target)?,
            short: self.short.as_deref().map(Short::parse).transpose()?,
            redirect: self.redirect.map(RedirectCode::try_from).transpose()?.unwrap_or_default(),
            expires_at: self.expires_at.as_deref().map(timestamp).transpose()?,
            click_limit: self.max_clicks.map(ClickLimit::new).transpose()?,
            password: self
                .password
                .map(|password| Password::parse("password", password))
                .transpose()?,
            tags: Tags::parse(self.tags.unwrap_or_default())?,
        })
    }
}

impl EditLink {
    /// Parses every field.
    pub(crate) fn parse(self) -> Result<LinkChange> {
        Ok(LinkChange {
            target: self.target.as_deref().map(Target::parse).transpose()?,
            redirect: self.redirect.map(RedirectCode::try_from).transpose()?,
            expires_at: self
                .expires_at
                .map(|at| at.as_deref().map(timestamp).transpose())
                .transpose()?,
            click_limit: self
                .max_clicks
                .map(|max| max.map(ClickLimit::new).transpose())
                .transpose()?,
            password: self
                .password
                .map(|typed| typed.map(|typed| Password::parse("password", typed)).transpose())
                .transpose()?,
            tags: self.tags.map(Tags::parse).transpose()?,
            new_manage_key: self.new_manage_key,
        })
    }
}

impl LinkJson {
    /// Returns the public fields.
    pub(crate) fn public(link: &Link, base_url: &str, now: Timestamp) -> Self {
        Self {
            short: link.short.to_string(),
            short_url: short_url(base_url, &link.short),
            target: link.is_plain().then(|| link.target.to_string()),
            redirect: link.redirect.into(),
            state: state_name(link.state(now).0),
            created_at: link.created_at,
            expires_at: link.expires_at,
            has_password: link.password.is_some(),
            managed: None,
        }
    }

    /// Returns all fields; `manage_key` only if it was just created.
    pub(crate) fn managed(
        link: &Link,
        base_url: &str,
        now: Timestamp,
        manage_key: Option<String>,
    ) -> Self {
        let managed = ManagedJson {
            max_clicks: link.click_limit.map(|limit| limit.max),
            clicks_used: link.click_limit.map(|limit| limit.used),
            tags: link.tags.as_slice().to_vec(),
            version: link.version,
            changed_at: link.changed_at,
            manage_key,
        };
        Self {
            target: Some(link.target.to_string()),
            managed: Some(managed),
            ..Self::public(link, base_url, now)
        }
    }
}

impl From<ClickLine> for ClickLineJson {
    fn from(line: ClickLine) -> Self {
        Self { key: line.key, clicks: line.clicks }
    }
}

/// Returns the public URL of a short.
pub(crate) fn short_url(base_url: &str, short: &Short) -> String {
    format!("{base_url}/{short}")
}

/// Returns a state's name in JSON.
pub(crate) fn state_name(state: LinkState) -> &'static str {
    match state {
        LinkState::Live => "live",
        LinkState::Expired => "expired",
        LinkState::Exhausted => "exhausted",
        LinkState::Deleted => "deleted",
    }
}

/// Parses a time in RFC 3339; truncates it to milliseconds.
pub(crate) fn timestamp(text: &str) -> Result<Timestamp> {
    let at: Timestamp = text.parse().map_err(|_| {
        Error::invalid(
            "expires_at",
            "must be a time such as 2030-01-31T12:00:00Z, before the year 9999",
        )
    })?;
    Timestamp::from_millisecond(at.as_millisecond())
        .map_err(|_| Error::invalid("expires_at", "is out of range"))
}
