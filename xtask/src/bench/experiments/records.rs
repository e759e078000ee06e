//! Completed runs, saved at once, so that an interrupted command can be resumed.

use anyhow::Result;
use serde::{Deserialize, Serialize};

use super::{options::ExperimentOptions, points::Point, table::Figures};
use crate::{bench::seeded::Store, results};

/// What a run is of.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Subject {
    commit: String,
    is_mariadb: bool,
    users: u64,
    duration_ms: u128,
    workers: u32,
    row: String,
    number: u32,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
struct Record {
    subject: Subject,
    figures: Figures,
}

/// The completed runs of a commit.
pub(super) struct Records<'a> {
    options: &'a ExperimentOptions,
    commit: String,
}

impl<'a> Records<'a> {
    pub(super) fn new(options: &'a ExperimentOptions) -> Result<Self> {
        Ok(Self { options, commit: results::commit(options.resume)? })
    }

    /// Returns the figures of a run, which is done by `run` unless it was before.
    pub(super) fn of(
        &self,
        point: &Point,
        number: u32,
        run: impl FnOnce() -> Result<Figures>,
    ) -> Result<Figures> {
        let (file, subject) = (results::file("experiments"), self.subject(point, number));
        if self.options.resume {
            let done: Vec<Record> = results::read(&file)?;
            if let Some(kept) = done.into_iter().find(|kept| kept.subject == subject) {
                return Ok(kept.figures);
            }
        }
        let figures = run()?;
        let record = Record { subject, figures: figures.clone() };
        results::save(&file, record, |new, kept| new.subject == kept.subject)?;
        Ok(figures)
    }

    fn subject(&self, point: &Point, number: u32) -> Subject {
        let ExperimentOptions { store, users, duration, .. } = self.options;
        Subject {
            commit: self.commit.clone(),
            is_mariadb: *store == Store::Mariadb,
            users: *users,
            duration_ms: duration.as_millis(),
            workers: point.workers,
            row: point.label.clone(),
            number,
        }
    }
}
