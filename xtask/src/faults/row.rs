//! A line of a table: a fault under clients of an app.

use lodge_testbed::Deployment;

use super::fault::Fault;

/// One line of a table.
pub(crate) struct Row {
    /// Its name for `--only`.
    pub(crate) name: &'static str,
    /// Its name in the table.
    pub(crate) title: &'static str,
    /// How the web processes are deployed.
    pub(crate) deployment: Deployment,
    pub(crate) fault: Fault,
}
