//! `cargo xtask imports`: checks the imports between crates and modules.

mod cycles;
mod rules;
mod source;
#[cfg(test)]
mod tests;
mod tree;

use anyhow::{Result, ensure};
use serde_json::Value;

use self::tree::{Files, Tree};
use crate::process;

/// Maximum number of files in an import cycle.
const CIRCLE_MAX: usize = 3;

/// Prints every forbidden import, and fails if there is one.
pub(crate) fn run() -> Result<()> {
    let metadata = process::output("cargo", &["metadata", "--no-deps", "--format-version", "1"])?;
    let findings = findings(&files()?, &serde_json::from_str(&metadata)?)?;
    for finding in &findings {
        println!("{finding}\n");
    }
    ensure!(findings.is_empty(), "{} forbidden imports", findings.len());
    Ok(())
}

fn files() -> Result<Files> {
    let root = process::root();
    let list = ["ls-files", "--cached", "--others", "--exclude-standard", "*.rs"];
    let files = process::output("git", &list)?;
    let read = |file: &str| Some((file.to_owned(), std::fs::read_to_string(root.join(file)).ok()?));
    Ok(files.lines().filter_map(read).collect())
}

/// Returns the forbidden imports of the packages in the output of `cargo metadata`.
fn findings(files: &Files, metadata: &Value) -> Result<Vec<String>> {
    let root = metadata["workspace_root"].as_str().unwrap_or_default();
    let packages = metadata["packages"].as_array().into_iter().flatten().filter_map(|package| {
        let folder = package["manifest_path"].as_str()?.strip_suffix("/Cargo.toml")?;
        let folder = folder.strip_prefix(root)?.trim_start_matches('/').to_owned();
        Some((folder, package["name"].as_str()?.replace('-', "_")))
    });
    let tree = Tree::read(files, packages)?;
    let imports = tree.imports();
    let mut findings = rules::packages(metadata);
    findings.extend(rules::apps(&imports));
    findings.extend(rules::stores(&imports));
    findings.extend(cycles::find(&imports, CIRCLE_MAX));
    Ok(findings)
}
