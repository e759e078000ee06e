//! Checks of the Markdown files.

use std::{collections::HashSet, fs, path::Path};

use anyhow::{Context, Result, ensure};
use pulldown_cmark::{Event, Parser, Tag, TagEnd};

use crate::process;

/// Pages that are read from the start to the end, and their maximum sizes in bytes.
const SIZES: [(&str, usize); 2] = [("README.md", 9_000), ("ARCHITECTURE.md", 13_000)];

/// Ends of the names of source files, for paths that the text names.
const SOURCES: [&str; 6] = [".rs", ".sql", ".js", ".html", ".css", ".toml"];

/// Fails if a page is too long, or names a file, a section or a source file that does not exist.
pub(crate) fn run() -> Result<()> {
    for (page, bytes_max) in SIZES {
        let bytes = read(page)?.len();
        ensure!(bytes <= bytes_max, "{page} has {bytes} bytes; at most {bytes_max} are allowed");
    }
    let files = process::output("git", &["ls-files"])?;
    let files: Vec<&str> = files.lines().collect();
    let pages = process::output("git", &["ls-files", "*.md"])?;
    let mut dead = Vec::new();
    for page in pages.lines() {
        let named = Named::of(&read(page)?);
        for link in
            named.links.iter().filter(|link| !link.contains("://") && !link.starts_with("mailto:"))
        {
            if !exists(page, link)? {
                dead.push(format!("{page}: {link}"));
            }
        }
        let is_there = |path: &String| files.iter().any(|file| is_end_of(path, file));
        let missing = named.paths.iter().filter(|path| !is_there(path));
        dead.extend(missing.map(|path| format!("{page}: {path}")));
    }
    ensure!(dead.is_empty(), "these do not exist:\n{}", dead.join("\n"));
    Ok(())
}

/// Reads a page, by its path from the root.
pub(crate) fn read(page: &str) -> Result<String> {
    fs::read_to_string(process::root().join(page)).with_context(|| page.to_owned())
}

/// Whether a link of a page leads to a file, and to a section of it if it names one.
fn exists(page: &str, link: &str) -> Result<bool> {
    let (path, section) = link.split_once('#').unwrap_or((link, ""));
    let folder = Path::new(page).parent().unwrap_or(Path::new(""));
    let target = if path.is_empty() { page.into() } else { folder.join(path) };
    let file = process::root().join(&target);
    if section.is_empty() || !file.is_file() {
        return Ok(file.exists());
    }
    Ok(Named::of(&read(&target.to_string_lossy())?).sections.contains(section))
}

/// Whether `path` is a file's path, or the last parts of it.
fn is_end_of(path: &str, file: &str) -> bool {
    file.strip_suffix(path).is_some_and(|rest| rest.is_empty() || rest.ends_with('/'))
}

/// What a page names.
#[derive(Default)]
struct Named {
    links: Vec<String>,
    /// Paths of source files, of two parts at least.
    paths: Vec<String>,
    /// Its own sections, as the end of a link names them.
    sections: HashSet<String>,
}

impl Named {
    fn of(markdown: &str) -> Self {
        let mut named = Self::default();
        let mut heading = None;
        for event in Parser::new(markdown) {
            match event {
                Event::Start(Tag::Link { dest_url, .. } | Tag::Image { dest_url, .. }) => {
                    named.links.push(dest_url.into_string());
                }
                Event::Start(Tag::Heading { .. }) => heading = Some(String::new()),
                Event::End(TagEnd::Heading(_)) => {
                    named.sections.extend(heading.take().map(|title| anchor(&title)));
                }
                Event::Text(text) | Event::Code(text) if heading.is_some() => {
                    heading.get_or_insert_default().push_str(&text);
                }
                Event::Code(code) if is_source(&code) => named.paths.push(code.into_string()),
                _ => {}
            }
        }
        named
    }
}

fn is_source(code: &str) -> bool {
    let is_path = |c: char| c.is_ascii_alphanumeric() || "/_-.".contains(c);
    code.contains('/') && code.chars().all(is_path) && SOURCES.iter().any(|end| code.ends_with(end))
}

/// The anchor that GitHub gives to a heading.
fn anchor(title: &str) -> String {
    let kept = title.chars().filter(|c| c.is_alphanumeric() || "-_ ".contains(*c));
    kept.collect::<String>().to_lowercase().replace(' ', "-")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_sections_and_paths_of_a_page_are_found() {
        let page =
            "# A `title`, two\n\nSee [it](x.md#y), ![p](p.png), `a/b.rs`, `c.rs` and `/api/x`.\n";
        let named = Named::of(page);
        assert_eq!(named.links, ["x.md#y", "p.png"]);
        assert_eq!(named.paths, ["a/b.rs"]);
        assert_eq!(named.sections, HashSet::from(["a-title-two".to_owned()]));
    }

    #[test]
    fn a_link_to_a_missing_file_or_section_is_dead() {
        assert!(exists("docs/index.md", "operating.md").unwrap());
        assert!(exists("docs/index.md", "operating.md#backup-and-restore").unwrap());
        assert!(!exists("docs/index.md", "operating.md#no-such-section").unwrap());
        assert!(!exists("docs/index.md", "no-such-page.md").unwrap());
    }

    #[test]
    fn a_path_is_compared_by_whole_parts() {
        assert!(is_end_of("board/log.rs", "crates/sql/src/board/log.rs"));
        assert!(!is_end_of("oard/log.rs", "crates/sql/src/board/log.rs"));
    }
}
