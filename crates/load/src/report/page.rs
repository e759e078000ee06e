//! The model of a report, written as text for a terminal, as an HTML page with plots, and as JSON.

use std::io::{self, Write};
use std::time::{SystemTime, UNIX_EPOCH};

use anyhow::{Context, Result};
use askama::Template;
use serde::Serialize;

use super::examples::Examples;
use super::figures::{Figures, Latency, Pacing, ms, thousands};
use super::files::{ReportFiles, save};
use super::plot::Plot;
use super::published::PublishedRun;

/// Whether the run passed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RunOutcome {
    /// Requests succeeded, and `--verify`, if given, found no fault.
    Passed,
    /// `--verify` found a fault, or no request succeeded.
    Failed,
}

impl RunOutcome {
    pub(crate) fn of(is_sound: bool) -> Self {
        if is_sound { Self::Passed } else { Self::Failed }
    }

    /// Returns the process's exit code: 0 or 1.
    #[must_use]
    pub fn exit_code(self) -> u8 {
        match self {
            Self::Passed => 0,
            Self::Failed => 1,
        }
    }
}

/// The JSON report: the options and the figures.
#[derive(Debug, Serialize)]
pub(crate) struct Report<O, F> {
    pub(crate) generator: &'static str,
    pub(crate) command: &'static str,
    pub(crate) url: String,
    started_unix_s: u64,
    pub(crate) options: O,
    #[serde(flatten)]
    pub(crate) figures: F,
}

impl<O: Serialize, F: Serialize> Report<O, F> {
    pub(crate) fn new(
        command: &'static str,
        url: &str,
        started: SystemTime,
        options: O,
        figures: F,
    ) -> Self {
        Self {
            generator: concat!("lodge load ", env!("CARGO_PKG_VERSION")),
            command,
            url: url.to_owned(),
            started_unix_s: started.duration_since(UNIX_EPOCH).unwrap_or_default().as_secs(),
            options,
            figures,
        }
    }

    /// Returns an empty page with the report's title.
    pub(crate) fn page(&self) -> Page {
        Page {
            title: format!("{} on {}", self.command, self.url),
            generator: self.generator,
            about: Vec::new(),
            tiles: Vec::new(),
            sections: Vec::new(),
            verdict: None,
        }
    }

    /// Writes the report as text to `out`, and to `files`.
    pub(crate) fn write(
        &self,
        page: &Page,
        files: &ReportFiles,
        out: &mut impl Write,
    ) -> Result<()> {
        page.text(out).context("cannot write the report")?;
        if let Some(path) = &files.json {
            save(path, &(serde_json::to_string_pretty(self)? + "\n"))?;
        }
        if let Some(path) = &files.html {
            save(path, &page.render()?)?;
        }
        Ok(())
    }
}

/// The human-readable report. Its HTML is one self-contained file without scripts or external requests.
#[derive(Debug, Template)]
#[template(path = "report.html")]
pub(crate) struct Page {
    pub(crate) title: String,
    pub(crate) generator: &'static str,
    /// Lines that describe the options.
    pub(crate) about: Vec<String>,
    /// Names and values of the key figures.
    pub(crate) tiles: Vec<(&'static str, String)>,
    pub(crate) sections: Vec<Section>,
    /// The result of `--verify`.
    pub(crate) verdict: Option<String>,
}

/// A section of a page.
#[derive(Debug)]
pub(crate) enum Section {
    Plot(Plot),
    Table(Table),
    Facts(Facts),
    Published(Published),
}

/// Rows with a name and figures.
#[derive(Debug, Default)]
pub(crate) struct Table {
    pub(crate) title: &'static str,
    /// An explanation of the figures; may be empty.
    pub(crate) note: &'static str,
    pub(crate) head: Vec<String>,
    /// A row with a single cell is a heading for the rows after it.
    pub(crate) rows: Vec<Vec<String>>,
    /// Left out in the terminal, collapsed on the page.
    pub(crate) is_long: bool,
}

/// Names and values that are not figures of the server's speed.
#[derive(Debug, Default)]
pub(crate) struct Facts(pub(crate) Vec<(String, String)>);

impl Facts {
    pub(crate) fn add(&mut self, name: &str, value: impl Into<String>) {
        self.0.push((name.to_owned(), value.into()));
    }

    /// Adds the counts of errors by kind, each under `name`, with the operating system's text.
    pub(crate) fn add_errors(&mut self, name: &str, figures: &Figures) {
        for (kind, count) in &figures.errors_by_kind {
            let detail = figures.error_details.get(kind);
            let detail = detail.map_or_else(String::new, |detail| format!(" ({detail})"));
            self.add(name, format!("{} {kind}{detail}", thousands(*count)));
        }
    }

