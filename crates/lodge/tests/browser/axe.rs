//! The accessibility rules of axe-core, applied to the open page.

use std::{fs, sync::OnceLock};

use serde_json::Value;

use crate::{
    browser::Browser,
    installed::{installed, npm_ci},
};

/// Returns the violations of the page at the width of a phone and of a window, each in light and in dark. Leaves the
/// browser at the width of a phone.
pub(crate) async fn violations(browser: &Browser) -> Vec<String> {
    browser.run_script(source()).await;
    let mut found = Vec::new();
    for (scheme, rules) in [("light", "all"), ("dark", "of styles")] {
        browser.set_color_scheme(scheme).await;
        browser.set_window_size().await;
        found.extend(run(browser, &format!("{scheme}, 1280"), rules).await);
        browser.set_phone_size().await;
        found.extend(run(browser, &format!("{scheme}, 360"), "of styles").await);
    }
    browser.set_color_scheme("light").await;
    found
}

async fn run(browser: &Browser, look: &str, rules: &str) -> Vec<String> {
    let found = browser.run_script(&format!("const rules = '{rules}'; {RUN}")).await;
    let lines = found.as_array().unwrap_or_else(|| panic!("axe: {found}"));
    lines.iter().filter_map(Value::as_str).map(|line| format!("{look}: {line}")).collect()
}

/// Opens the first details, which are alike on a page with many, and returns a line per violation. Only the rules about
/// styles depend on the width and the colors.
const RUN: &str = "
    const closed = [...document.querySelectorAll('details:not([open])')].slice(0, 20);
    closed.forEach((part) => (part.open = true));
    const styles = ['color-contrast', 'target-size', 'scrollable-region-focusable', 'link-in-text-block'];
    const options = {
        resultTypes: ['violations'],
        rules: { 'target-size': { enabled: true } },
        ...(rules === 'all' ? {} : { runOnly: styles }),
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
