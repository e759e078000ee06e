//! Any message text: its HTML has only allowed tags, each of them closed, and bounded length.
#![no_main]

use libfuzzer_sys::fuzz_target;
use lodge_domain::board::{Body, html};

#[path = "../../crates/domain/src/board/html_check.rs"]
mod html_check;
mod seeds;

/// Examples of each Markdown construct, and of attempts to inject HTML.
const TYPED: [&str; 12] = [
    "# Lift 4 *stands*\n\nwind, says **@ada**\nback at ~~ten~~ eleven",
    "> what @bob said\n>> and what was answered\n\n1. one\n2. two\n   - deep\n     - deeper",
    "[the piste map](https://a.example/m?a=1&b='2' \"title\") ![alt](http://b.example/p.png)",
    "[a [link](https://a.example) in a link](https://b.example) <https://c.example/>",
    "[ref]: https://a.example 'title'\n[ref] and [words][ref], ada@a.example, www.a.example/x(y)",
    "`@ada` ``a ` b``\n\n```html\n<script>alert(1)</script>\n```\n\n    indented",
    "<img src=x onerror=alert(1)> <b>bold</b>\n<div onclick='x'>\n&lt;&#x3c;&quot;&nbsp;",
    "[x](javascript:alert(1)) [y](data:text/html,z) [z](//evil.example) [w](java\nscript:a)",
    "***a** b* _c __d_ e__ * f * ** g ~~~ h",
    "* * *\n---\n===\nhead\n---\n- [ ] task\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\n[^1]: note",
    "https://a.example/\u{200b} \u{feff} é 👩‍👩‍👧 \\<\\*\\[ https://ä.example/ü?ö#ß",
    "[[[[[[[[[[[[((((((((((((>>>>>>>>>>>>************",
];

fuzz_target!(init: seeds::sow("markup", TYPED), |text: &str| {
    let Ok(body) = Body::parse(text) else { return };
    let html = html(body.as_str());
    assert!(!html.is_empty());
    html_check::check(&html);
});
