//! Reports: figures from what was measured, and a page of them as text, HTML and JSON.

pub(crate) mod examples;
pub(crate) mod figures;
pub(crate) mod page;
mod plot;
pub(crate) mod plots;
pub(crate) mod published;
#[cfg(test)]
mod tests;
