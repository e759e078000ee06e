//! Names that look alike, by UTS #39 (Unicode Security Mechanisms).

use unicode_security::{MixedScript, mixed_script::AugmentedScriptSet};

/// Returns the visual form of a name, which is equal for names that look alike: its skeleton by UTS #39, case folded,
/// with the pairs unified that are alike in lower case or at a glance (`1`, `i` and `l`; `rn` and `m`; `vv` and `w`).
pub fn skeleton(name: &str) -> String {
    let lower = name.to_lowercase();
    let folded = unicode_security::skeleton(&lower).flat_map(char::to_lowercase);
    let unified: String = folded.map(|c| if c == 'i' { 'l' } else { c }).collect();
    unified.replace("rn", "m").replace("vv", "w")
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
