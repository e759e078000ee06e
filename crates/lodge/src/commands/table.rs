//! Lists in columns.

use std::{array, fmt::Write as _, io::Write as _};

use super::out::Out;

/// A list with a header. Its columns are aligned and separated by two spaces. A long list is printed page by page;
/// each column is as wide as its widest cell so far.
pub(super) struct Table<const N: usize> {
    rows: Vec<[String; N]>,
    widths: [usize; N],
}

impl<const N: usize> Table<N> {
    /// Creates a list with the titles of its columns.
    pub(super) fn new(titles: [&str; N]) -> Self {
        let mut table = Self { rows: Vec::new(), widths: [0; N] };
        table.add(titles.map(str::to_owned));
        table
    }

    /// Adds a row. An empty cell is printed as `-`, so that every row has all columns.
    pub(super) fn add(&mut self, row: [String; N]) {
        let row = row.map(|cell| if cell.is_empty() { "-".to_owned() } else { cell });
        self.widths = array::from_fn(|at| self.widths[at].max(row[at].chars().count()));
        self.rows.push(row);
    }

    /// Prints the rows since the last call.
    pub(super) fn print(&mut self) {
        let mut out = Out::lock();
        for row in self.rows.drain(..) {
            let mut line = String::new();
            // Neither write fails: `Out` exits on an error.
            for (cell, width) in row.iter().zip(self.widths) {
                let _ = write!(line, "{cell:<width$}  ");
            }
            let _ = writeln!(out, "{}", line.trim_end());
        }
    }
}
