//! Renders a message as HTML: a subset of Markdown; typed tags are escaped.

use std::{collections::BTreeSet, net::Ipv4Addr};

use linkify::{LinkFinder, LinkKind};
use pulldown_cmark::{CodeBlockKind, Event, LinkType, Options, Parser, Tag, TextMergeStream};
use url::{Host, Url};

use super::mentions::{MENTIONS_MAX, mentions};
use crate::{
    accounts::Username,
    text::{is_unseen, shows_something},
};

/// The longest HTML of a message, in bytes; a message with a longer one is shown as it was typed.
pub const HTML_BYTES_MAX: usize = 24 * 1024;

/// The deepest nesting of elements; deeper ones are shown as text.
const DEPTH_MAX: usize = 8;

/// Renders a message's text as HTML: paragraphs, line breaks, bold, italic, strikethrough, code, quotes, lists, links
/// to the web and mentions of `members`. The only tags are `a`, `blockquote`, `br`, `code`, `del`, `em`, `hr`, `li`,
/// `ol`, `p`, `pre`, `span`, `strong` and `ul`.
pub fn html(body: &str, members: &BTreeSet<Username>) -> String {
    written(body, Some(members)).map_or_else(|| plain(body), |page| page.html)
}

/// The usernames that the HTML marks as mentions if they are members.
pub(super) fn named(body: &str) -> BTreeSet<Username> {
    written(body, None).map(|page| page.named.into_iter().collect()).unwrap_or_default()
}

/// The rendered text, with mentions of `members`; `None` if it is to be shown as it was typed.
fn written<'m>(body: &str, members: Option<&'m BTreeSet<Username>>) -> Option<Page<'m>> {
    let mut page = Page { members, ..Page::default() };
    for event in TextMergeStream::new(Parser::new_ext(body, Options::ENABLE_STRIKETHROUGH)) {
        page.add(event);
        if page.html.len() > HTML_BYTES_MAX {
            return None;
        }
    }
    // A text may consist of Markdown markers alone.
    page.says_something.then_some(page)
}

/// The text as it was typed, escaped.
fn plain(body: &str) -> String {
    let mut page = Page::default();
    page.html.push_str("<p>");
    page.lines(body);
    page.html.push_str("</p>");
    page.html
}

/// The HTML output and the parser's state.
#[derive(Default)]
struct Page<'m> {
    html: String,
    /// The names that are marked as mentions.
    members: Option<&'m BTreeSet<Username>>,
    /// The closing tag of each open element; empty for those that are not shown.
    open: Vec<&'static str>,
    link: Option<Link>,
    in_code: bool,
    named: Vec<Username>,
    says_something: bool,
}

/// The open link.
struct Link {
    /// The number of open elements around the link.
    depth: usize,
    /// The host that the link leads to, or the target that is not a web address.
    to: Result<String, String>,
    text: String,
}

