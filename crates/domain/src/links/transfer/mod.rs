//! Import from and export to other shorteners, as CSV.

mod formats;
mod import;

pub use formats::{Format, Rows, delimiter_of};
pub use import::{Import, ImportRow, Imported, RowProblem};

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::{Link, Links, Short};
use crate::Result;

/// The maximum rows that one call imports or exports.
pub const PAGE_MAX: usize = 500;

/// One link in an export. Its fields are the CSV columns that [`Format::Lodge`] reads.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ExportRow {
    /// The short.
    pub short: String,
    /// The target.
    pub target: String,
    /// The status of its redirects.
    pub redirect: u16,
    /// The time of creation.
    pub created_at: Timestamp,
    /// The expiry.
    pub expires_at: Option<Timestamp>,
    /// The click limit.
    pub max_clicks: Option<u64>,
    /// The clicks used of the limit.
    pub clicks_used: Option<u64>,
    /// The hash of the password that visitors must enter.
    pub password_hash: Option<String>,
    /// The tags, comma-separated.
    pub tags: String,
    /// The clicks, without those of known bots.
    pub clicks: u64,
}

impl Links {
    /// Returns links that are not deleted, in the store's order, after `after`; a page with fewer than [`PAGE_MAX`]
    /// links is the last.
    pub async fn export(&self, after: Option<Short>) -> Result<Vec<ExportRow>> {
        let links = self.ports.store.page(after, PAGE_MAX).await?;
        let totals =
            self.ports.click_store.totals(links.iter().map(|link| link.id).collect()).await?;
        Ok(links.iter().zip(totals).map(|(link, clicks)| export_row(link, clicks)).collect())
    }
}

fn export_row(link: &Link, clicks: u64) -> ExportRow {
    ExportRow {
        short: link.short.to_string(),
        target: link.target.to_string(),
        redirect: link.redirect.into(),
        created_at: link.created_at,
        expires_at: link.expires_at,
        max_clicks: link.click_limit.map(|limit| limit.max),
        clicks_used: link.click_limit.map(|limit| limit.used),
        password_hash: link.password.as_ref().map(|hash| hash.0.clone()),
        tags: link.tags.as_slice().join(","),
        clicks,
    }
}
