//! Links from and to other shorteners, as CSV.

mod formats;
mod import;

pub use formats::{Format, Rows, delimiter_of};
pub use import::{Import, ImportRow, Imported, RowProblem};

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::{Link, Links, Short};
use crate::Result;

/// Rows that one call imports or exports at most.
pub const PAGE_MAX: usize = 500;

/// One link in an export. Its fields are the columns of the CSV, which [`Format::Lodge`] reads again.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ExportRow {
    /// The short.
    pub short: String,
    /// Where it leads.
    pub target: String,
    /// The status of its redirects.
    pub redirect: u16,
    /// When it was made.
    pub created_at: Timestamp,
    /// From when on it leads nowhere.
    pub expires_at: Option<Timestamp>,
    /// How often it may be followed.
    pub max_clicks: Option<u64>,
    /// Redirects given of those.
    pub clicks_used: Option<u64>,
    /// The hash of the password that a visitor must know.
    pub password_hash: Option<String>,
    /// Its tags, between commas.
    pub tags: String,
    /// How often it was followed, known bots left out.
    pub clicks: u64,
}

impl Links {
    /// Links that are not deleted, in the order of the store, those after `after`; fewer than
    /// [`PAGE_MAX`] are the last.
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
