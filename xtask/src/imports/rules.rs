//! Rules about what each crate and app may import.

use serde_json::Value;

use super::tree::{Import, Module};

const APPS: [&str; 4] = ["links", "rides", "board", "accounts"];

/// Packages whose apps must not import each other.
const APPS_APART: [&str; 2] = ["crates/domain", "crates/web"];

/// What an app may import from accounts: the caller and its role, the client that looks it up, and the hook
/// by which an app deletes the data of a deleted account.
const FROM_ACCOUNTS: [&str; 8] = [
    "Account",
    "AccountId",
    "AccountsClient",
    "OwnedByAccount",
    "Role",
    "SessionDigest",
    "SignedIn",
    "Username",
];

/// Traits of the domain that are not stores.
const NO_STORES: [&str; 3] = ["Clock", "Random", "SecurityRecorder"];

/// Packages that import no other package of the workspace.
const IMPORT_NONE: [&str; 3] = ["lodge-domain", "lodge-load", "lodge-testbed"];

/// Packages that may import all others.
const IMPORT_ALL: [&str; 3] = ["lodge", "lodge-fuzz", "xtask"];

/// What a package may import in addition to the domain.
const ALSO: [(&str, &str); 2] = [("lodge-engines", "lodge-sql"), ("lodge-sqlite", "lodge-sql")];

/// What the tests of every package may import.
const FOR_TESTS: [&str; 2] = ["lodge-contract", "lodge-testbed"];

/// What the tests of a package may import in addition: caches are tested in front of a store.
const ALSO_FOR_TESTS: [(&str, &str); 1] = [("lodge-local", "lodge-sqlite")];

/// Returns each import of one app by another.
pub(super) fn apps(imports: &[Import<'_>]) -> Vec<String> {
    let crosses = |import: &&Import<'_>| match (app(import.from), app(import.to)) {
        (Some(from), Some(to)) if from != to => {
            to != "accounts" || !FROM_ACCOUNTS.contains(&import.name)
        }
        _ => false,
    };
    format_findings(imports, crosses, "an app imports another")
}

/// Returns each import of a store by `web`.
pub(super) fn stores(imports: &[Import<'_>]) -> Vec<String> {
    let names_store = |import: &&Import<'_>| {
        import.from.package == "crates/web"
            && import.to.package == "crates/domain"
            && import.to.source.traits.contains(import.name)
            && !NO_STORES.contains(&import.name)
    };
    format_findings(imports, names_store, "web may use a store only through a service")
}

/// Returns each forbidden dependency between packages in the output of `cargo metadata`.
pub(super) fn packages(metadata: &Value) -> Vec<String> {
    let packages = || metadata["packages"].as_array().into_iter().flatten();
    let ours = |name: &str| packages().any(|package| package["name"] == name);
    let mut findings = Vec::new();
    for package in packages() {
        let from = package["name"].as_str().unwrap_or_default();
        for dependency in package["dependencies"].as_array().into_iter().flatten() {
            let to = dependency["name"].as_str().unwrap_or_default();
            if ours(to) && !may_depend(from, to, dependency["kind"] == "dev") {
                findings.push(format!("package {from} must not depend on {to}"));
            }
        }
    }
    findings
}

fn may_depend(from: &str, to: &str, in_tests: bool) -> bool {
    IMPORT_ALL.contains(&from)
        || in_tests && (FOR_TESTS.contains(&to) || ALSO_FOR_TESTS.contains(&(from, to)))
        || !IMPORT_NONE.contains(&from) && to == "lodge-domain"
        || ALSO.contains(&(from, to))
}

/// The app whose folder contains a file.
fn app(module: &Module) -> Option<&'static str> {
    if !APPS_APART.contains(&module.package.as_str()) {
        return None;
    }
    let path = module.file.strip_prefix(&module.package)?.strip_prefix("/src/")?;
    APPS.into_iter().find(|app| {
        path.strip_prefix(app).is_some_and(|rest| rest.starts_with('/') || rest == ".rs")
    })
}

/// Formats a line for each forbidden import.
fn format_findings<'a>(
    imports: &[Import<'a>],
    wrong: impl FnMut(&&Import<'a>) -> bool,
    why: &str,
) -> Vec<String> {
    let line = |import: &Import<'_>| {
        format!("{} imports {} of {}: {why}", import.from.file, import.name, import.to.file)
    };
    let mut lines: Vec<String> = imports.iter().filter(wrong).map(line).collect();
    lines.sort();
    lines.dedup();
    lines
}
