use super::figures::{Spread, decimal, thousands};
use super::published::published;

#[test]
fn the_spread_over_runs_is_the_sample_deviation() {
    let spread = Spread::of(&[2.0, 4.0, 4.0, 4.0, 5.0, 5.0, 7.0, 9.0]);
    assert!(
        (spread.mean - 5.0).abs() < 1e-12 && (spread.sd - (32.0_f64 / 7.0).sqrt()).abs() < 1e-12
    );
    assert_eq!(Spread::of(&[3.0]), Spread { mean: 3.0, sd: 0.0 });
    assert_eq!(Spread::of(&[]), Spread { mean: 0.0, sd: 0.0 });
}

#[test]
fn figures_have_thousands_separators() {
    assert_eq!([0, 999, 1000, 1_234_567].map(thousands), ["0", "999", "1,000", "1,234,567"]);
    assert_eq!([0.0, 999.96, 41_234.56].map(decimal), ["0.0", "1,000.0", "41,234.6"]);
}

/// Rates, with mean, p99 and maximum where they were recorded.
#[test]
fn every_published_figure_is_present_with_its_source() {
    type Row<'a> = (&'a str, Option<f64>, Option<f64>, Option<f64>);
    let assert_rows = |app: &str, expected: &[Row<'_>]| {
        let known = published(app);
        assert!(known.iter().all(|run| !run.system.is_empty() && !run.source.is_empty()));
        let rows = known.iter().map(|run| (&*run.rate, run.mean_ms, run.p99_ms, run.max_ms));
        assert_eq!(rows.collect::<Vec<Row<'_>>>(), expected);
    };
    let links: [Row<'_>; 9] = [
        ("7,268.39", Some(45.54), None, Some(406.31)),
        ("1,762.12", Some(145.93), None, Some(656.66)),
        ("6,000 to 8,000", None, None, None),
        ("1,500 to 2,500", None, None, None),
        ("706.69", Some(141.5), None, None),
        ("not stated", None, None, None),
        ("462.54", Some(21.6), Some(69.0), Some(106.0)),
        ("730; 560", None, None, None),
        ("500; 330", None, None, None),
    ];
    assert_rows("links", &links);
    let rides: [Row<'_>; 12] = [
        ("4,680.42", Some(8.87), Some(24.0), None),
        ("5,033.03", Some(7.22), Some(24.0), None),
        ("3,495.17", Some(17.50), Some(25.0), Some(1011.0)),
        ("4,734.08", Some(8.81), Some(24.0), None),
        ("4,681.10", Some(8.78), Some(24.0), Some(307.0)),
        ("4,963.93", Some(7.18), Some(20.0), None),
        ("", Some(37.81), None, None),
        ("", Some(57.12), None, None),
        ("", Some(22.44), None, None),
        ("", Some(36.59), None, None),
        ("10,970", None, None, None),
        ("3,724", None, Some(144.0), None),
    ];
    assert_rows("rides", &rides);
    let board = [Some(23_430.0), Some(2_600.0), None, None].map(|mean| ("", mean, None, None));
    assert_rows("board", &board);
}

/// The colours of the report are those of the site.
#[test]
fn a_report_has_the_colours_of_the_site() {
    let site = include_str!("../../../web/assets/lodge.css");
    let style = include_str!("../../templates/style.css");
    let is_colour = |part: &&str| part.starts_with("--") && part.contains(": #");
    let own = style.split([';', '{']).map(str::trim).filter(is_colour);
    let own: Vec<&str> = own.filter(|part| !part.starts_with("--line-")).collect();
    let of_site: Vec<&str> = site.split([';', '{']).map(str::trim).filter(is_colour).collect();
    assert!(own.len() > 20, "{own:?}");
    for colour in own {
        assert!(of_site.contains(&colour), "{colour} is not a colour of the site");
    }
}
