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

#[test]
fn every_published_figure_of_rides_is_there() {
    let known = |rate, mean_ms, p99_ms, max_ms| {
        seeds::RIDE_RUNS.iter().any(|run| {
            (run.rate, run.mean_ms, run.p99_ms, run.max_ms) == (rate, mean_ms, p99_ms, max_ms)
        })
    };
    for (rate, mean_ms, p99_ms, max_ms) in [
        ("4,680.42", Some(8.87), Some(24.0), None),
        ("5,033.03", Some(7.22), Some(24.0), None),
        ("3,495.17", Some(17.50), Some(25.0), Some(1011.0)),
        ("4,734.08", Some(8.81), Some(24.0), None),
        ("4,681.10", Some(8.78), Some(24.0), Some(307.0)),
        ("4,963.93", Some(7.18), Some(20.0), None),
        ("10,970", None, None, None),
        ("3,724", None, Some(144.0), None),
    ] {
        assert!(known(rate, mean_ms, p99_ms, max_ms), "{rate}");
    }
    for mean_ms in [37.81, 57.12, 22.44, 36.59] {
        assert!(known("", Some(mean_ms), None, None), "{mean_ms}");
    }
}
