//! The modules, definitions, `use` lines and paths of one file. They are read from its tokens, so that paths
//! inside macros count, too. Code under `#[cfg(test)]` is skipped.

use std::{collections::BTreeSet, str::FromStr};

use anyhow::{Result, anyhow};
use proc_macro2::{Delimiter, Group, TokenStream, TokenTree};

/// A path's segments: `crate::board::Event` has three.
pub(super) type Path = Vec<String>;

/// The names in one module.
#[derive(Default)]
pub(super) struct Source {
    pub(super) children: Vec<Child>,
    /// Names of structs, enums, traits, functions, constants, types and macros.
    pub(super) defined: BTreeSet<String>,
    /// The traits in `defined`.
    pub(super) traits: BTreeSet<String>,
    pub(super) uses: Vec<Use>,
    /// Paths outside of `use` lines.
    pub(super) paths: Vec<Path>,
}

/// `mod name;` or `mod name { … }`.
pub(super) struct Child {
    pub(super) name: String,
    /// From `#[path = "…"]`.
    pub(super) path: Option<String>,
    pub(super) inline: Option<Source>,
}

/// One name of a `use` line: `use a::b as c` has the path `a::b` and the name `c`; a glob has the name `*`.
pub(super) struct Use {
    pub(super) path: Path,
    pub(super) name: String,
}

/// Reads a file.
pub(super) fn read(text: &str) -> Result<Source> {
    let tokens = TokenStream::from_str(text).map_err(|error| anyhow!("{error}"))?;
    let mut source = Source::default();
    source.read(tokens, true);
    Ok(source)
}

impl Source {
    /// Reads the tokens of a module, or of a group in it, whose definitions and modules are not visible
    /// outside.
    fn read(&mut self, tokens: TokenStream, of_module: bool) {
        let tokens: Vec<TokenTree> = tokens.into_iter().collect();
        let mut attributes = Vec::new();
        let mut at = 0;
        while let Some(token) = tokens.get(at) {
            let rest = &tokens[at..];
            if let Some(attribute) = attribute(rest) {
                if is_test_only(attribute) {
                    at += 2;
                    at += item_length(&tokens[at..]);
                    attributes.clear();
                } else {
                    self.read(attribute.stream(), false);
                    attributes.push(attribute);
                    at += 2;
                }
                continue;
            }
            at += match token {
                // A capture in a type: `impl Trait + use<'a>`.
                TokenTree::Ident(word) if word == "use" && is_angle(rest.get(1)) => 1,
                TokenTree::Ident(word) if word == "use" => {
                    let length = length_to(rest, is_semicolon);
                    self.read_use(&rest[1..length], &mut Vec::new());
                    length
                }
                TokenTree::Ident(word) if word == "mod" && of_module => {
                    self.read_module(rest, &attributes);
                    3
                }
                TokenTree::Ident(_) => self.read_word(rest, of_module),
                // A lifetime, which may be called static.
                TokenTree::Punct(mark) if mark.as_char() == '\'' => 2,
                TokenTree::Group(group) => {
                    self.read(group.stream(), false);
                    1
                }
                _ => 1,
            };
            if ends_item(&tokens[at - 1]) {
                attributes.clear();
            }
        }
    }

    /// Reads a definition, a path, or another word; returns its number of tokens.
    fn read_word(&mut self, rest: &[TokenTree], of_module: bool) -> usize {
        const DEFINE: [&str; 8] =
            ["struct", "enum", "union", "trait", "type", "fn", "const", "static"];
        let word = rest[0].to_string();
        let path = path(rest);
        if path.len() > 1 {
            let length = path.len() * 3 - 2;
            self.paths.push(path);
            return length;
        }
        if of_module && let Some(TokenTree::Ident(name)) = rest.get(1) {
            if DEFINE.contains(&word.as_str()) {
                self.defined.insert(name.to_string());
            }
            if word == "trait" {
                self.traits.insert(name.to_string());
            }
        }
        if of_module
            && word == "macro_rules"
            && let Some(TokenTree::Ident(name)) = rest.get(2)
        {
            self.defined.insert(name.to_string());
        }
        1
    }

