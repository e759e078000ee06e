//! Import cycles between files.

use std::collections::{BTreeMap, BTreeSet};

use super::tree::Import;

/// The files that each file imports.
type Graph<'a> = BTreeMap<&'a str, BTreeSet<&'a str>>;

/// Describes each cycle of more than `files_max` files of one package, with its imports.
pub(super) fn find(imports: &[Import<'_>], files_max: usize) -> Vec<String> {
    let inside = || imports.iter().filter(|import| import.from.package == import.to.package);
    let mut graph = Graph::new();
    for import in inside() {
        graph.entry(&import.from.file).or_default().insert(&import.to.file);
    }
    let say = |circle: BTreeSet<&str>| {
        let mut names: BTreeMap<(&str, &str), Vec<&str>> = BTreeMap::new();
        for Import { from, to, name } in inside() {
            if circle.contains(from.file.as_str()) && circle.contains(to.file.as_str()) {
                names.entry((&from.file, &to.file)).or_default().push(name);
            }
        }
        let lines = names.into_iter().map(|((from, to), mut names)| {
            names.sort_unstable();
            names.dedup();
            format!("\n  {from} imports {to}: {}", names.join(", "))
        });
        let lines: String = lines.collect();
        let files = circle.len();
        format!("{files} files import each other in a cycle; at most {files_max} may:{lines}")
    };
    circles(&graph).into_iter().filter(|circle| circle.len() > files_max).map(say).collect()
}

/// The strongly connected components: files that reach each other.
fn circles<'a>(graph: &Graph<'a>) -> BTreeSet<BTreeSet<&'a str>> {
    let below: Graph<'a> = graph.keys().map(|file| (*file, reached(graph, file))).collect();
    let reaches = |from: &str, to: &str| below.get(from).is_some_and(|all| all.contains(to));
    let circle = |(file, all): (&&'a str, &BTreeSet<&'a str>)| {
        all.iter().copied().filter(|other| reaches(other, file)).collect()
    };
    below.iter().map(circle).collect()
}

/// All files that `from` imports, directly or indirectly.
fn reached<'a>(graph: &Graph<'a>, from: &str) -> BTreeSet<&'a str> {
    let mut reached = BTreeSet::new();
    let mut open = vec![from];
    while let Some(file) = open.pop() {
        for next in graph.get(file).into_iter().flatten() {
            if reached.insert(*next) {
                open.push(next);
            }
        }
    }
    reached
}
