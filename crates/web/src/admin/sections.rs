//! What each app lists on the overview for staff.

use lodge_domain::accounts::Role;

/// What can be managed of one app.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Section {
    /// The title.
    pub(crate) title: &'static str,
    /// The pages.
    pub(crate) entries: &'static [Entry],
}

/// A page of the overview.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Entry {
    /// The path.
    pub(crate) path: &'static str,
    /// The title.
    pub(crate) title: &'static str,
    /// What can be done there.
    pub(crate) about: &'static str,
    /// The lowest role that may open the page.
    pub(crate) least: Role,
}
