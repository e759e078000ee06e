//! Checks of `docs/asvs.md`: its tests must exist, its states be known, and its counts be right.

use anyhow::{Result, ensure};

use crate::{docs, process};

const PAGE: &str = "docs/asvs.md";

/// The states of an item, in the order of the table of counts.
const STATES: [&str; 3] = ["met", "open", "does not apply"];

/// Fails if the page names a test that does not exist, or counts its items wrongly.
pub(crate) fn run() -> Result<()> {
    let page = docs::read(PAGE)?;
    let mut wrong = wrong_rows(&page);
    wrong.extend(tests(&page).filter(|test| !exists(test)).map(str::to_owned));
    ensure!(
        wrong.is_empty(),
        "{PAGE} has wrong counts, or tests that do not exist:\n{}",
        wrong.join("\n")
    );
    Ok(())
}

/// Returns the tests in the code of a page, as `it: accounts::a_promise`.
fn tests(page: &str) -> impl Iterator<Item = &str> {
    let code = page.split('`').skip(1).step_by(2);
    code.filter(|code| code.split_once(": ").is_some_and(|(suite, _)| is_suite(suite)))
}

fn is_suite(name: &str) -> bool {
    is_of_binary(name) || name == "lodge" || name.starts_with("lodge-")
}

/// Whether a suite is one of those with the real binary.
fn is_of_binary(suite: &str) -> bool {
    matches!(suite, "it" | "browser" | "cluster")
}

/// Whether a file of the test's module has a function of its name.
fn exists(test: &str) -> bool {
    let Some((suite, (modules, name))) =
        test.split_once(": ").and_then(|(suite, path)| Some((suite, path.rsplit_once("::")?)))
    else {
        return false;
    };
    let folders = if is_of_binary(suite) {
        vec![format!("crates/lodge/tests/{suite}")]
    } else {
        let package = suite.strip_prefix("lodge-").unwrap_or(suite);
        ["src", "tests"].map(|folder| format!("crates/{package}/{folder}")).into()
    };
    let (modules, function) = (modules.replace("::", "/"), format!("fn {name}("));
    let mut files = folders
        .iter()
        .flat_map(|folder| [".rs", "/mod.rs"].map(|end| format!("{folder}/{modules}{end}")));
    files.any(|file| {
        std::fs::read_to_string(process::root().join(file))
            .is_ok_and(|code| code.contains(&function))
    })
}

/// Returns the rows of items with an unknown state, and the rows of wrong counts.
fn wrong_rows(page: &str) -> Vec<String> {
    let rows: Vec<_> = page.lines().map(cells).filter(|row| row.len() == 4).collect();
    let items: Vec<_> = rows.iter().filter_map(|row| Some((chapter(row[0])?, row[2]))).collect();
    let is_right = |row: &Vec<&str>| {
        if chapter(row[0]).is_some() {
            return STATES.contains(&row[2]);
        }
        let counted = row[0].split(' ').next().filter(|first| *first == "all" || is_chapter(first));
        counted.is_none_or(|counted| {
            let is_counted = |of: &str| counted == "all" || counted == of;
            let number = |state| {
                items.iter().filter(|(of, its)| is_counted(of) && *its == state).count().to_string()
            };
            row[1..] == STATES.map(number)
        })
    };
    rows.iter().filter(|row| !is_right(row)).map(|row| row.join(" | ")).collect()
}

/// Returns the chapter of an item, `V1` of `V1.2.3`.
fn chapter(item: &str) -> Option<&str> {
    item.split_once('.').map(|(chapter, _)| chapter).filter(|chapter| is_chapter(chapter))
}

fn is_chapter(text: &str) -> bool {
    text.strip_prefix('V').is_some_and(|number| number.parse::<u8>().is_ok())
}

/// Returns the cells of a row of a table.
fn cells(line: &str) -> Vec<&str> {
    let row = line.strip_prefix('|').and_then(|line| line.strip_suffix('|'));
    row.map(|row| row.split(" | ").map(str::trim).collect()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tests_are_found_in_the_files_of_their_modules() {
        let page = "`it: setup::x` and `http: y`, `lodge-web: a::b`, `domain/src/secret.rs`";
        assert_eq!(tests(page).collect::<Vec<_>>(), ["it: setup::x", "lodge-web: a::b"]);
        for test in [
            "it: setup::tries_of_the_setup_code_are_limited_per_address",
            "browser: all_pages::a_page_that_is_unreadable_in_the_dark_is_found",
            "lodge-web: rides::every_route_is_on_a_path_that_the_app_owns",
            "lodge-wire: it::tls::older_tls_versions_are_refused",
            "lodge: config::the_documented_configuration_is_the_default_one_with_every_key",
        ] {
            assert!(exists(test), "{test}");
        }
        for test in [
            "it: setup::tries_of_the_setup_code",
            "it: accounts::tries_of_the_setup_code_are_limited_per_address",
            "lodge-wire: tls::older_tls_versions_are_refused",
            "it: setup",
        ] {
            assert!(!exists(test), "{test}");
        }
    }

    #[test]
    fn wrong_counts_and_unknown_states_are_found() {
        let page = |first: &str, met: &str| {
            format!(
                "| chapter | met | open | does not apply |\n| --- | --- | --- | --- |\n\
                 | V1 Encoding | {met} | 0 | 1 |\n| V12 Files | 0 | 1 | 0 |\n| all | {met} | 1 | 1 |\n\n\
                 | item | asks for | state | evidence |\n| V1.1.1 | a | {first} | b |\n\
                 | V1.1.2 | a | does not apply | b |\n| V12.1.1 | a | open | b |\n"
            )
        };
        assert_eq!(wrong_rows(&page("met", "1")), [""; 0]);
        assert_eq!(wrong_rows(&page("met", "2")), ["V1 Encoding | 2 | 0 | 1", "all | 2 | 1 | 1"]);
        assert_eq!(wrong_rows(&page("partly", "0")), ["V1.1.1 | a | partly | b"]);
    }
}
