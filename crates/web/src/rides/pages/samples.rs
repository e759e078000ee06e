//! Renders every page with its longest content: well-formed, and with all names and typed text escaped.

use lodge_domain::{
    accounts::AccountId,
    pictures::PictureId,
    rides::{
        AllResortsDay, Breakdown, Day, DayTally, Hour, HourTally, LeaderProfile, LiftId, LiftTally,
        Ranges, Resort, ResortCatalog, ResortId, Season, SeasonVertical, SkierDay, SkierId,
        SkierView, Span, Tally, VerticalUnit,
    },
};

use super::{
    all_resorts::{AllResortsPage, ShownDay},
    bars,
    leaderboard::{LeaderForm, LeaderboardPage},
    leaders::LeaderRow,
    resort::{self, ResortPage},
    skier::{self, FindPage, SkierPage},
};
use crate::pages::{
    check::{BYTES_MAX, HOSTILE_INPUT, rendered, rendered_within},
    errors::FormErrors,
};

/// The limit of pages of a season with rides on every day, which have a chart and a link for each day.
const LONGEST_BYTES_MAX: usize = 75_000;

const SEASON: Season = Season(9999);
const MANY: Tally = Tally { rides: 1_234_567_890, vertical: 1_234_567_890_123 };
const TOTAL: DayTally = DayTally { tally: MANY, skiers: 100_000 };

/// Ten resorts of forty lifts, all with names.
fn longest() -> ResortCatalog {
    let resort = |number| {
        let mut resort = Resort::with_numbered_lifts(HOSTILE_INPUT.to_owned(), 1..=40);
        resort.lifts.values_mut().for_each(|lift| lift.name = Some(HOSTILE_INPUT.to_owned()));
        (ResortId(number), resort)
    };
    let ranges =
        Ranges { seasons: 1..=9999, days: 1..=366, minutes: 1..=1440, skiers: 1..=100_000 };
    ResortCatalog::new((1..=10).map(resort).collect(), ranges)
}

fn breakdown() -> Breakdown {
    Breakdown {
        lifts: (1..=40).map(|lift| LiftTally { lift: LiftId(lift), tally: MANY }).collect(),
        hours: (0..24).map(|hour| HourTally { hour: Hour(hour), tally: MANY }).collect(),
    }
}

/// Leaders, of whom some have a nickname and a picture; the second is the viewer.
fn leaders(count: u32) -> Vec<LeaderRow> {
    let profile = |skier: u32| LeaderProfile {
        account: AccountId(1),
        username: "ada".to_owned(),
        nickname: HOSTILE_INPUT.to_owned(),
        picture: (skier.is_multiple_of(4)).then(|| PictureId::stored([7; 32])),
        since: "2026-01-31T12:00:00Z".parse().unwrap(),
    };
    let row = |skier: u32| LeaderRow {
        skier: SkierId(skier),
        vertical: u64::MAX,
        profile: skier.is_multiple_of(2).then(|| profile(skier)),
        is_viewer: skier == 2,
    };
    (1..=count).map(row).collect()
}

fn wrong(field: &'static str) -> FormErrors {
    FormErrors::about(field, HOSTILE_INPUT)
}

