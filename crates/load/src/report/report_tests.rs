use super::*;

#[test]
fn the_spread_over_runs_is_that_of_a_sample() {
    let spread = Spread::of(&[2.0, 4.0, 4.0, 4.0, 5.0, 5.0, 7.0, 9.0]);
    assert!(
        (spread.mean - 5.0).abs() < 1e-12 && (spread.sd - (32.0_f64 / 7.0).sqrt()).abs() < 1e-12
    );
    assert_eq!(Spread::of(&[3.0]), Spread { mean: 3.0, sd: 0.0 });
    assert_eq!(Spread::of(&[]), Spread { mean: 0.0, sd: 0.0 });
}

#[test]
fn figures_are_written_as_people_read_them() {
    assert_eq!([0, 999, 1000, 1_234_567].map(thousands), ["0", "999", "1,000", "1,234,567"]);
    assert_eq!([0.0, 999.96, 41_234.56].map(decimal), ["0.0", "1,000.0", "41,234.6"]);
}

#[test]
fn several_runs_make_one_total() {
    let run = |elapsed_s, successes, found| {
        let mut measured = Measured::new();
        measured.get.succeeded = successes;
        Run {
            measured,
            elapsed: Duration::from_secs(elapsed_s),
            cpu: None,
            interrupted: false,
            verification: Some(Verification { missing: found, ..Verification::default() }),
        }
    };
    let total = together(&[run(1, 10, 0), run(3, 30, 2)]);
    assert_eq!((total.elapsed, total.measured.get.succeeded), (Duration::from_secs(4), 40));
    assert_eq!((total.cpu, total.verification.map(|found| found.clean())), (None, Some(false)));
}

#[test]
fn every_figure_of_the_systems_before_is_there() {
    let rates: Vec<&str> = SEED_RUNS.iter().map(|seed| seed.rate).collect();
    for rate in [
        "7,268.39",
        "1,762.12",
        "6,000 to 8,000",
        "1,500 to 2,500",
        "706.69",
        "462.54",
        "730; 560",
        "500; 330",
    ] {
        assert!(rates.contains(&rate), "{rate}");
    }
}
