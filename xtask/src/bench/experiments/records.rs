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
    sessions: u64,
    sign_ins: u32,
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

/// The completed runs of a commit. Those of another binary are not saved.
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
        if self.options.resume && self.options.lodge.is_none() {
            let done: Vec<Record> = results::read(&file)?;
            if let Some(kept) = done.into_iter().find(|kept| kept.subject == subject) {
                return Ok(kept.figures);
            }
        }
        let figures = run()?;
        if self.options.lodge.is_some() {
            return Ok(figures);
        }
        let record = Record { subject, figures: figures.clone() };
        results::save(&file, record, |new, kept| new.subject == kept.subject)?;
        Ok(figures)
    }

    fn subject(&self, point: &Point, number: u32) -> Subject {
        let ExperimentOptions { store, users, sessions, sign_ins, duration, .. } = self.options;
        Subject {
            commit: self.commit.clone(),
            is_mariadb: *store == Store::Mariadb,
            users: *users,
            sessions: *sessions,
            sign_ins: *sign_ins,
            duration_ms: duration.as_millis(),
            workers: point.workers,
            row: point.label.clone(),
            number,
        }
    }
}