#[test]
fn all_resorts() {
    let catalog = longest();
    // Includes a resort that is no longer configured.
    let numbers = (1..=11).map(ResortId);
    let most = |resort| (resort, LiftTally { lift: LiftId(40), tally: MANY });
    let mut shown = AllResortsDay {
        season: SEASON,
        day: Day(366),
        newest: (SEASON, Day(366)),
        days: (1..=366).map(|day| (Day(day), MANY)).collect(),
        seasons: (1..=50).map(Season).chain([SEASON]).collect(),
        total: TOTAL,
        season_total: TOTAL,
        resorts: numbers.clone().map(|resort| (resort, TOTAL)).collect(),
        lifts: numbers.skip(1).map(most).collect(),
    };
    let good = FormErrors::default();
    let page = |shown: Option<&AllResortsDay>, has_passes| {
        let shown = shown.cloned().map(ShownDay::of);
        let page = AllResortsPage {
            catalog: &catalog,
            shown: shown.as_ref(),
            example: HOSTILE_INPUT,
            keys_required: has_passes,
            offers_setup: has_passes,
            typed: HOSTILE_INPUT,
            errors: &good,
            has_passes,
        };
        rendered_within(&page, LONGEST_BYTES_MAX)
    };
    let newest = page(Some(&shown), true);
    let live = "id=\"totals\" data-fresh data-live=\"9999-366\"";
    assert!(newest.contains(live) && newest.contains("data-lost hidden"), "{newest}");
    assert!(newest.contains("aria-live=\"polite\" aria-atomic=\"true\" hidden>"), "{newest}");
    assert!(newest.contains("/assets/rides.js?") && newest.contains("1,234,567,890,123"));
    assert!(newest.contains("Season: 1,234,567,890,123\u{a0}m</dd>"), "{newest}");
    assert!(newest.contains("Rides by week in season 9999</h2>"), "{newest}");
    assert!(!newest.contains("without rides"), "{newest}");
    assert!(newest.contains("day=366\">Resort 11</a></th>"), "named by its number: {newest}");
    assert!(newest.contains("href=\"?season=9999&amp;day=366\" aria-current=\"page\">366</a>"));
    assert!(newest.contains("href=\"?season=50\">50</a>"), "{newest}");
    assert!(newest.contains("href=\"?season=9999\" aria-current=\"page\">9999</a>"), "{newest}");
    let back = "<a href=\"/rides\">Latest day</a>";
    assert!(!newest.contains(back), "{newest}");
    assert!(newest.contains("href=\"/rides/passes\""), "{newest}");
    for (_, total) in &mut shown.resorts[..9] {
        *total = DayTally::default();
    }
    let quiet = page(Some(&shown), true);
    let (ridden, idle) = quiet.split_once("<summary>9 resorts without rides</summary>").unwrap();
    assert!(ridden.contains("data-resort=\"10\"") && !ridden.contains("data-resort=\"9\""));
    assert!(idle.contains("href=\"/rides/resorts/9?season=9999\""), "{idle}");
    shown.newest = (SEASON, Day(367));
    let older = page(Some(&shown), false);
    assert!(!older.contains("rides.js") && !older.contains("aria-live"), "it does not change");
    assert!(!older.contains("/rides/passes"), "there are no passes: {older}");
    assert!(older.contains(back), "{older}");
    shown.seasons = vec![SEASON];
    assert!(!page(Some(&shown), false).contains("Seasons</h2>"), "a single season is not listed");
    let empty = page(None, false);
    assert!(empty.contains("No rides yet.") && empty.contains("rides.js"), "{empty}");
    assert!(empty.contains("lodge admin gate create") && empty.contains("href=\"/api/docs#"));
    assert!(empty.contains("or without one") && !empty.contains("in place of"), "{empty}");
    assert!(page(None, true).contains("in place of <code>KEY</code>"), "a key is required");
}

#[test]
fn a_resort() {
    let catalog = longest();
    let (id, resort) = catalog.resort(10).unwrap();
    let shown = |total, days| resort::ShownDay {
        season: SEASON,
        day: Day(200),
        total,
        hours: bars::by_hour(&breakdown()),
        lifts: bars::by_lift(&breakdown(), resort),
        leaders: leaders(10),
        days,
    };
    let seasons = [Season(9998), SEASON];
    let unit = VerticalUnit::Feet;
    let page = |shown: Option<&resort::ShownDay>, seasons, bytes_max| {
        let page = ResortPage { id, resort, unit, is_known: true, seasons, shown };
        rendered_within(&page, bytes_max)
    };
    let whole = shown(TOTAL, (1..=366).map(Day).collect());
    let html = page(Some(&whole), &seasons[..], LONGEST_BYTES_MAX);
    assert_eq!(html.matches("role=\"img\"").count(), 2);
    assert!(html.contains(">Full leaderboard</a>"), "{html}");
    assert!(html.contains("Vertical (ft)</th>") && !html.contains("rides.js"), "{html}");
    let seasons = &seasons[..];
    let gone = ResortPage { id, resort, unit, is_known: false, seasons, shown: Some(&whole) };
    let gone = rendered_within(&gone, LONGEST_BYTES_MAX);
    assert!(!gone.contains("/rides/leaderboard"), "it has no leaderboard page: {gone}");
    assert_eq!(html.matches("aria-current=\"page\"").count(), 2, "the day and the season");
    let last = page(Some(&shown(TOTAL, vec![Day(199), Day(200)])), seasons, LONGEST_BYTES_MAX);
    assert!(last.contains("data-live=\"9999-200\" data-of=\"10\""), "live: {last}");
    assert!(last.contains("rides.js") && last.contains("<a href=\"/rides/resorts/10\">A new day"));
    let nothing = page(Some(&shown(DayTally::default(), vec![])), seasons, BYTES_MAX);
    assert!(nothing.contains("No rides here on this day.") && !nothing.contains("role=\"img\""));
    assert!(page(None, seasons, BYTES_MAX).contains("No rides here in this season."));
    assert!(page(None, &[], BYTES_MAX).contains("No rides here yet."));
}