    pub(crate) fn add_cpu(&mut self, us_per_request: Option<f64>) {
        if let Some(us) = us_per_request {
            self.add("client CPU", format!("{us:.2} µs/request"));
        }
    }

    /// Adds the pacing lag. `what`: the noun for the requests.
    pub(crate) fn add_pacing(&mut self, pacing: Option<&Pacing>, what: &str) {
        let Some(Pacing { lag_ms: Latency { median, p99, max, .. }, queued }) = pacing else {
            return;
        };
        let [median, p99, max] = [*median, *p99, *max].map(ms);
        self.add(
            "pacing lag",
            format!(
                "median {median} ms, p99 {p99} ms, max {max} ms: the client's own lateness, included in the latencies"
            ),
        );
        self.add("waited for a free connection", format!("{} {what}", thousands(*queued)));
    }

    /// Adds examples of faults.
    pub(crate) fn add_examples<const MAX: usize>(&mut self, examples: &Examples<MAX>) {
        for example in examples.as_slice() {
            self.add("for example", example);
        }
    }
}

/// Figures that others have published, below rows of this run.
#[derive(Debug)]
pub(crate) struct Published {
    pub(crate) ours: Vec<Ours>,
    pub(crate) known: Vec<PublishedRun>,
}

impl Published {
    /// Groups the known runs by system.
    pub(crate) fn by_system(&self) -> impl Iterator<Item = &[PublishedRun]> {
        self.known.chunk_by(|a, b| a.system == b.system)
    }

    fn text(&self, out: &mut impl Write) -> io::Result<()> {
        writeln!(out, "\npublished before, measured on other machines with other tools:")?;
        for runs in self.by_system() {
            writeln!(out, "  {} ({})", runs[0].system, runs[0].source)?;
            for run in runs {
                writeln!(out, "    {}", run.line())?;
            }
        }
        Ok(())
    }
}

/// A row of this run in the comparison.
#[derive(Debug)]
pub(crate) struct Ours {
    pub(crate) kind: &'static str,
    pub(crate) how: String,
    pub(crate) rate: String,
    /// Mean, deviation, median, p90, p99, maximum.
    pub(crate) ms: [String; 6],
    pub(crate) measured: String,
}

impl Page {
    /// Joins the options into one line.
    pub(crate) fn about_line(&self) -> String {
        self.about.join("; ")
    }

    fn text(&self, out: &mut impl Write) -> io::Result<()> {
        writeln!(out, "{} {}", self.generator, self.title.replacen(" on ", " ", 1))?;
        for line in &self.about {
            writeln!(out, "  {line}")?;
        }
        for section in &self.sections {
            match section {
                Section::Plot(_) => {}
                Section::Table(table) if table.is_long => {}
                Section::Table(table) => table.text(out)?,
                Section::Facts(facts) => {
                    writeln!(out)?;
                    for (name, value) in &facts.0 {
                        writeln!(out, "{name}: {value}")?;
                    }
                }
                Section::Published(published) => published.text(out)?,
            }
        }
        self.verdict.as_ref().map_or(Ok(()), |verdict| writeln!(out, "{verdict}"))
    }
}

impl Table {
    pub(crate) fn new<T: ToString>(
        title: &'static str,
        head: impl IntoIterator<Item = T>,
        rows: impl Iterator<Item = Vec<String>>,
    ) -> Self {
        let head = head.into_iter().map(|name| name.to_string()).collect();
        Self { title, head, rows: rows.collect(), ..Self::default() }
    }

    /// Marks the table as too long for a terminal.
    pub(crate) fn long(self) -> Self {
        Self { is_long: true, ..self }
    }

    fn text(&self, out: &mut impl Write) -> io::Result<()> {
        writeln!(out)?;
        let lines = || std::iter::once(&self.head).chain(&self.rows);
        let width = |column: usize| {
            // A heading spans its line and does not widen the column.
            let cells = lines().filter(|line| line.len() > 1).filter_map(|line| line.get(column));
            cells.map(|cell| cell.chars().count()).max().unwrap_or_default()
        };
        let widths: Vec<usize> = (0..self.head.len()).map(width).collect();
        for line in lines() {
            for (column, (cell, width)) in line.iter().zip(&widths).enumerate() {
                match column {
                    0 => write!(out, "{cell:<width$}")?,
                    _ => write!(out, "  {cell:>width$}")?,
                }
            }
            writeln!(out)?;
        }
        Ok(())
    }
}
