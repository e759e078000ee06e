//! Checks the HTML of a message, independently of the code that renders it.

const HTML_BYTES_MAX: usize = 24 * 1024;

const TAGS: [&str; 14] = [
    "a",
    "blockquote",
    "br",
    "code",
    "del",
    "em",
    "hr",
    "li",
    "ol",
    "p",
    "pre",
    "span",
    "strong",
    "ul",
];

const REL: &str = "\" rel=\"nofollow noopener ugc\"";

/// Panics unless `html` is short, well-formed, not deeply nested, and has only the allowed tags and attributes.
pub(crate) fn check(html: &str) {
    assert!(html.len() <= HTML_BYTES_MAX, "{} bytes", html.len());
    let mut open: Vec<&str> = Vec::new();
    let mut rest = html;
    while let Some((text, after)) = rest.split_once('<') {
        check_text(text);
        let (tag, after) = after.split_once('>').expect("a tag is closed by >");
        rest = after;
        if let Some(name) = tag.strip_prefix('/') {
            assert_eq!(open.pop(), Some(name), "the end tag matches the open element: {html}");
            continue;
        }
        let (name, attributes) = tag.split_once(' ').unwrap_or((tag, ""));
        assert!(TAGS.contains(&name), "<{tag}>");
        check_attributes(name, attributes);
        assert!(name != "a" || !open.contains(&"a"), "a link in a link: {html}");
        if !matches!(name, "br" | "hr") {
            open.push(name);
            assert!(open.len() <= 20, "nested too deeply: {html}");
        }
    }
    check_text(rest);
    assert!(open.is_empty(), "left open: {open:?} in {html}");
}

fn check_attributes(name: &str, attributes: &str) {
    let is_fine = match name {
        "a" => {
            let url = attributes.strip_prefix("href=\"").and_then(|rest| rest.strip_suffix(REL));
            let is_web = |url: &str| url.starts_with("http://") || url.starts_with("https://");
            url.is_some_and(|url| is_web(url) && !url.contains(['"', '\'']))
        }
        "span" => attributes == "class=\"mention\"",
        "ol" => {
            let start = attributes.strip_prefix("start=\"").and_then(|rest| rest.strip_suffix('"'));
            attributes.is_empty() || start.is_some_and(|start| start.parse::<u32>().is_ok())
        }
        _ => attributes.is_empty(),
    };
    assert!(is_fine, "<{name} {attributes}>");
}

fn check_text(text: &str) {
    assert!(!text.contains(['>', '"', '\'']), "{text:?}");
    for after in text.split('&').skip(1) {
        let is_ours = ["amp;", "lt;", "gt;", "quot;", "#39;"].iter().any(|e| after.starts_with(e));
        assert!(is_ours, "&{after:?}");
    }
}
