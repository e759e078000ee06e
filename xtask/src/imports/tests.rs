use serde_json::{Value, json};

use super::*;

/// The first lines of the findings in a package with these files below its `src`.
fn found(package: &str, files: &[(&str, &str)]) -> Vec<String> {
    let path = |file: &str| format!("crates/{package}/src/{file}");
    let files = files.iter().map(|(file, text)| (path(file), (*text).to_owned())).collect();
    let findings = findings(&files, &metadata(&[(package, &[])])).unwrap();
    findings.iter().map(|finding| finding.lines().next().unwrap().to_owned()).collect()
}

/// A package's name, and its dependencies with their kinds.
type Package<'a> = (&'a str, &'a [(&'a str, Option<&'a str>)]);

/// The output of `cargo metadata` for packages.
fn metadata(packages: &[Package]) -> Value {
    let packages = packages.iter().map(|(name, dependencies)| {
        let dependency =
            |(name, kind): &(&str, Option<&str>)| json!({ "name": name, "kind": kind });
        json!({
            "name": format!("lodge-{name}"),
            "manifest_path": format!("/w/crates/{name}/Cargo.toml"),
            "dependencies": dependencies.iter().map(dependency).collect::<Vec<_>>(),
        })
    });
    json!({ "workspace_root": "/w", "packages": packages.collect::<Vec<_>>() })
}

/// The findings in four files that each import the next by a line of this form, and the last the first.
fn ring(import: &str) -> Vec<String> {
    let text = |next: &str| format!("pub struct Thing; {}", import.replace("NEXT", next));
    let texts = ["b", "c", "d", "a"].map(text);
    let files = [
        ("lib.rs", "mod a; mod b; mod c; mod d; pub use a::Thing;"),
        ("a.rs", &texts[0]),
        ("b.rs", &texts[1]),
        ("c/mod.rs", &texts[2]),
        ("d.rs", &texts[3]),
    ];
    found("load", &files)
}

#[test]
fn a_cycle_of_four_files_is_found_in_every_notation() {
    let circle = ["4 files import each other in a cycle; at most 3 may:"];
    for import in [
        "use crate::NEXT::Thing as Other;",
        "pub use super::NEXT::Thing as Other;",
        "use crate::{NEXT::{self, Thing as Other}};",
        "use crate::NEXT; fn f() { NEXT::Thing; }",
        "fn f() -> crate::NEXT::Thing {}",
        "fn f() { use super::NEXT::Thing; }",
        "impl A { fn f() { vec![crate::NEXT::Thing] } }",
        "mod inner { fn f() { super::super::NEXT::Thing::new() } }",
        "#[derive(crate::NEXT::Thing)] struct Derived;",
        "use self::facade::Other; mod facade { pub use crate::NEXT::Thing as Other; }",
    ] {
        assert_eq!(ring(import), circle, "{import}");
    }
}

#[test]
fn tests_modules_and_comments_do_not_count_as_imports() {
    for import in [
        "#[cfg(test)] mod tests { use crate::NEXT::Thing as Other; }",
        "#[cfg(test)] use crate::NEXT::{Thing as Other};",
        "#[cfg(all(test, unix))] fn f<A, B>() { crate::NEXT::Thing }",
        "impl A { #[cfg(test)] const B: Thing = crate::NEXT::Thing; }",
        "// use crate::NEXT::Thing as Other;",
        "/// As [`crate::NEXT::Thing`].\nstruct Other;",
        "const OTHER: &str = \"crate::NEXT::Thing\";",
        "use crate::NEXT;",
        "use NEXT::Thing as Other;",
        "pub(in crate::NEXT) struct Other;",
    ] {
        assert!(ring(import).is_empty(), "{import}");
    }
}

