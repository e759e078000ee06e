//! Renders every page with the largest content that it allows: the HTML is valid, and all input is escaped.

use std::sync::Arc;

use askama::Template;
use jiff::Timestamp;
use lodge_domain::{
    OsRandom,
    keys::{ApiKey, KeyId},
    links::{
        ClickLimit, Link, LinkId, LinkState, Owner, RedirectCode, Short, Tags, Target,
        clicks::ClickLine,
    },
    passwords::PasswordHash,
};

use super::{
    access::ShortUrl,
    chart::{self, Period},
    create::{CreatePage, Visitor},
    form::LinkForm,
    list::{Filter, ListPage, Row},
    manage::{DeletedPage, ManagePage, OpenPage},
    statistics::{Share, StatsPage},
    visitor::{PasswordPage, PreviewPage, PrintPage},
};
use crate::{
    links::qr,
    pages::{
        check::{self, HOSTILE_INPUT},
        errors::FormErrors,
    },
    session::PageCaller,
};

/// The size limit of a list whose links all have fields of maximal length.
const LIST_BYTES_MAX: usize = 150_000;

fn now() -> Timestamp {
    "2026-01-31T12:00:00Z".parse().unwrap()
}

/// A link with all fields of maximal length.
fn longest() -> Link {
    let tags = (0..20).map(|n| format!("{n:02}<{}", "é".repeat(47)));
    Link {
        id: LinkId(serde_json::from_str("\"0197f0c0-0000-7000-8000-000000000000\"").unwrap()),
        short: Short::parse(&"s".repeat(128)).unwrap(),
        target: Target::parse(&format!("https://a.example/?a=1&b='{}", "x".repeat(8 * 1024 - 32)))
            .unwrap(),
        redirect: RedirectCode::Permanent,
        version: u64::MAX,
        key_version: 2,
        owner: Some(Owner::Key(KeyId(1))),
        created_at: now(),
        changed_at: now(),
        deleted_at: None,
        expires_at: Some(now()),
        click_limit: Some(ClickLimit::new(1_000_000_000).unwrap()),
        password: Some(PasswordHash("SECRET-HASH".to_owned())),
        tags: Tags::parse(tags).unwrap(),
    }
}

fn url(link: &Link) -> ShortUrl {
    ShortUrl::of("https://a-rather-long-name-of-a-host.example.org:8443", &link.short)
}

fn code(link: &Link) -> String {
    qr::inline(&url(link).whole).unwrap()
}

fn evil_form() -> LinkForm {
    let evil = || HOSTILE_INPUT.to_owned();
    let (short, tags, target) = (evil(), evil(), evil());
    LinkForm {
        target,
        short,
        tags,
        redirect: evil(),
        expires_at: evil(),
        max_clicks: evil(),
        form: evil(),
        version: evil(),
        ..LinkForm::default()
    }
}

fn rendered(page: &impl Template) -> String {
    let html = check::rendered(page);
    assert!(!html.contains("SECRET-HASH"), "a page shows a password hash");
    html
}

#[test]
fn making_a_link() {
    let (form, errors) =
        (LinkForm::empty(&OsRandom, HOSTILE_INPUT.to_owned()), FormErrors::default());
    let page = |form, errors, visitor| {
        let (prefix, is_owned) = ("go.example/", true);
        let offers_setup = visitor == Visitor::MustSignIn;
        rendered(&CreatePage { form, errors, prefix, visitor, is_owned, offers_setup })
    };
    let html = page(&form, &errors, Visitor::MustSignIn);
    let key = "each link comes with a key";
    assert!(page(&form, &errors, Visitor::Anonymous).contains(key));
    assert!(!page(&form, &errors, Visitor::HasSession).contains(key));
    assert!(html.contains("&#60;script&#62;") && !html.contains("<details class=\"more\" open>"));
    let form = evil_form();
    let errors = form.to_new().unwrap_err();
    let html = page(&form, &errors, Visitor::Anonymous);
    assert!(
        html.contains("aria-invalid=\"true\"")
            && html.contains("id=\"short-error\"")
            && html.contains("<details class=\"more\" open>")
    );
}

#[test]
fn managing_a_link() {
    let link = Link { owner: None, ..longest() };
    let (whole, good) = (LinkForm::of(&link, &OsRandom), FormErrors::default());
    let evil = evil_form();
    let bad = evil.to_edit(&link).unwrap_err();
    for (form, errors, may_edit) in
        [(&whole, &good, true), (&evil, &bad, true), (&whole, &good, false)]
    {
        rendered(&ManagePage {
            link: &link,
            url: &url(&link),
            qr: &code(&link),
            state: link.state(now()).0,
            clicks: u64::MAX,
            manage_key: may_edit.then_some("manage_x"),
            notice: Some("Saved."),
            may_edit,
            form,
            errors,
        });
    }
    let owned = longest();
    let html = rendered(&ManagePage {
        link: &owned,
        url: &url(&owned),
        qr: &code(&owned),
        state: owned.state(now()).0,
        clicks: u64::MAX,
        manage_key: None,
        notice: None,
        may_edit: true,
        form: &whole,
        errors: &good,
    });
    assert!(!html.contains("manage_key"), "a link with an owner has no manage key");
    rendered(&OpenPage { url: &url(&link), wrong: Some(HOSTILE_INPUT) });
    rendered(&DeletedPage { url: &url(&link), reserved_days: 30 });
}

