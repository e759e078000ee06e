//! Lists of links.

use std::{collections::BTreeSet, sync::Arc};

use lodge_domain::links::{Link, LinkId, LinkQuery, LinkStore, Owner, Tags};

use crate::{
    Fixture,
    samples::{RESERVED, all_pages, at, change, chosen, create, fresh, fresh_owner, link, target},
};

fn all_of(owner: Owner) -> LinkQuery {
    LinkQuery { owner, after: None, tag: None, prefix: None, search: None, limit: 1_000 }
}

async fn shorts(store: &dyn LinkStore, query: LinkQuery) -> Vec<String> {
    store.list(query).await.unwrap().iter().map(|link| link.short.to_string()).collect()
}

/// No link that existed when the reader started is left out or comes twice.
pub async fn a_list_is_paged_newest_first_while_links_are_added(fixture: &Fixture) {
    let owner = fresh_owner();
    let another = || Link { owner: Some(owner), ..link(&fresh("paged")) };
    let mut expected: Vec<LinkId> = Vec::new();
    for _ in 0..25 {
        expected.push(create(&*fixture.links, another()).await.id);
    }
    expected.reverse();
    let mut seen: Vec<LinkId> = Vec::new();
    loop {
        let query = LinkQuery { after: seen.last().copied(), limit: 4, ..all_of(owner) };
        let page = fixture.links.list(query).await.unwrap();
        assert!(page.len() <= 4);
        if page.is_empty() {
            break;
        }
        seen.extend(page.iter().map(|link| link.id));
        create(&*fixture.links, another()).await;
    }
    assert_eq!(seen, expected);
}

/// Links of other owners and anonymous links are left out.
pub async fn a_list_contains_only_links_of_its_owner(fixture: &Fixture) {
    let (mine, yours) = (fresh_owner(), fresh_owner());
    let of = |owner, name| Link { owner: Some(owner), ..link(&fresh(name)) };
    let link_of_mine = create(&*fixture.links, of(mine, "mine")).await;
    create(&*fixture.links, of(yours, "yours")).await;
    create(&*fixture.links, link(&fresh("anonymous"))).await;
    assert_eq!(fixture.links.list(all_of(mine)).await.unwrap(), [Arc::new(link_of_mine)]);
    assert_eq!(fixture.links.list(all_of(fresh_owner())).await.unwrap(), []);
}

/// By tag, prefix and words, and by their combination, page by page.
pub async fn a_list_can_be_filtered(fixture: &Fixture) {
    let store = &*fixture.links;
    let (owner, other) = (fresh_owner(), fresh_owner());
    let make = async |owner, prefix: &str, url: &str, tags: &[&str]| {
        let tags = Tags::parse(tags.iter().copied()).unwrap();
        let made = Link { owner: Some(owner), target: target(url), tags, ..link(&fresh(prefix)) };
        create(store, made).await.short.to_string()
    };
    let lift = make(owner, "Lift", "https://skiing.example/lifts/7", &["qr", "winter"]).await;
    let hut = make(owner, "hut", "https://food.example/menu", &["winter"]).await;
    let pass = make(owner, "lift-pass", "https://SKIING.example/pass", &["qr"]).await;
    let (lift, hut, pass) = (lift.as_str(), hut.as_str(), pass.as_str());
    make(other, "lift", "https://skiing.example/lifts/7", &["qr", "winter"]).await;

    let tagged = |tag: &str| LinkQuery { tag: Some(tag.to_owned()), ..all_of(owner) };
    assert_eq!(shorts(store, tagged("winter")).await, [hut, lift]);
    assert_eq!(shorts(store, tagged("qr")).await, [pass, lift]);
    assert_eq!(shorts(store, tagged("Q")).await, [""; 0]);
    let starting = |prefix: &str| LinkQuery { prefix: Some(prefix.to_owned()), ..all_of(owner) };
    assert_eq!(shorts(store, starting("li")).await, [pass]);
    assert_eq!(shorts(store, starting("Lift")).await, [lift]);
    assert_eq!(shorts(store, starting("")).await.len(), 3);
    assert_eq!(shorts(store, starting("ü%")).await, [""; 0]);
    let both = LinkQuery { prefix: Some("L".to_owned()), ..tagged("winter") };
    assert_eq!(shorts(store, both).await, [lift]);
    let first = LinkQuery { limit: 1, ..tagged("winter") };
    let page = store.list(first.clone()).await.unwrap();
    assert_eq!(page[0].short.as_str(), hut);
    assert_eq!(shorts(store, LinkQuery { after: Some(page[0].id), ..first }).await, [lift]);

    if fixture.can_search {
        let with = |words: &str| LinkQuery { search: Some(words.to_owned()), ..all_of(owner) };
        assert_eq!(shorts(store, with("skiing")).await, [pass, lift]);
        assert_eq!(shorts(store, with("LIFT")).await, [pass, lift]);
        assert_eq!(shorts(store, with("  food   menu ")).await, [hut]);
        assert_eq!(shorts(store, with("food pass")).await, [""; 0]);
        assert_eq!(shorts(store, with("/7")).await, [lift]);
        assert_eq!(shorts(store, with("ski /p")).await, [pass]);
        assert_eq!(shorts(store, with(" ")).await.len(), 3);
        assert_eq!(shorts(store, with("WINTER")).await, [hut, lift], "a tag");
        assert_eq!(shorts(store, with("skiing winte")).await, [lift]);
        assert_eq!(shorts(store, with("food qr")).await, [""; 0]);
        let all = LinkQuery {
            tag: Some("qr".to_owned()),
            prefix: Some("L".to_owned()),
            ..with("skiing li")
        };
        assert_eq!(shorts(store, all).await, [lift]);
    }
}

