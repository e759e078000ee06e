//! What stands above every page.

use std::any::Any;

use askama::{Template, Values};
use lodge_domain::{Error, Result};

/// The apps that people are led to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each app is there or not, whatever the others are"
)]
pub(crate) struct Navigation {
    pub(crate) links: bool,
    pub(crate) accounts: bool,
    pub(crate) rides: bool,
    pub(crate) board: bool,
}

impl Navigation {
    /// Whether there is the board, with the accounts that it brings, and no other app: it has the start page then.
    pub(crate) fn is_board_alone(self) -> bool {
        self.board && !self.links && !self.rides
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
