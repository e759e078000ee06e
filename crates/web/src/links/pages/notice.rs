//! The notice that a link's page shows once after a change. It is a cookie of the browser that made the change, so that
//! no URL repeats it.

use axum::response::Response;
use lodge_domain::links::{Link, Short};

use super::link_cookie::LinkCookie;
use crate::{error::Problem, request::RequestContext};

/// The cookie with a notice.
const COOKIE: LinkCookie = LinkCookie("lodge_notice");

/// The lifetime of the cookie in seconds: the time in which a page can be reloaded to read a new manage key again.
const MAX_AGE_S: i64 = 10 * 60;

/// What has just been done with a link.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Notice {
    /// It was created.
    Created,
    /// It was changed.
    Saved,
    /// It was changed; the page still shows the manage key.
    SavedWithKey,
    /// It was changed, and has a new manage key.
    NewKey,
    /// The notice was shown; the page still shows the manage key.
    Shown,
}

impl Notice {
    const ALL: [Self; 5] =
        [Self::Created, Self::Saved, Self::SavedWithKey, Self::NewKey, Self::Shown];

    /// Returns the notice of a link in the browser's cookie.
    pub(super) fn read(asked: &RequestContext, short: &Short) -> Option<Self> {
        let value = COOKIE.read(asked, short)?;
        Self::ALL.into_iter().find(|notice| notice.name() == value)
    }

    /// Returns the notice after a change of `link`.
    pub(super) fn of_change(asked: &RequestContext, link: &Link, has_new_key: bool) -> Self {
        if has_new_key {
            return Self::NewKey;
        }
        let notice = Self::read(asked, &link.short);
        let shows_key = notice.is_some_and(|notice| notice.shows_key(link));
        if shows_key { Self::SavedWithKey } else { Self::Saved }
    }

    /// Stores the notice in the browser.
    pub(super) fn set(
        self,
        asked: &RequestContext,
        short: &Short,
        response: &mut Response,
    ) -> Result<(), Problem> {
        COOKIE.set(asked, short, (self.name(), MAX_AGE_S), response)
    }

    /// Updates the cookie after a page with the notice.
    pub(super) fn shown(
        self,
        asked: &RequestContext,
        link: &Link,
        response: &mut Response,
    ) -> Result<(), Problem> {
        match self {
            // Keeps its lifetime.
            Self::Shown => Ok(()),
            _ if self.shows_key(link) => Self::Shown.set(asked, &link.short, response),
            _ => COOKIE.remove(asked, &link.short, response),
        }
    }

    /// The text of the notice.
    pub(super) fn text(self) -> Option<&'static str> {
        match self {
            Self::Created => Some("Your link is ready."),
            Self::Saved | Self::SavedWithKey => Some("Saved. The change is active now."),
            Self::NewKey => Some("Saved. The old manage key no longer works."),
            Self::Shown => None,
        }
    }

    /// Whether the page shows the manage key, which only a link without an owner has.
    pub(super) fn shows_key(self, link: &Link) -> bool {
        link.owner.is_none() && self != Self::Saved
    }

    fn name(self) -> &'static str {
        match self {
            Self::Created => "created",
            Self::Saved => "saved",
            Self::SavedWithKey => "saved_with_key",
            Self::NewKey => "new_key",
            Self::Shown => "shown",
        }
    }
}
