//! Import of links.

use std::sync::Arc;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::{
    Error, Result,
    links::{
        Candidate, Claim, ClickBatch, ClickLimit, Link, Links, Owner, RedirectCode, Short, Tags,
        Target, clicks::ClickCell, create::taken, visit::Device,
    },
    passwords::PasswordHash,
    random::time_ordered_id,
};

/// One link of an import.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ImportRow {
    /// The line number in the file, from 1.
    pub line: u64,
    /// The short.
    pub short: Short,
    /// The target.
    pub target: Target,
    /// The status of its redirects.
    pub redirect: RedirectCode,
    /// The time of creation; `None` stands for now.
    pub created_at: Option<Timestamp>,
    /// The expiry.
    pub expires_at: Option<Timestamp>,
    /// The click limit and the clicks used of it.
    pub click_limit: Option<ClickLimit>,
    /// The hash of the password that visitors must enter.
    pub password: Option<PasswordHash>,
    /// The tags.
    pub tags: Tags,
    /// The clicks so far, stored as clicks in the hour of creation.
    pub clicks: u64,
}

/// A batch of rows to import, at most [`super::PAGE_MAX`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Import {
    /// The rows.
    pub rows: Vec<ImportRow>,
    /// The owner of the imported links.
    pub owner: Option<Owner>,
}

/// A row that was not imported, and why.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RowProblem {
    /// The line number in the file, from 1.
    pub line: u64,
    /// What is wrong with the row.
    pub reason: String,
}

/// The result of an import.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Imported {
    /// Links that were created.
    pub created: u64,
    /// Links that existed with the same target, so that an import can be repeated.
    pub already: u64,
    /// Rows that were not imported.
    pub problems: Vec<RowProblem>,
}

impl RowProblem {
    pub(super) fn of(line: u64, error: &Error) -> Self {
        Self { line, reason: error.to_string() }
    }
}

impl Links {
    /// Imports rows independently; their clicks are added to links that were created.
    pub async fn import(&self, import: Import) -> Result<Imported> {
        if import.rows.len() > super::PAGE_MAX {
            return Err(Error::invalid("rows", format!("must be at most {}", super::PAGE_MAX)));
        }
        let now = self.ports.clock.now();
        let mut imported = Imported::default();
        let mut rows = import.rows;
        rows.retain(|row| match self.check_row(row) {
            Ok(()) => true,
            Err(error) => {
                imported.problems.push(RowProblem::of(row.line, &error));
                false
            }
        });
        let candidates =
            rows.iter().map(|row| Ok(self.imported_candidate(row, import.owner, now))).collect();
        let claims =
            self.ports.store.claim(candidates, self.ports.settings.reserved, None).await?.outcome;
        let mut clicks = Vec::new();
        for (row, claim) in rows.iter().zip(claims) {
            match claim {
                Claim::Created(link) => {
                    imported.created += 1;
                    let hour = link.created_at.as_second().div_euclid(3600);
                    let cell = ClickCell { link: link.id, hour, device: Device::Other };
                    clicks.push((cell, row.clicks));
                }
                Claim::Exists(link) if link.target == row.target && link.deleted_at.is_none() => {
                    imported.already += 1;
                }
                Claim::Exists(link) => {
                    imported.problems.push(problem(row, &taken(&link, now).to_string()));
                }
                Claim::Refused(refusal) => imported.problems.push(problem(row, &refusal.reason)),
            }
        }
        clicks.retain(|(_, count)| *count > 0);
        if !clicks.is_empty() {
            let incarnation = time_ordered_id(&*self.ports.random, now);
            let batch = ClickBatch { incarnation, number: 1, clicks, referrers: Vec::new() };
            self.ports.click_store.add(Arc::new(batch)).await?;
        }
        Ok(imported)
    }

    fn check_row(&self, row: &ImportRow) -> Result<()> {
        self.check_target(&row.target, &[])?;
        self.check_protection(row.password.is_some() || row.click_limit.is_some())
    }

    fn imported_candidate(
        &self,
        row: &ImportRow,
        owner: Option<Owner>,
        now: Timestamp,
    ) -> Candidate {
        let created_at = row.created_at.filter(|at| *at < now).unwrap_or(now);
        let id = self.new_id(&row.short, created_at);
        let link = Link {
            redirect: row.redirect,
            owner,
            changed_at: now,
            expires_at: row.expires_at,
            click_limit: row.click_limit,
            password: row.password.clone(),
            tags: row.tags.clone(),
            ..Link::new(id, row.short.clone(), row.target.clone(), created_at)
        };
        Candidate { link, spares: Vec::new() }
    }
}

fn problem(row: &ImportRow, reason: &str) -> RowProblem {
    RowProblem { line: row.line, reason: reason.to_owned() }
}