/// Former tags and targets do not match.
pub async fn a_list_follows_changes(fixture: &Fixture) {
    let store = &*fixture.links;
    let owner = fresh_owner();
    let tagged = |tag: &str| LinkQuery { tag: Some(tag.to_owned()), ..all_of(owner) };
    let found_by = |words: &str| LinkQuery { search: Some(words.to_owned()), ..all_of(owner) };
    let made =
        Link { owner: Some(owner), tags: Tags::parse(["old"]).unwrap(), ..link(&fresh("listed")) };
    let first = create(store, made).await;
    let short = first.short.as_str();
    let second = change(store, &first, |link| {
        link.tags = Tags::parse(["new"]).unwrap();
        link.target = target("https://renamed.example/");
    })
    .await;
    assert_eq!(shorts(store, tagged("old")).await, [""; 0]);
    assert_eq!(shorts(store, tagged("new")).await, [short]);
    if fixture.can_search {
        assert_eq!(shorts(store, found_by("renamed")).await, [short]);
        assert_eq!(shorts(store, found_by("renamed new")).await, [short]);
        assert_eq!(shorts(store, found_by("renamed old")).await, [""; 0]);
        assert_eq!(shorts(store, found_by("example.com")).await, [""; 0]);
    }
    change(store, &second, |link| link.deleted_at = Some(at(5))).await;
    let searches = [found_by("renamed"), found_by("re")].into_iter().filter(|_| fixture.can_search);
    for query in [all_of(owner), tagged("new")].into_iter().chain(searches) {
        assert_eq!(shorts(store, query).await, [""; 0]);
    }
    let later = at(6 + RESERVED.as_secs());
    let anew =
        Link { owner: Some(owner), created_at: later, changed_at: later, ..link(&first.short) };
    store.claim(vec![chosen(anew)], RESERVED, None).await.unwrap();
    assert_eq!(shorts(store, all_of(owner)).await, [short]);
    assert_eq!(shorts(store, tagged("new")).await, [""; 0]);
}

/// No typed character is an operator.
pub async fn a_search_takes_its_words_literally(fixture: &Fixture) {
    if !fixture.can_search {
        return;
    }
    let owner = fresh_owner();
    let url = "https://example.com/100%25_done?q=a\"b*c(d)&x='y'\\z^NEAR-AND";
    let odd = Link { owner: Some(owner), target: target(url), ..link(&fresh("odd")) };
    let odd = create(&*fixture.links, odd).await;
    create(&*fixture.links, Link { owner: Some(owner), ..link(&fresh("plain")) }).await;
    let found_by = async |words: &str| {
        shorts(&*fixture.links, LinkQuery { search: Some(words.to_owned()), ..all_of(owner) }).await
    };
    for words in ["100%25_", "%2", "b*c(d)", "*c", "NEAR-AND", "(d", "_d", "^N"] {
        assert_eq!(found_by(words).await, [odd.short.to_string()], "{words}");
    }
    for words in [
        "\"",
        "\"\"\"",
        "AND",
        "a OR b",
        "short:odd",
        "NOT plain",
        "example*",
        "e%e",
        "e_a",
        "{x}",
        "\u{0}xyz",
        "-x-",
        "日本語",
        "ü",
    ] {
        assert!(found_by(words).await.len() <= 1, "{words}");
    }
    let long = LinkQuery { search: Some("word ".repeat(1_000)), ..all_of(owner) };
    assert!(fixture.links.list(long).await.is_err());
}

/// Each link once, without deleted ones.
pub async fn an_export_pages_through_every_link(fixture: &Fixture) {
    let mut expected = BTreeSet::new();
    for number in 0..23 {
        let made =
            create(&*fixture.links, link(&fresh(["export", "Export", "~x"][number % 3]))).await;
        if number % 5 == 0 {
            change(&*fixture.links, &made, |link| link.deleted_at = Some(at(1))).await;
        } else {
            expected.insert(made.short);
        }
    }
    let page = async |after| fixture.links.page(after, 5).await.unwrap();
    let all = all_pages(5, page, |link| link.short.clone()).await;
    let shorts: BTreeSet<_> = all.iter().map(|link| &link.short).collect();
    assert_eq!(shorts.len(), all.len(), "a link came twice");
    let is_ours = |link: &&Arc<Link>| expected.contains(&link.short) || link.deleted_at.is_some();
    let seen: BTreeSet<_> = all.iter().filter(is_ours).map(|link| link.short.clone()).collect();
    assert_eq!(seen, expected);
}
