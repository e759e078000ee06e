//! Reports: figures computed from the measurements, written as text, HTML and JSON.

pub(crate) mod examples;
pub(crate) mod figures;
pub(crate) mod files;
pub(crate) mod page;
mod plot;
pub(crate) mod plots;
pub(crate) mod published;
#[cfg(test)]
mod tests;
