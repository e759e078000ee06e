//! The accessibility rules of axe-core, applied to the open page.

use std::{fs, sync::OnceLock};

use lodge_testbed::is_nightly;
use serde_json::Value;

use crate::{
    browser::Browser,
    installed::{installed, npm_ci},
};

/// Only these rules depend on the width and the colors.
const OF_STYLES: &str =
    "'color-contrast', 'target-size', 'scrollable-region-focusable', 'link-in-text-block'";

/// The color schemes and widths in which a page is checked, with the rules to apply; without rules, all.
const LOOKS: [(&str, u32, &str); 2] = [("light", 1280, ""), ("dark", 360, OF_STYLES)];

/// The further ones at nightly depth.
const MORE_LOOKS: [(&str, u32, &str); 2] = [("light", 360, OF_STYLES), ("dark", 1280, OF_STYLES)];

/// Returns the violations of the page. Leaves the browser at the width of a phone, in light.
pub(crate) async fn violations(browser: &Browser) -> Vec<String> {
    browser.run_script(source()).await;
    let more = if is_nightly() { &MORE_LOOKS[..] } else { &[] };
    let mut found = Vec::new();
    for (scheme, width, rules) in LOOKS.iter().chain(more) {
        browser.set_color_scheme(scheme).await;
        browser.set_size(*width, 760).await;
        let lines = browser.run_script(&format!("const rules = [{rules}]; {RUN}")).await;
        let lines = lines.as_array().unwrap_or_else(|| panic!("axe: {lines}"));
        let lines = lines.iter().filter_map(Value::as_str);
        found.extend(lines.map(|line| format!("{scheme}, {width}: {line}")));
    }
    browser.set_color_scheme("light").await;
    browser.set_phone_size().await;
    found
}

/// Opens the first details, which are alike on a page with many, and returns a line per violation.
const RUN: &str = "
    const closed = [...document.querySelectorAll('details:not([open])')].slice(0, 20);
    closed.forEach((part) => (part.open = true));
    const options = {
        resultTypes: ['violations'],
        rules: { 'target-size': { enabled: true } },
        ...(rules.length ? { runOnly: rules } : {}),
    };
    const told = ({ html, failureSummary }) => `${html.slice(0, 200)} ${failureSummary}`;
    return axe.run(document, options).then(({ violations }) => {
        closed.forEach((part) => (part.open = false));
        return violations.flatMap(({ id, nodes }) => nodes.map((node) => `${id}: ${told(node)}`));
    });
";

/// Returns the script of axe-core.
fn source() -> &'static str {
    static SOURCE: OnceLock<String> = OnceLock::new();
    SOURCE.get_or_init(|| {
        let folder = installed("axe", "package-lock.json", npm_ci);
        fs::read_to_string(folder.join("node_modules/axe-core/axe.min.js")).unwrap()
    })
}