#[test]
fn leaders_of_a_season_or_a_day() {
    let catalog = longest();
    let typed = || HOSTILE_INPUT.to_owned();
    let form = LeaderForm { resort: typed(), season: typed(), day: typed() };
    let page = |errors: &FormErrors, span, leaders: &[LeaderRow]| {
        let catalog = &catalog;
        rendered(&LeaderboardPage { catalog, form: &form, errors, span, leaders })
    };
    let good = FormErrors::default();
    let span = Span { season: SEASON, resort: ResortId(1), day: Some(Day(366)) };
    let html = page(&good, Some(span), &leaders(100));
    assert!(html.contains("href=\"/rides/skiers/99?season=9999\">Skier 99</a></th>"), "{html}");
    assert!(html.contains("<bdi>&#34;&#62;&#60;script&#62;"), "a nickname: {html}");
    assert!(html.contains("<span class=\"soft\">Skier 100</span></a></th>"), "{html}");
    assert_eq!(html.matches("<img class=\"face\" src=\"/-/pictures/0707").count(), 25);
    assert_eq!(html.matches("<tr class=\"me\"><td>2</td>").count(), 1, "{html}");
    assert_eq!(html.matches("<span class=\"mark\">You</span>").count(), 1, "{html}");
    assert!(page(&good, Some(span), &[]).contains("No rides in this period."));
    assert!(page(&good, None, &[]).contains("No rides at this resort yet."));
    for field in ["resort", "season", "day"] {
        let html = page(&wrong(field), None, &[]);
        assert!(html.contains(&format!("id=\"{field}-error\"")), "{html}");
        assert!(!html.contains("No rides"), "{html}");
    }
}

#[test]
fn a_skier() {
    let catalog = longest();
    let season = |count| {
        let day = |number: u16| SkierDay {
            resort: ResortId(1 + number % 11),
            day: Day(1 + number / 10),
            tally: MANY,
        };
        let days = (0..count).map(day).collect();
        let ranks = vec![(ResortId(1), 1), (ResortId(10), 100)];
        let view = SkierView { season: SEASON, days, ranks };
        skier::ShownSeason::of(view, VerticalUnit::Metres)
    };
    let seasons: Vec<_> =
        (1..=50).map(|year| SeasonVertical { season: Season(year), vertical: u64::MAX }).collect();
    let page = |shown: Option<&skier::ShownSeason>, seasons: &[SeasonVertical]| {
        let catalog = &catalog;
        let (skier, is_viewer) = (SkierId(100_000), seasons.len() > 1);
        let page = SkierPage { catalog, skier, is_viewer, seasons, shown };
        rendered_within(&page, LONGEST_BYTES_MAX)
    };
    let longest = season(3660);
    assert_eq!((longest.days, longest.rows.len(), longest.more), (366, 50, 3610));
    assert_eq!(longest.rows[0].day, Day(366), "the newest first");
    let html = page(Some(&longest), &seasons[..]);
    assert!(html.contains("<meta name=\"robots\" content=\"noindex\">"), "{html}");
    assert!(html.contains("\">Resort 11</a></th>"), "named by its number: {html}");
    assert!(html.contains("Vertical by week") && html.contains("3610 older days"), "{html}");
    let short = page(Some(&season(1)), &seasons[..1]);
    assert!(short.contains("Vertical by day") && !short.contains("older"), "{short}");
    assert!(html.contains("<span class=\"mark\">You</span></h1>"), "{html}");
    assert!(html.contains("<strong>100</strong> at <a href=\"/rides/leaderboard?resort=10&amp;"));
    assert!(!short.contains(">You<"), "the pass of another account: {short}");
    assert!(page(None, &seasons[..]).contains("no rides in that season"));
    assert!(page(None, &[]).contains("has no rides yet"));
}

#[test]
fn finding_a_skier() {
    for errors in [FormErrors::default(), wrong("skier")] {
        let html = rendered(&FindPage { typed: HOSTILE_INPUT, errors: &errors });
        assert_eq!(html.contains("id=\"skier-error\""), !errors.is_empty());
    }
}