impl Page<'_> {
    fn add(&mut self, event: Event<'_>) {
        match event {
            Event::Start(tag) => self.start(tag),
            Event::End(_) => self.end(),
            Event::Text(text) | Event::InlineHtml(text) => self.text(&text),
            Event::Html(line) => {
                self.html.push_str(if self.html.ends_with("<p>") { "" } else { "<br>" });
                self.text(&line);
            }
            Event::Code(text) => {
                self.html.push_str("<code>");
                self.written(&text);
                self.html.push_str("</code>");
            }
            Event::SoftBreak | Event::HardBreak => self.html.push_str("<br>"),
            Event::Rule => self.html.push_str("<hr>"),
            // These extensions of the parser are off.
            Event::FootnoteReference(_)
            | Event::TaskListMarker(_)
            | Event::InlineMath(_)
            | Event::DisplayMath(_) => {}
        }
    }

    fn start(&mut self, tag: Tag<'_>) {
        self.in_code |= matches!(tag, Tag::CodeBlock(_));
        let (open, close) = match tag {
            Tag::Paragraph | Tag::HtmlBlock => ("<p>", "</p>"),
            Tag::Heading { .. } => ("<p><strong>", "</strong></p>"),
            Tag::BlockQuote(_) => ("<blockquote>", "</blockquote>"),
            Tag::CodeBlock(CodeBlockKind::Fenced(_) | CodeBlockKind::Indented) => {
                ("<pre><code>", "</code></pre>")
            }
            Tag::List(None) => ("<ul>", "</ul>"),
            Tag::List(Some(first)) => return self.start_numbered(first),
            Tag::Item => ("<li>", "</li>"),
            Tag::Emphasis => ("<em>", "</em>"),
            Tag::Strong => ("<strong>", "</strong>"),
            Tag::Strikethrough => ("<del>", "</del>"),
            Tag::Link { link_type, dest_url, .. } | Tag::Image { link_type, dest_url, .. } => {
                return self.start_link(link_type, &dest_url);
            }
            _ => ("", ""),
        };
        self.start_shown(open, close);
    }

    fn start_shown(&mut self, open: &str, close: &'static str) {
        let is_shown = self.open.len() < DEPTH_MAX;
        self.html.push_str(if is_shown { open } else { "" });
        self.open.push(if is_shown { close } else { "" });
    }

    fn start_numbered(&mut self, first: u64) {
        let open = if first == 1 { "<ol>".to_owned() } else { format!("<ol start=\"{first}\">") };
        self.start_shown(&open, "</ol>");
    }

    /// Starts a link; an image becomes a link to it. Links within links are dropped.
    fn start_link(&mut self, kind: LinkType, target: &str) {
        let depth = self.open.len();
        if self.link.is_some() {
            return self.start_shown("", "");
        }
        let to = match web_address(target).filter(|_| depth < DEPTH_MAX) {
            Some(url) => {
                self.start_anchor(&url);
                Ok(url.host_str().unwrap_or_default().to_owned())
            }
            None if matches!(kind, LinkType::Email | LinkType::Autolink) => Err(String::new()),
            None => Err(target.to_owned()),
        };
        self.open.push(if to.is_ok() { "</a>" } else { "" });
        self.link = Some(Link { depth, to, text: String::new() });
    }

    fn start_anchor(&mut self, url: &Url) {
        self.html.push_str("<a href=\"");
        self.escaped(url.as_str());
        self.html.push_str("\" rel=\"nofollow noopener ugc\">");
    }

    fn end(&mut self) {
        self.html.push_str(self.open.pop().unwrap_or_default());
        self.in_code = false;
        let ended = self.link.take_if(|link| link.depth == self.open.len());
        let Some(Link { to, text, .. }) = ended else { return };
        let shown = match &to {
            Ok(host) => names_another_host(&text, host).then_some(host),
            Err(target) => Some(target).filter(|target| !target.is_empty()),
        };
        if let Some(target) = shown {
            self.html.push_str(" (");
            self.written(target);
            self.html.push(')');
        }
    }

    fn text(&mut self, text: &str) {
        if self.in_code {
            return self.written(text);
        }
        if self.link.is_some() {
            return self.lines(text);
        }
        let mut finder = LinkFinder::new();
        for span in finder.kinds(&[LinkKind::Url]).spans(text) {
            match span.kind().and_then(|_| web_address(span.as_str())) {
                Some(url) => {
                    self.start_anchor(&url);
                    self.written(span.as_str());
                    self.html.push_str("</a>");
                }
                None => self.names(span.as_str()),
            }
        }
    }

    /// Writes text that may contain mentions.
    fn names(&mut self, text: &str) {
        let mut written = 0;
        for mention in mentions(text).into_iter().take(MENTIONS_MAX - self.named.len()) {
            if self.members.is_some_and(|members| members.contains(&mention.username)) {
                self.lines(&text[written..mention.start]);
                self.html.push_str("<span class=\"mention\">");
                self.written(&text[mention.start..mention.end]);
                self.html.push_str("</span>");
                written = mention.end;
            }
            self.named.push(mention.username);
        }
        self.lines(&text[written..]);
    }

    fn lines(&mut self, text: &str) {
        for (number, line) in text.trim_end_matches('\n').split('\n').enumerate() {
            self.html.push_str(if number == 0 { "" } else { "<br>" });
            self.written(line);
        }
    }

    fn written(&mut self, text: &str) {
        self.says_something |= shows_something(text);
        if let Some(link) = &mut self.link {
            link.text.push_str(text);
        }
        self.escaped(text);
    }

    fn escaped(&mut self, text: &str) {
        for c in text.chars() {
            match c {
                '&' => self.html.push_str("&amp;"),
                '<' => self.html.push_str("&lt;"),
                '>' => self.html.push_str("&gt;"),
                '"' => self.html.push_str("&quot;"),
                '\'' => self.html.push_str("&#39;"),
                c => self.html.push(c),
            }
        }
    }
}