#[test]
fn a_re_export_leads_to_the_file_that_defines_the_name() {
    let files = [
        ("lib.rs", "mod a;"),
        (
            "a/mod.rs",
            "mod b; mod c; mod d; mod e; pub use self::{b::B, c::C, d::D, e::E}; fn f() -> &'static E {}",
        ),
        ("a/b.rs", "use super::C; pub struct B;"),
        ("a/c.rs", "use super::D; pub struct C;"),
        ("a/d.rs", "use crate::a::E; pub struct D;"),
    ];
    let with = |last: &'static str| found("load", &[&files[..], &[("a/e.rs", last)]].concat());
    assert!(with("pub struct E;").is_empty());
    assert_eq!(with("use super::B; pub struct E;").len(), 1);
}

#[test]
fn modules_are_found_in_their_files() {
    let files = |last: &'static str| {
        let files = [
            ("main.rs", "mod a; mod d { pub mod e; }"),
            ("a.rs", "mod b; #[path = \"odd.rs\"] mod c; use b::B;"),
            ("a/b.rs", "use super::c::C; pub struct B;"),
            ("odd.rs", "use crate::d::e::E; pub struct C;"),
            ("d/e.rs", last),
        ];
        found("load", &files)
    };
    assert!(files("pub struct E;").is_empty());
    assert_eq!(files("use crate::a::A; pub struct E;").len(), 1);
    let lost = findings(
        &[("crates/load/src/lib.rs".to_owned(), "mod lost;".to_owned())].into(),
        &metadata(&[("load", &[])]),
    );
    assert!(lost.unwrap_err().to_string().contains("no file of module lost"));
}

#[test]
fn apps_import_no_apps() {
    let board = |text| {
        let files = [
            ("lib.rs", "mod board; mod accounts; mod text;"),
            ("board.rs", text),
            ("accounts/mod.rs", "pub struct Role; pub struct Session;"),
            ("text.rs", "pub struct Text;"),
        ];
        (found("web", &files), found("load", &files))
    };
    let none = || (vec![], vec![]);
    assert_eq!(board("use crate::{accounts::Role, text::Text};"), none());
    let crossing = "crates/web/src/board.rs imports Session of crates/web/src/accounts/mod.rs: \
                    an app imports another";
    assert_eq!(board("use crate::accounts::Session;"), (vec![crossing.to_owned()], vec![]));
}

#[test]
fn web_imports_no_store() {
    let named = |text: &str| {
        let files = [
            ("crates/domain/src/lib.rs", "pub mod links; pub trait Clock {}"),
            ("crates/domain/src/links.rs", "pub trait LinkStore {} pub struct Links;"),
            ("crates/web/src/lib.rs", text),
        ];
        let files = files.map(|(file, text)| (file.to_owned(), text.to_owned())).into();
        findings(&files, &metadata(&[("domain", &[]), ("web", &[])])).unwrap()
    };
    assert!(named("use lodge_domain::{Clock, links::Links};").is_empty());
    let store = "crates/web/src/lib.rs imports LinkStore of crates/domain/src/links.rs: \
                 web may use a store only through a service";
    assert_eq!(named("use lodge_domain::links; type A = dyn links::LinkStore;"), [store]);
}

#[test]
fn packages_depend_downwards() {
    let wrong = |from: &str, to: &str, kind: Option<&str>| {
        let packages = ["domain", "sql", "sqlite", "engines", "load", "contract", "web"];
        let dependency = format!("lodge-{to}");
        let depends = [(dependency.as_str(), kind)];
        let all: Vec<_> = packages
            .iter()
            .map(|name| (*name, if *name == from { &depends[..] } else { &[] }))
            .collect();
        !findings(&Files::new(), &metadata(&all)).unwrap().is_empty()
    };
    for (from, to) in
        [("sqlite", "domain"), ("sqlite", "sql"), ("engines", "sql"), ("web", "serde")]
    {
        assert!(!wrong(from, to, None), "{from} to {to}");
    }
    assert!(!wrong("sqlite", "contract", Some("dev")));
    for (from, to) in [("domain", "sql"), ("load", "domain"), ("sql", "sqlite"), ("web", "sqlite")]
    {
        assert!(wrong(from, to, None), "{from} to {to}");
    }
    assert!(wrong("sqlite", "contract", None));
    assert!(wrong("web", "engines", Some("dev")));
}
