//! The navigation of every page.

use std::any::Any;

use askama::{Template, Values};
use lodge_domain::{Error, Result};

/// The menu entries of an app.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Menu {
    /// The name of the app, as [`Navigation::has`] takes it.
    pub(crate) app: &'static str,
    /// Paths and titles.
    pub(crate) entries: &'static [(&'static str, &'static str)],
}

/// The menus of the enabled apps, in display order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Navigation(pub(crate) [Option<Menu>; 4]);

impl Navigation {
    /// Whether an app is enabled.
    pub(crate) fn has(&self, app: &str) -> bool {
        self.0.iter().flatten().any(|menu| menu.app == app)
    }

    /// Whether the board, with accounts, is the only app; it then provides the start page.
    pub(crate) fn is_board_alone(&self) -> bool {
        self.has("board") && !self.has("links") && !self.has("rides")
    }

    /// Iterates over paths and titles.
    pub(crate) fn entries(&self) -> impl Iterator<Item = &(&'static str, &'static str)> {
        self.0.iter().flatten().flat_map(|menu| menu.entries)
    }
}

/// Provides the value `navigation` to the layout template.
impl Values for Navigation {
    fn get_value<'a>(&'a self, key: &str) -> Option<&'a dyn Any> {
        (key == "navigation").then_some(self)
    }
}

/// Renders a page.
pub(crate) fn rendered(template: &impl Template, navigation: Navigation) -> Result<String> {
    template.render_with_values(&navigation).map_err(Error::internal)
}