/// Parses an http or https URL. One with credentials is refused: a user name before the host can look like the host.
fn web_address(text: &str) -> Option<Url> {
    let url = Url::parse(text).ok()?;
    let is_plain = url.username().is_empty() && url.password().is_none();
    (matches!(url.scheme(), "http" | "https") && is_plain).then_some(url)
}

/// Whether a link's text looks like a host other than `host`.
fn names_another_host(text: &str, host: &str) -> bool {
    let text: String = text.chars().filter_map(as_seen).collect();
    let words = text.split(|c: char| !c.is_alphanumeric() && !matches!(c, '.' | '-'));
    let named = words.map(|word| word.trim_matches(['.', '-'])).find(|word| is_like_host(word));
    let bare = |host: &str| host.strip_prefix("www.").unwrap_or(host).to_owned();
    named.is_some_and(|named| {
        Host::parse(named).map_or(true, |named| bare(&named.to_string()) != bare(host))
    })
}

fn is_like_host(word: &str) -> bool {
    let is_ending = |end: &str| end.chars().count() > 1 && end.chars().all(char::is_alphabetic);
    word.rsplit_once('.').is_some_and(|(_, end)| is_ending(end)) || word.parse::<Ipv4Addr>().is_ok()
}

/// The character that readers see for `c`; `None` if it is invisible.
fn as_seen(c: char) -> Option<char> {
    match c {
        '\n' | '\r' | '\t' => Some(' '),
        c if is_unseen(c) => None,
        '\u{2024}' | '\u{3002}' | '\u{ff0e}' | '\u{ff61}' => Some('.'),
        c => Some(c),
    }
}

#[cfg(test)]
mod tests {
    use proptest::{collection::vec, prelude::*, sample::select};

    use super::{super::html_check, *};

    /// Renders a text on a board with the member ada.
    fn html(body: &str) -> String {
        super::html(body, &BTreeSet::from([Username::parse("ada").unwrap()]))
    }

    #[test]
    fn markdown_becomes_html() {
        for (typed, shown) in [
            ("a\nb\n\nc", "<p>a<br>b</p><p>c</p>"),
            (
                "**a** *b* ~~c~~ `d*`",
                "<p><strong>a</strong> <em>b</em> <del>c</del> <code>d*</code></p>",
            ),
            ("```rust\nlet a = 1 < 2;\n```", "<pre><code>let a = 1 &lt; 2;\n</code></pre>"),
            ("> a\nb", "<blockquote><p>a<br>b</p></blockquote>"),
            ("- a\n- b", "<ul><li>a</li><li>b</li></ul>"),
            ("3. a\n4. b", "<ol start=\"3\"><li>a</li><li>b</li></ol>"),
            ("# a", "<p><strong>a</strong></p>"),
            ("5 * 3 * 2 and a_b_c", "<p>5 * 3 * 2 and a_b_c</p>"),
            ("hi @Ada, not x@y.z", "<p>hi <span class=\"mention\">@Ada</span>, not x@y.z</p>"),
            ("@bob <is> no @member", "<p>@bob &lt;is&gt; no @member</p>"),
            ("`@ada`", "<p><code>@ada</code></p>"),
        ] {
            assert_eq!(html(typed), shown, "{typed:?}");
        }
    }

    #[test]
    fn typed_tags_are_escaped() {
        assert_eq!(html("<b>a</b>\n<i>"), "<p>&lt;b&gt;a&lt;/b&gt;<br>&lt;i&gt;</p>");
        assert_eq!(
            html("<script>\nalert('a')\n</script>"),
            "<p>&lt;script&gt;<br>alert(&#39;a&#39;)<br>&lt;/script&gt;</p>"
        );
        assert_eq!(html("a <img src=x onerror=y>"), "<p>a &lt;img src=x onerror=y&gt;</p>");
    }

