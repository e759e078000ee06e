//! What a sign-in tells by its time: where in the table a name stands, and what kind of account it is.

use std::{fmt::Write as _, fs};

use anyhow::{Result, ensure};
use lodge_load::{SEED_PASSWORD, seeded_name};
use rand::seq::SliceRandom;

use super::{
    AccountsOptions,
    client::Client,
    seeded::{self, Seeded},
    start,
};
use crate::{
    bench::{
        median,
        servers::{self, LODGE, Scratch},
    },
    process,
};

/// Nobody's.
const WRONG: &str = "not the password of anybody";

/// Tries of one name: fewer than the failures after which it is refused.
const TRIES: u64 = 80;

/// Names, and the password that is tried.
struct Kind {
    what: &'static str,
    names: Vec<String>,
    password: &'static str,
    status: u16,
}

/// Sign-ins of every kind in turn, in another order each time, on one connection; the times of each kind,
/// in ms.
fn interleaved(client: &mut Client, kinds: &[Kind], tries: u64) -> Result<Vec<Vec<f64>>> {
    let mut times = vec![Vec::new(); kinds.len()];
    let mut order: Vec<usize> = (0..kinds.len()).collect();
    for number in 0..usize::try_from(tries)? {
        order.shuffle(&mut rand::rng());
        for &kind in &order {
            let Kind { what, names, password, status } = &kinds[kind];
            let (answered, ms) = client.sign_in(&names[number % names.len()], password)?;
            ensure!(answered == *status, "{what}: {answered}");
            times[kind].push(ms);
        }
    }
    Ok(times)
}

/// The first, the middle and the last of all, and nobody.
pub(super) fn lookups(options: &AccountsOptions) -> Result<()> {
    let (seeded, scratch) = (seeded::folder(options)?, Scratch::new()?);
    let _lodge = start(&scratch, &seeded)?;
    let mut client = Client::connect(LODGE)?;
    let places =
        [("the first", 0), ("the middle", options.users / 2), ("the last", options.users - 1)];
    let known = |password, status| {
        places.map(|(what, at)| Kind { what, names: vec![seeded_name(at)], password, status })
    };
    let nobody = Kind { what: "nobody", names: unknown(options), password: WRONG, status: 401 };
    let wrong: Vec<Kind> = known(WRONG, 401).into_iter().chain([nobody]).collect();
    let right = known(SEED_PASSWORD, 200);
    let tries = TRIES.min(options.names);
    let wrong_ms = interleaved(&mut client, &wrong, tries)?;
    let right_ms = interleaved(&mut client, &right, tries)?;
    println!(
        "\n| sign-in among {}, medians of {tries} | wrong password, ms | right password, ms |",
        options.users
    );
    println!("| --- | --- | --- |");
    for (place, kind) in wrong.iter().enumerate() {
        let right = right_ms.get(place).map_or("–".to_owned(), |ms| format!("{:.3}", median(ms)));
        println!("| {} | {:.3} | {right} |", kind.what, median(&wrong_ms[place]));
    }
    Ok(())
}

/// Known and unknown names, banned accounts, and those without a password.
pub(super) fn kinds(options: &AccountsOptions) -> Result<()> {
    let (seeded, scratch) = (seeded::folder(options)?, Scratch::new()?);
    let _lodge = start(&scratch, &seeded)?;
    let mut client = Client::connect(LODGE)?;
    let numbers = 0..options.names;
    let kinds = [
        ("a known name, a wrong password", numbers.map(seeded_name).collect()),
        ("an unknown name", unknown(options)),
        ("a banned account", banned(options, &seeded, &mut client)?),
        ("an account without a password", without_password(options, &seeded, &scratch)?),
    ]
    .map(|(what, names)| Kind { what, names, password: WRONG, status: 401 });
    let first = interleaved(&mut client, &kinds, options.names)?;
    let second = interleaved(&mut client, &kinds, options.names)?;
    println!(
        "\n| {} sign-ins over as many names, median in ms | one run | another | apart |",
        options.names
    );
    println!("| --- | --- | --- | --- |");
    let (mut noise, mut medians) = (0.0_f64, Vec::new());
    for (place, kind) in kinds.iter().enumerate() {
        let (one, other) = (median(&first[place]), median(&second[place]));
        println!("| {} | {one:.3} | {other:.3} | {:.3} |", kind.what, (one - other).abs());
        noise = noise.max((one - other).abs());
        medians.push(median(&[&first[place][..], &second[place]].concat()));
    }
    let (least, most) = medians
        .iter()
        .fold((f64::INFINITY, 0.0_f64), |(least, most), ms| (least.min(*ms), most.max(*ms)));
    println!(
        "kinds are {:.3} ms apart (medians of both runs together); two runs of one kind up to {noise:.3} ms (bar: the first less than the second)",
        most - least
    );
    Ok(())
}

/// Names of accounts that were not seeded.
fn unknown(options: &AccountsOptions) -> Vec<String> {
    (options.users..options.users + options.names).map(seeded_name).collect()
}

/// Accounts with a password, banned; made the first time.
fn banned(options: &AccountsOptions, seeded: &Seeded, client: &mut Client) -> Result<Vec<String>> {
    let names: Vec<String> = (0..options.names).map(|number| format!("banned-{number}")).collect();
    for name in &names {
        let status = client.sign_up(name, SEED_PASSWORD)?;
        ensure!(matches!(status, 201 | 409), "{name} was not made: {status}");
        admin(seeded, &["user", "ban", name])?;
    }
    Ok(names)
}

/// Accounts that only a provider opens; made the first time.
fn without_password(
    options: &AccountsOptions,
    seeded: &Seeded,
    scratch: &Scratch,
) -> Result<Vec<String>> {
    let names: Vec<String> =
        (0..options.names).map(|number| format!("provided-{number}")).collect();
    let mut text = String::from("username\n");
    for name in &names {
        writeln!(text, "{name}")?;
    }
    let file = scratch.path("provided.csv");
    fs::write(&file, text)?;
    admin(seeded, &["user", "import", &file.display().to_string()])?;
    Ok(names)
}

fn admin(seeded: &Seeded, arguments: &[&str]) -> Result<()> {
    let data = seeded.data.display().to_string();
    let program = servers::lodge_binary().display().to_string();
    process::output(&program, &[&["admin", "--data", &data], arguments].concat()).map(drop)
}
