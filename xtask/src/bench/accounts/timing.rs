//! Whether the time of a sign-in reveals the place of a name in the table, or the kind of account.

use std::time::Instant;

use anyhow::{Context, Result, ensure};
use lodge_load::{SEED_PASSWORD, seeded_name};
use rand::seq::SliceRandom;
use serde_json::json;

use super::Measured;
use crate::{
    bench::{
        figures::{Runs, table},
        lodge::Lodge,
    },
    http::Http,
};

/// A wrong password for every account.
const WRONG: &str = "not the password of any account";

/// Maximum difference between kinds, even if the noise is larger, in ms.
const APART_MS: f64 = 0.3;

/// Tries of one name: fewer than the failed sign-ins after which it is blocked.
const TRIES: u64 = 80;

/// A kind of sign-in: names, the password, and the expected status.
struct Kind {
    what: &'static str,
    names: Vec<String>,
    password: &'static str,
    status: u16,
}

/// Sends a name and a password; returns the status after the complete answer.
fn post(lodge: &Lodge, http: &Http, path: &str, username: &str, password: &str) -> Result<u16> {
    let body = json!({ "username": username, "password": password });
    let answer = http.send_with("POST", lodge.address(), path, &[], Some(&body));
    Ok(answer.with_context(|| format!("no answer to {username} at {path}"))?.status)
}

/// Signs in with every kind in random order on one connection, repeatedly; returns the times of each kind in
/// ms.
fn interleaved(lodge: &Lodge, kinds: &[Kind], tries: u64) -> Result<Vec<Runs>> {
    let http = Http::keep_alive();
    // Connects before the first measurement.
    http.send("GET", lodge.address(), "/login").context("no answer")?;
    let mut times = vec![Runs::default(); kinds.len()];
    let mut order: Vec<usize> = (0..kinds.len()).collect();
    for number in 0..usize::try_from(tries)? {
        order.shuffle(&mut rand::rng());
        for &kind in &order {
            let Kind { what, names, password, status } = &kinds[kind];
            let began = Instant::now();
            let name = &names[number % names.len()];
            let answered = post(lodge, &http, "/api/session", name, password)?;
            times[kind].0.push(began.elapsed().as_secs_f64() * 1e3);
            ensure!(answered == *status, "{what}: {answered}");
        }
    }
    Ok(times)
}

/// The first, the middle and the last account, and an unknown name; then names whose index page was not read
/// just before.
pub(super) fn lookups(measured: &Measured<'_>) -> Result<()> {
    let lodge = measured.start()?;
    let tries = TRIES.min(measured.names);
    let (first, middle, last) = (0, measured.users / 2, measured.users - 1);
    let places = [("the first", first), ("the middle", middle), ("the last", last)];
    let known = |password, status| {
        places.map(|(what, at)| Kind { what, names: vec![seeded_name(at)], password, status })
    };
    let others = [
        ("an unknown name", vec![seeded_name(measured.users)]),
        ("another account each time", (middle + 1..=middle + tries).map(seeded_name).collect()),
        ("another unknown name each time", unknown(measured)),
    ];
    let others = others.map(|(what, names)| Kind { what, names, password: WRONG, status: 401 });
    let wrong: Vec<Kind> = known(WRONG, 401).into_iter().chain(others).collect();
    let right = known(SEED_PASSWORD, 200);
    let wrong_ms = interleaved(&lodge, &wrong, tries)?;
    let right_ms = interleaved(&lodge, &right, tries)?;
    table([
        &format!("sign-in among {}, medians of {tries}", measured.users),
        "wrong password, ms",
        "right password, ms",
    ]);
    for (place, kind) in wrong.iter().enumerate() {
        let right = right_ms.get(place).map_or("–".to_owned(), |ms| format!("{ms:.3}"));
        println!("| {} | {:.3} | {right} |", kind.what, wrong_ms[place]);
    }
    // Names whose index page was read just before, and then the others.
    let of_one_kind = |kinds: &[Runs]| apart(&kinds.iter().map(Runs::median).collect()) < APART_MS;
    measured.common.bar(
        "the time of a sign-in is independent of the place of its name",
        of_one_kind(&wrong_ms[..4]) && of_one_kind(&wrong_ms[4..]) && of_one_kind(&right_ms),
    )
}

/// Known and unknown names, banned accounts, and accounts without a password.
pub(super) fn kinds(measured: &Measured<'_>) -> Result<()> {
    let lodge = measured.start()?;
    let numbers = 0..measured.names;
    let kinds = [
        ("a known name, a wrong password", numbers.map(seeded_name).collect()),
        ("an unknown name", unknown(measured)),
        ("a banned account", banned(measured, &lodge)?),
        ("an account without a password", without_password(measured, &lodge)?),
    ]
    .map(|(what, names)| Kind { what, names, password: WRONG, status: 401 });
    let first = interleaved(&lodge, &kinds, measured.names)?;
    let second = interleaved(&lodge, &kinds, measured.names)?;
    let what = format!("{} sign-ins over as many names, in ms", measured.names);
    table([&what, "median", "median of another run", "difference", "p90 of both"]);
    let (mut noise, mut medians) = (0.0_f64, Runs::default());
    for (place, kind) in kinds.iter().enumerate() {
        let (one, other) = (first[place].median(), second[place].median());
        let both = Runs([&first[place].0[..], &second[place].0].concat());
        let (apart, p90) = ((one - other).abs(), p90(&both.0));
        println!("| {} | {one:.3} | {other:.3} | {apart:.3} | {p90:.3} |", kind.what);
        noise = noise.max(apart);
        medians.0.push(both.median());
    }
    let apart = apart(&medians);
    println!(
        "kinds differ by {apart:.3} ms (medians of both runs together), two runs of one kind by up to {noise:.3} ms (bar: the first less than the second, and less than {APART_MS})"
    );
    measured.common.bar("the time of a sign-in reveals nothing", apart < noise.min(APART_MS))
}

/// The difference between maximum and minimum.
fn apart(values: &Runs) -> f64 {
    let (least, most) = values.range();
    most - least
}

/// The 90th percentile of at least one value.
fn p90(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    sorted[(sorted.len() * 9).div_ceil(10) - 1]
}

/// Names without an account.
fn unknown(measured: &Measured<'_>) -> Vec<String> {
    (measured.users..measured.users + measured.names).map(seeded_name).collect()
}

/// Banned accounts with a password, created the first time.
fn banned(measured: &Measured<'_>, lodge: &Lodge) -> Result<Vec<String>> {
    let http = Http::new();
    let names: Vec<String> = (0..measured.names).map(|number| format!("banned-{number}")).collect();
    for name in &names {
        let status = post(lodge, &http, "/api/accounts", name, SEED_PASSWORD)?;
        ensure!(matches!(status, 201 | 409), "{name} was not created: {status}");
        lodge.admin(&format!("user ban {name}"))?;
    }
    Ok(names)
}

/// Accounts without a password, created the first time.
fn without_password(measured: &Measured<'_>, lodge: &Lodge) -> Result<Vec<String>> {
    let names: Vec<String> =
        (0..measured.names).map(|number| format!("provided-{number}")).collect();
    lodge.write("provided.csv", &format!("username\n{}\n", names.join("\n")))?;
    lodge.admin("user import provided.csv")?;
    Ok(names)
}
