//! What stands above every page.

use std::any::Any;

use askama::{Template, Values};
use lodge_domain::{Error, Result};

/// Where an app leads people from every page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Menu {
    /// The app's name in the code.
    pub(crate) app: &'static str,
    /// Paths, and what they are called.
    pub(crate) entries: &'static [(&'static str, &'static str)],
}

/// The menus of the apps that are served, in their order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Navigation(pub(crate) [Option<Menu>; 4]);

impl Navigation {
    /// Whether an app is served.
    pub(crate) fn has(&self, app: &str) -> bool {
        self.0.iter().flatten().any(|menu| menu.app == app)
    }

    /// Whether there is the board, with the accounts that it brings, and no other app: it has the start page then.
    pub(crate) fn is_board_alone(&self) -> bool {
        self.has("board") && !self.has("links") && !self.has("rides")
    }

    /// Paths, and what they are called.
    pub(crate) fn entries(&self) -> impl Iterator<Item = &(&'static str, &'static str)> {
        self.0.iter().flatten().flat_map(|menu| menu.entries)
    }
}

/// The layout, which is no page's own, finds it under this name.
impl Values for Navigation {
    fn get_value<'a>(&'a self, key: &str) -> Option<&'a dyn Any> {
        (key == "navigation").then_some(self)
    }
}

/// A page's HTML.
pub(crate) fn rendered(template: &impl Template, navigation: Navigation) -> Result<String> {
    template.render_with_values(&navigation).map_err(Error::internal)
}
