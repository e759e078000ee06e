//! The tables in `docs/failure-modes.md`.

use std::{fs, path::Path};

use anyhow::{Context as _, Result};

use super::{
    accounts,
    line::{COMMON, Line},
    links,
    record::Record,
    row::Row,
};

/// The table of an app, between two markers.
struct Table {
    app: &'static str,
    rows: fn() -> Vec<&'static Row>,
    head: &'static [&'static str],
    cells: fn(&Line<'_>) -> Vec<String>,
}

const TABLES: [Table; 2] = [
    Table { app: "links", rows: links::rows, head: links::HEAD, cells: links::cells },
    Table { app: "accounts", rows: accounts::rows, head: accounts::HEAD, cells: accounts::cells },
];

/// Replaces the tables of which there are records.
pub(crate) fn write(file: &Path, records: &[Record]) -> Result<()> {
    let mut text = fs::read_to_string(file)?;
    for table in &TABLES {
        let lines: Vec<_> =
            (table.rows)().into_iter().filter_map(|row| Line::of(row, records)).collect();
        if !lines.is_empty() {
            text = table.replaced(&text, &lines)?;
        }
    }
    Ok(fs::write(file, text)?)
}

impl Table {
    /// Returns the text with this table between its two markers.
    fn replaced(&self, text: &str, lines: &[Line<'_>]) -> Result<String> {
        let app = self.app;
        let [begin, end] = [
            format!("<!-- {app}: written by cargo xtask faults -->"),
            format!("<!-- {app}: end of what is written by cargo xtask faults -->"),
        ];
        let (before, rest) = text
            .split_once(&begin)
            .with_context(|| format!("the file lacks the marker {begin}"))?;
        let (_, after) =
            rest.split_once(&end).with_context(|| format!("the file lacks the marker {end}"))?;
        let columns: Vec<&str> =
            ["fault"].iter().chain(self.head).chain(&COMMON).copied().collect();
        let rule = vec!["---"; columns.len()];
        let mut table = vec![joined(&columns), joined(&rule)];
        table.extend(lines.iter().map(|line| {
            let cells = [vec![line.row.title.to_owned()], (self.cells)(line), line.common_cells()];
            joined(&cells.concat())
        }));
        Ok(format!("{before}{begin}\n\n{}\n\n{end}{after}", table.join("\n")))
    }
}

fn joined(cells: &[impl AsRef<str>]) -> String {
    let cells: Vec<&str> = cells.iter().map(AsRef::as_ref).collect();
    format!("| {} |", cells.join(" | "))
}