    fn read_module(&mut self, rest: &[TokenTree], attributes: &[&Group]) {
        let Some(TokenTree::Ident(name)) = rest.get(1) else { return };
        let path = attributes.iter().find_map(|attribute| {
            let tokens: Vec<TokenTree> = attribute.stream().into_iter().collect();
            (tokens.first()?.to_string() == "path")
                .then(|| tokens.get(2).map(|path| path.to_string().trim_matches('"').to_owned()))?
        });
        let inline = match rest.get(2) {
            Some(TokenTree::Group(body)) => {
                let mut source = Self::default();
                source.read(body.stream(), true);
                Some(source)
            }
            _ => None,
        };
        self.children.push(Child { name: name.to_string(), path, inline });
    }

    /// Reads a `use` tree after `prefix`.
    fn read_use(&mut self, tokens: &[TokenTree], prefix: &mut Path) {
        let depth = prefix.len();
        let mut name = None;
        let mut tokens = tokens.iter();
        while let Some(token) = tokens.next() {
            match token {
                TokenTree::Ident(word) if word == "as" => {
                    name = tokens.next().map(ToString::to_string);
                }
                TokenTree::Ident(word) => prefix.push(word.to_string()),
                TokenTree::Group(group) => {
                    let branches: Vec<TokenTree> = group.stream().into_iter().collect();
                    for branch in branches.split(|token| is_punct(token, ',')) {
                        self.read_use(branch, prefix);
                    }
                    prefix.truncate(depth);
                }
                TokenTree::Punct(mark) if mark.as_char() == '*' => name = Some("*".to_owned()),
                _ => {}
            }
        }
        if prefix.last().is_some_and(|last| last == "self") && prefix.len() > 1 {
            prefix.pop();
        }
        if let Some(last) = prefix.last()
            && (prefix.len() > depth || name.is_some())
        {
            let name = name.unwrap_or_else(|| last.clone());
            self.uses.push(Use { path: prefix.clone(), name });
        }
        prefix.truncate(depth);
    }
}

/// The attribute that begins here, without `#`.
fn attribute(tokens: &[TokenTree]) -> Option<&Group> {
    match tokens {
        [hash, TokenTree::Group(group), ..]
            if is_punct(hash, '#') && group.delimiter() == Delimiter::Bracket =>
        {
            Some(group)
        }
        _ => None,
    }
}

/// Whether this is `cfg(test)` or `cfg(all(test, …))`.
fn is_test_only(attribute: &Group) -> bool {
    let words = attribute.stream().to_string().replace(' ', "");
    words == "cfg(test)" || words.starts_with("cfg(all(test,")
}

/// The number of tokens of the item, statement, field or arm that begins here.
fn item_length(tokens: &[TokenTree]) -> usize {
    const UP_TO_BODY: [&str; 8] =
        ["fn", "impl", "struct", "enum", "union", "trait", "mod", "macro_rules"];
    const UP_TO_SEMICOLON: [&str; 5] = ["use", "const", "static", "type", "let"];
    let head: Vec<String> = tokens.iter().take(6).map(ToString::to_string).collect();
    let has = |words: &[&str]| head.iter().any(|word| words.contains(&word.as_str()));
    if has(&UP_TO_BODY) {
        length_to(tokens, ends_item)
    } else if has(&UP_TO_SEMICOLON) {
        length_to(tokens, is_semicolon)
    } else {
        length_to(tokens, |token| ends_item(token) || is_punct(token, ','))
    }
}

fn length_to(tokens: &[TokenTree], last: impl Fn(&TokenTree) -> bool) -> usize {
    tokens.iter().position(last).map_or(tokens.len(), |at| at + 1)
}

/// The path that begins here, which may be a single word.
fn path(tokens: &[TokenTree]) -> Path {
    let mut path = vec![tokens[0].to_string()];
    let mut rest = &tokens[1..];
    while let [first, second, TokenTree::Ident(word), ..] = rest
        && is_punct(first, ':')
        && is_punct(second, ':')
    {
        path.push(word.to_string());
        rest = &rest[3..];
    }
    path
}

fn ends_item(token: &TokenTree) -> bool {
    is_semicolon(token)
        || matches!(token, TokenTree::Group(group) if group.delimiter() == Delimiter::Brace)
}

fn is_semicolon(token: &TokenTree) -> bool {
    is_punct(token, ';')
}

fn is_punct(token: &TokenTree, mark: char) -> bool {
    matches!(token, TokenTree::Punct(punct) if punct.as_char() == mark)
}

fn is_angle(token: Option<&TokenTree>) -> bool {
    matches!(token, Some(TokenTree::Punct(mark)) if mark.as_char() == '<')
}