    #[test]
    fn only_web_addresses_become_links() {
        let link = |url: &str, text: &str| {
            format!("<a href=\"{url}\" rel=\"nofollow noopener ugc\">{text}</a>")
        };
        let at = link("https://lift.example/7?a=1&amp;b=2", "https://lift.example/7?a=1&amp;b=2");
        assert_eq!(html("see https://lift.example/7?a=1&b=2."), format!("<p>see {at}.</p>"));
        let named = link("http://lift.example/", "the <em>lift</em>");
        assert_eq!(html("[the *lift*](http://lift.example)"), format!("<p>{named}</p>"));
        let picture = link("https://a.example/b.png", "alt");
        assert_eq!(html("![alt](https://a.example/b.png)"), format!("<p>{picture}</p>"));
        for (typed, shown) in [
            ("[a](javascript:alert(1))", "a (javascript:alert(1))"),
            ("[a](/board)", "a (/board)"),
            ("<mailto:a@b.example>", "mailto:a@b.example"),
            ("ftp://a.example", "ftp://a.example"),
            ("https://bank.example@evil.example/", "https://bank.example@evil.example/"),
        ] {
            assert_eq!(html(typed), format!("<p>{shown}</p>"), "{typed:?}");
        }
    }

    #[test]
    fn a_link_whose_text_names_another_host_shows_its_own() {
        let says = |typed: &str| html(typed).ends_with(" (evil.example)</p>");
        for text in [
            "bank.example",
            "https://bank.example/a",
            "go to bank.example!",
            "**bank**.example",
            "bank\u{200b}.example",
            "bank\u{206a}.example",
            "bank\u{e0001}.example",
            "bank&#x202d;.example",
            "bank。example",
            "bank.example/evil.example",
            "127.0.0.1",
            "`bank.example`",
        ] {
            assert!(says(&format!("[{text}](https://evil.example/)")), "{text:?}");
        }
        for text in ["a", "evil.example", "www.evil.example/bank.example", "e.g. v2.0", "1.5 km"] {
            assert!(!says(&format!("[{text}](https://evil.example/)")), "{text:?}");
        }
    }

    #[test]
    fn text_of_markers_alone_is_shown_as_typed() {
        for (typed, shown) in [
            ("#", "#"),
            (">", "&gt;"),
            ("-", "-"),
            ("---", "---"),
            ("[a]: http://b", "[a]: http://b"),
            ("&#8203;&nbsp;", "&amp;#8203;&amp;nbsp;"),
        ] {
            assert_eq!(html(typed), format!("<p>{shown}</p>"));
        }
    }

    #[test]
    fn deep_nesting_and_repeated_references_stay_short() {
        for typed in [
            format!("{}a", "> ".repeat(900)),
            format!("{}a", "- ".repeat(900)),
            "*".repeat(2_000),
            format!("{}a{}", "**a *".repeat(300), "*".repeat(400)),
            "[".repeat(2_000),
            format!("[a]: http://{}\n\n{}", "b".repeat(900), "[a]".repeat(350)),
            "\"".repeat(2_000),
        ] {
            let html = html(&typed);
            html_check::check(&html);
            assert!(html.matches("<blockquote>").count() <= DEPTH_MAX);
            assert!(html.len() <= 12_000 + "<p></p>".len(), "{} bytes: {typed}", html.len());
        }
    }

    const PIECES: [&str; 40] = [
        "*",
        "**",
        "~~",
        "`",
        "```\n",
        "> ",
        "- ",
        "1. ",
        "\n",
        "\n\n",
        "    ",
        "[",
        "](",
        ")",
        "![",
        "]: ",
        "<",
        ">",
        "</",
        "<a href=\"",
        "<!--",
        "-->",
        "http://",
        "https://a.example/",
        "@ada",
        "@",
        "\\",
        "&",
        "&lt;",
        "&#0;",
        "\"",
        "'",
        "javascript:",
        "a",
        "ä",
        "_",
        "#",
        " ",
        "\t",
        "|",
    ];

    proptest! {
        #[test]
        fn markup_becomes_only_allowed_tags(pieces in vec(select(&PIECES[..]), 0..60)) {
            html_check::check(&html(&pieces.concat()));
        }

        #[test]
        fn any_text_becomes_only_allowed_tags(text in "\\PC{0,200}") {
            html_check::check(&html(&text));
        }
    }
}