#[test]
fn an_untouched_edit_form_changes_nothing() {
    let link = longest();
    let edit = LinkForm::of(&link, &OsRandom).to_edit(&link).unwrap();
    assert!(
        edit.target.is_none()
            && edit.expires_at.is_none()
            && edit.click_limit.is_none()
            && edit.password.is_none()
            && !edit.new_manage_key
    );
    assert_eq!((edit.redirect, edit.tags), (Some(link.redirect), Some(link.tags)));
}

#[test]
fn statistics() {
    let link = longest();
    let share = |n: usize| Share {
        key: format!("{n}.{}", "h".repeat(250)),
        clicks: u64::MAX,
        percent: 100,
    };
    let shares: Vec<Share> = (0..22)
        .map(share)
        .chain([Share { key: HOSTILE_INPUT.to_owned(), clicks: 1, percent: 1 }])
        .collect();
    let lines = [ClickLine { key: "2026-01-31".to_owned(), clicks: 1_000_000_000_000 }];
    let created_at: Timestamp = "2025-12-01T00:00:00Z".parse().unwrap();
    for ((period, ..), slots) in Period::ALL.into_iter().zip([24, 7, 30, 62]) {
        let (step, since) = chart::span(period, created_at, now());
        let chart = chart::over_time(&lines, step, &since, &now());
        let url = url(&link);
        let page = StatsPage {
            url: &url,
            total: u64::MAX,
            bots: u64::MAX,
            period,
            chart: &chart,
            referrers: &shares,
            devices: &shares,
        };
        assert_eq!(rendered(&page).matches("class=\"slot\"").count(), slots);
        rendered(&StatsPage { devices: &[], total: 0, ..page });
        rendered(&StatsPage { referrers: &[], devices: &[], total: 0, bots: 0, ..page });
    }
}

#[test]
fn list_of_own_links() {
    let link = Arc::new(longest());
    let rows: Vec<Row> = (0..20)
        .map(|_| Row {
            url: url(&link),
            link: Arc::clone(&link),
            state: LinkState::Exhausted,
            clicks: u64::MAX,
        })
        .collect();
    let filter = Filter {
        search: HOSTILE_INPUT.to_owned(),
        tag: HOSTILE_INPUT.to_owned(),
        ..Filter::default()
    };
    let older = Some(filter.with_tag(HOSTILE_INPUT));
    let whose = PageCaller::Key(ApiKey {
        id: KeyId(1),
        name: HOSTILE_INPUT.to_owned(),
        created_at: now(),
        revoked_at: None,
    });
    let page =
        ListPage { whose: &whose, rows: &rows, filter: &filter, paged: true, older, refused: None };
    check::rendered_within(&page, LIST_BYTES_MAX);
    for (filter, paged) in
        [(&filter, false), (&Filter::default(), true), (&Filter::default(), false)]
    {
        let html =
            rendered(&ListPage { rows: &[], filter, paged, older: None, refused: None, ..page });
        assert!(html.contains("<div class=\"empty\"><p>No "), "{html}");
    }
}

#[test]
fn what_visitors_see() {
    let link = longest();
    let open = previewed(&link, Some(&link), true);
    assert!(open.contains("<strong>a.example</strong>"), "the host stands out");
    let closed = previewed(&link, None, true);
    assert!(!closed.contains("a.example/"), "a protected link's target is not shown");
    let asked =
        rendered(&PasswordPage { short: &link.short, wrong: Some(HOSTILE_INPUT.to_owned()) });
    assert!(!asked.contains("a.example"));
    rendered(&PrintPage { url: &url(&link), short: &link.short, qr: &code(&link) });
}

/// The preview of a link, with the target of `open`, if given.
fn previewed(link: &Link, open: Option<&Link>, may_manage: bool) -> String {
    let (url, qr) = (&url(link), &code(link));
    rendered(&PreviewPage { url, link: open, short: &link.short, qr, may_manage })
}

#[test]
fn the_preview_highlights_the_host_that_the_browser_connects_to() {
    let target = |text: &str| Link { target: Target::parse(text).unwrap(), ..longest() };
    for (text, host) in [
        ("https://bank.example@evil.example/x", "evil.example"),
        ("http://t/t", "t"),
        ("https://[::1]:80/@a.b", "[::1]"),
    ] {
        let link = target(text);
        let html = previewed(&link, Some(&link), false);
        assert!(html.contains(&format!("<strong>{host}</strong>")), "{text}");
    }
}
