//! The menu of the site.

use std::any::Any;

use askama::Values;

/// An enabled app, with its entries in the menu.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Menu {
    /// The name of the app, as [`Navigation::has`] takes it.
    pub(crate) app: &'static str,
    /// Paths and titles.
    pub(crate) entries: &'static [(&'static str, &'static str)],
}

/// The entry of the API documentation, which every site has.
const API: (&str, &str) = ("/api/docs", "API");

/// The enabled apps, in display order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Navigation(pub(crate) Vec<Menu>);

impl Navigation {
    /// Whether an app is enabled.
    pub(crate) fn has(&self, app: &str) -> bool {
        self.0.iter().any(|menu| menu.app == app)
    }

    /// Whether the board, with accounts, is the only app; it then provides the start page.
    pub(crate) fn is_board_alone(&self) -> bool {
        self.has("board") && !self.has("links") && !self.has("rides")
    }

    /// Whether there is a sign-in page.
    pub(crate) fn has_sign_in(&self) -> bool {
        self.has("links") || self.has("accounts")
    }

    /// Iterates over paths and titles.
    pub(crate) fn entries(&self) -> impl Iterator<Item = (&'static str, &'static str)> {
        self.0.iter().flat_map(|menu| menu.entries).copied().chain([API])
    }
}

/// Provides the value `navigation` to the templates.
impl Values for Navigation {
    fn get_value<'a>(&'a self, key: &str) -> Option<&'a dyn Any> {
        (key == "navigation").then_some(self)
    }
}
