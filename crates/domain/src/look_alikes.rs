//! Names that look alike, by UTS #39 (Unicode Security Mechanisms).

use std::sync::LazyLock;

use unicode_security::{MixedScript, mixed_script::AugmentedScriptSet};

/// The prototypes of ASCII characters, of which nearly all names consist: the tables of Unicode took a fifth of the CPU
/// time of creating a link.
static ASCII: LazyLock<[String; 128]> = LazyLock::new(|| {
    std::array::from_fn(|code| {
        let c = char::from(u8::try_from(code).unwrap_or_default()).to_ascii_lowercase();
        prototypes(c.encode_utf8(&mut [0; 4])).collect()
    })
});

/// Returns the visual form of a name, which is equal for names that look alike: its skeleton by UTS #39, case folded,
/// with the pairs unified that are alike in lower case or at a glance (`1`, `i` and `l`; `rn` and `m`; `vv` and `w`).
pub fn skeleton(name: &str) -> String {
    if name.is_ascii() {
        return unified(name.bytes().flat_map(|byte| ASCII[usize::from(byte)].chars()));
    }
    unified(prototypes(&name.to_lowercase()))
}

/// Returns the skeleton of a name in lower case, by UTS #39, in lower case.
fn prototypes(lower: &str) -> impl Iterator<Item = char> {
    unicode_security::skeleton(lower).flat_map(char::to_lowercase)
}

fn unified(prototypes: impl Iterator<Item = char>) -> String {
    let mut unified = String::new();
    for c in prototypes {
        let c = if c == 'i' { 'l' } else { c };
        let pair = match (unified.chars().next_back(), c) {
            (Some('r'), 'n') => Some('m'),
            (Some('v'), 'v') => Some('w'),
            _ => None,
        };
        if pair.is_some() {
            unified.pop();
        }
        unified.push(pair.unwrap_or(c));
    }
    unified
}

/// Whether a name mixes letters of scripts that no writing system mixes: it is beyond the restriction level "highly
/// restrictive" of UTS #39, of which only the mixing of scripts is checked.
pub fn mixes_scripts(name: &str) -> bool {
    if name.is_ascii() || name.is_single_script() {
        return false;
    }
    let others: String = name.chars().filter(|c| !is_latin(*c)).collect();
    let AugmentedScriptSet { hanb, jpan, kore, .. } = others.resolve_script_set();
    !(hanb || jpan || kore)
}

/// Whether a character is used in Latin script, perhaps among others.
fn is_latin(c: char) -> bool {
    let mut scripts = AugmentedScriptSet::from(c);
    scripts.intersect_with(AugmentedScriptSet::from('a'));
    !scripts.is_empty()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn ascii_names_have_the_skeleton_of_the_tables(name in "[ -~]{0,20}|[rnmvwil1]{0,20}") {
            let tables: String = prototypes(&name.to_lowercase()).collect();
            let expected = tables.replace('i', "l").replace("rn", "m").replace("vv", "w");
            prop_assert_eq!(skeleton(&name), expected);
        }
    }
}
