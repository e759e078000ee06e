//! The modules of all crates, and the resolution of paths in them.

use std::collections::BTreeMap;

use anyhow::{Context, Result, bail};

use super::source::{self, Child, Path, Source};

/// Texts of files by their paths in the workspace.
pub(super) type Files = BTreeMap<String, String>;

/// Maximum depth of re-exports that are followed.
const DEPTH_MAX: usize = 16;

/// Index of a module in [`Tree::modules`].
pub(super) type ModuleId = usize;

#[derive(Default)]
pub(super) struct Tree {
    pub(super) modules: Vec<Module>,
    /// The root modules of libraries, by the names that other crates use for them.
    libraries: BTreeMap<String, ModuleId>,
}

pub(super) struct Module {
    /// The package's folder.
    pub(super) package: String,
    pub(super) file: String,
    pub(super) source: Source,
    root: ModuleId,
    parent: ModuleId,
    children: BTreeMap<String, ModuleId>,
}

/// What a path resolves to.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Target<'a> {
    Module(ModuleId),
    Item(ModuleId, &'a str),
}

/// A use in one file of an item that another file defines.
pub(super) struct Import<'a> {
    pub(super) from: &'a Module,
    pub(super) to: &'a Module,
    /// Its name where it is defined.
    pub(super) name: &'a str,
}

impl Tree {
    /// Reads the packages, each given by its folder and its name in code.
    pub(super) fn read(
        files: &Files,
        packages: impl Iterator<Item = (String, String)>,
    ) -> Result<Self> {
        let mut tree = Self::default();
        for (folder, name) in packages {
            for root in ["lib.rs", "main.rs"].map(|root| format!("{folder}/src/{root}")) {
                let Some(text) = files.get(&root) else { continue };
                let source = source::read(text).with_context(|| root.clone())?;
                let id = tree.modules.len();
                if root.ends_with("lib.rs") {
                    tree.libraries.insert(name.clone(), id);
                }
                let module = Module {
                    package: folder.clone(),
                    file: root,
                    source,
                    root: id,
                    parent: id,
                    children: BTreeMap::new(),
                };
                tree.add(files, module, &format!("{folder}/src"))?;
            }
        }
        Ok(tree)
    }

    /// Adds a module and those below it, whose files are in `folder`.
    fn add(&mut self, files: &Files, mut module: Module, folder: &str) -> Result<()> {
        let id = self.modules.len();
        let children = std::mem::take(&mut module.source.children);
        let (package, file, root) = (module.package.clone(), module.file.clone(), module.root);
        self.modules.push(module);
        for Child { name, path, inline } in children {
            let below = format!("{folder}/{name}");
            let beside = file.rsplit_once('/').map_or("", |(beside, _)| beside);
            let (file, source, folder) = if let Some(source) = inline {
                (file.clone(), source, below)
            } else {
                let candidates = match &path {
                    Some(path) => vec![format!("{beside}/{path}")],
                    None => vec![format!("{below}.rs"), format!("{below}/mod.rs")],
                };
                let Some(file) = candidates.iter().find(|file| files.contains_key(*file)) else {
                    bail!("{file}: no file of module {name}: {candidates:?}");
                };
                let source = source::read(&files[file]).with_context(|| file.clone())?;
                (file.clone(), source, if path.is_some() { beside.to_owned() } else { below })
            };
            let child = Module {
                package: package.clone(),
                file,
                source,
                root,
                parent: id,
                children: BTreeMap::new(),
            };
            let child_id = self.modules.len();
            self.modules[id].children.insert(name, child_id);
            self.add(files, child, &folder)?;
        }
        Ok(())
    }

    /// Returns every use in one file of an item of another. A `use` of a module does not count; the paths
    /// that begin with it do. A use of a re-export counts as an import of the defining file.
    pub(super) fn imports(&self) -> Vec<Import<'_>> {
        let mut imports = Vec::new();
        for (id, from) in self.modules.iter().enumerate() {
            let uses = from.source.uses.iter().map(|line| &line.path);
            for path in uses.chain(&from.source.paths) {
                if let Some(Target::Item(to, name)) = self.resolve(id, path, DEPTH_MAX) {
                    let to = &self.modules[to];
                    if to.file != from.file {
                        imports.push(Import { from, to, name });
                    }
                }
            }
        }
        imports
    }

    /// Resolves `path` in a module; `None` if it leads out of the workspace.
    fn resolve<'a>(&'a self, from: ModuleId, path: &'a Path, depth: usize) -> Option<Target<'a>> {
        let (first, rest) = path.split_first()?;
        let depth = depth.checked_sub(1)?;
        let (mut at, mut rest) = match first.as_str() {
            "crate" => (self.modules[from].root, rest),
            "self" => (from, rest),
            "super" => (self.modules[from].parent, rest),
            name => match self.member(from, name, rest.is_empty(), depth) {
                Some(Target::Module(module)) => (module, rest),
                Some(item) => return Some(item),
                None => (*self.libraries.get(name)?, rest),
            },
        };
        while let Some((name, after)) = rest.split_first() {
            at = match self.member(at, name, after.is_empty(), depth) {
                _ if name == "super" => self.modules[at].parent,
                Some(Target::Module(module)) => module,
                Some(item) => return Some(item),
                // Generated by a macro of that module.
                None => return Some(Target::Item(at, name)),
            };
            rest = after;
        }
        Some(Target::Module(at))
    }

    /// Resolves a name in a module; the last name of a path is preferably an item, others a module.
    fn member<'a>(
        &'a self,
        at: ModuleId,
        name: &'a str,
        last: bool,
        depth: usize,
    ) -> Option<Target<'a>> {
        let module = &self.modules[at];
        let child = module.children.get(name).map(|child| Target::Module(*child));
        let item = || {
            if module.source.defined.contains(name) {
                return Some(Target::Item(at, name));
            }
            let named =
                |wanted: &'a str| module.source.uses.iter().filter(move |u| u.name == wanted);
            named(name).find_map(|line| self.resolve(at, &line.path, depth)).or_else(|| {
                named("*").find_map(|line| match self.resolve(at, &line.path, depth)? {
                    Target::Module(inner) if inner != at => self.member(inner, name, last, depth),
                    _ => None,
                })
            })
        };
        if last { item().or(child) } else { child.or_else(item) }
    }
}
