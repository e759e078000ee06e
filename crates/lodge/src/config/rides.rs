//! The settings of lift rides.

use std::collections::HashSet;

use anyhow::{Result, bail, ensure};
use lodge_domain::rides::VerticalUnit;
use serde::{Deserialize, Serialize};

use super::stores::AppStore;

/// The maximum length of the name of a resort or a lift, in characters.
const NAME_MAX: usize = 64;

/// The highest rate limit, in events per second, that differs measurably from no limit.
const EVENTS_PER_SECOND_MAX: u32 = 1_000_000;

/// The maximum days of a season and minutes of a day.
const DAYS_MAX: u16 = 366;
const MINUTES_MAX: u16 = 1440;

/// The last season with four digits.
const SEASON_MAX: u16 = 9999;

/// The maximum skier number that fits on a pass.
const SKIERS_MAX: u32 = 100_000_000;

/// The maximum number of resorts, of lifts per resort, and of lifts in total: they are in memory and in one response.
const RESORTS_MAX: usize = 1_000;
const LIFTS_MAX: u16 = 1_000;
const LIFTS_IN_ALL_MAX: usize = 50_000;

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct RidesConfig {
    pub(crate) store: AppStore,
    pub(crate) events_per_second: u32,
    pub(crate) keys_required: bool,
    pub(crate) seasons: [u16; 2],
    pub(crate) days_max: u16,
    pub(crate) minutes_max: u16,
    pub(crate) skiers_max: u32,
    pub(crate) lifts_max: u16,
    pub(crate) unwritten_max: u32,
    pub(crate) vertical_unit: VerticalUnit,
    pub(crate) resorts: Vec<ResortConfig>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ResortConfig {
    pub(crate) id: u16,
    pub(crate) name: String,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) lifts: Vec<LiftConfig>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct LiftConfig {
    pub(crate) id: u16,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) name: Option<String>,
    pub(crate) vertical: u32,
}

pub(super) fn check(rides: &RidesConfig) -> Result<()> {
    let rate = rides.events_per_second;
    if rate > EVENTS_PER_SECOND_MAX {
        bail!("rides.events_per_second must be from 0 to {EVENTS_PER_SECOND_MAX}, not {rate}");
    }
    let [first, last] = rides.seasons;
    if first == 0 || first > last || last > SEASON_MAX {
        bail!(
            "rides.seasons must be the first and the last season, from 1 to {SEASON_MAX}, such as [2020, 2030], \
             not [{first}, {last}]"
        );
    }
    let most = [
        ("days_max", u32::from(rides.days_max), u32::from(DAYS_MAX)),
        ("minutes_max", u32::from(rides.minutes_max), u32::from(MINUTES_MAX)),
        ("skiers_max", rides.skiers_max, SKIERS_MAX),
        ("lifts_max", u32::from(rides.lifts_max), u32::from(LIFTS_MAX)),
    ];
    let wrong = most.iter().find(|(_, value, most)| !(1..=*most).contains(value));
    if let Some((key, value, most)) = wrong {
        bail!("rides.{key} must be from 1 to {most}, not {value}");
    }
    ensure!(rides.unwritten_max > 0, "rides.unwritten_max must be at least 1, not 0");
    check_resorts(&rides.resorts)?;
    let lifts = rides.resorts.iter().map(|resort| match resort.lifts.len() {
        0 => usize::from(rides.lifts_max),
        named => named,
    });
    let lifts: usize = lifts.sum();
    if lifts > LIFTS_IN_ALL_MAX {
        bail!("rides.resorts must have at most {LIFTS_IN_ALL_MAX} lifts in total, not {lifts}");
    }
    Ok(())
}

fn check_resorts(resorts: &[ResortConfig]) -> Result<()> {
    if !(1..=RESORTS_MAX).contains(&resorts.len()) {
        bail!("rides.resorts must list 1 to {RESORTS_MAX} resorts, not {}", resorts.len());
    }
    let mut ids = HashSet::new();
    for (place, resort) in resorts.iter().enumerate() {
        let key = format!("rides.resorts[{place}]");
        check_id(&key, resort.id, &mut ids)?;
        check_name(&key, &resort.name)?;
        if resort.lifts.len() > usize::from(LIFTS_MAX) {
            bail!("{key}.lifts must list at most {LIFTS_MAX} lifts, not {}", resort.lifts.len());
        }
        let mut ids = HashSet::new();
        for (place, lift) in resort.lifts.iter().enumerate() {
            let key = format!("{key}.lifts[{place}]");
            check_id(&key, lift.id, &mut ids)?;
            if let Some(name) = &lift.name {
                check_name(&key, name)?;
            }
        }
    }
    Ok(())
}

fn check_id(key: &str, id: u16, others: &mut HashSet<u16>) -> Result<()> {
    ensure!(id > 0, "{key}.id must be at least 1, not 0");
    ensure!(others.insert(id), "{key}.id must be unique; {id} is used twice");
    Ok(())
}

fn check_name(key: &str, name: &str) -> Result<()> {
    if name.trim().is_empty()
        || name.chars().count() > NAME_MAX
        || name.chars().any(char::is_control)
    {
        bail!("{key}.name must be 1 to {NAME_MAX} printable characters, not {name:?}");
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::{
        super::{Config, sources::merge},
        *,
    };

    fn checked(toml: &str) -> Result<()> {
        let mut rides = toml::Table::try_from(Config::default().rides).unwrap();
        merge(&mut rides, toml.parse().unwrap());
        check(&rides.try_into().unwrap())
    }

    fn refused(toml: &str) -> String {
        checked(toml).unwrap_err().to_string()
    }

    #[test]
    fn an_invalid_value_is_named_by_its_key() {
        let long = format!("resorts = [{{ id = 1, name = \"{}\" }}]", "x".repeat(65));
        for (toml, key) in [
            ("events_per_second = 4000000000", "rides.events_per_second"),
            ("seasons = [2026, 2025]", "rides.seasons"),
            ("seasons = [0, 2025]", "rides.seasons"),
            ("seasons = [1, 10000]", "rides.seasons"),
            ("days_max = 0", "rides.days_max"),
            ("days_max = 367", "rides.days_max must be from 1 to 366"),
            ("minutes_max = 0", "rides.minutes_max"),
            ("minutes_max = 1441", "rides.minutes_max"),
            ("skiers_max = 0", "rides.skiers_max"),
            ("skiers_max = 100000001", "rides.skiers_max"),
            ("lifts_max = 0", "rides.lifts_max"),
            ("lifts_max = 1001", "rides.lifts_max must be from 1 to 1000"),
            ("unwritten_max = 0", "rides.unwritten_max must be at least 1"),
            ("resorts = []", "rides.resorts"),
            ("resorts = [{ id = 0, name = \"x\" }]", "rides.resorts[0].id"),
            (
                "resorts = [{ id = 1, name = \"x\" }, { id = 1, name = \"y\" }]",
                "rides.resorts[1].id",
            ),
            ("resorts = [{ id = 1, name = \" \" }]", "rides.resorts[0].name"),
            (&long, "rides.resorts[0].name"),
            (
                "resorts = [{ id = 1, name = \"x\", lifts = [{ id = 0, vertical = 1 }] }]",
                "rides.resorts[0].lifts[0].id",
            ),
            (
                "resorts = [{ id = 1, name = \"x\", lifts = [{ id = 2, vertical = 1 }, { id = 2, vertical = 1 }] }]",
                "rides.resorts[0].lifts[1].id",
            ),
            (
                "resorts = [{ id = 1, name = \"x\", lifts = [{ id = 2, name = \"\", vertical = 1 }] }]",
                "rides.resorts[0].lifts[0].name",
            ),
        ] {
            let error = refused(toml);
            assert!(error.starts_with(key), "{toml}: {error}");
        }
    }

    #[test]
    fn resorts_and_lifts_are_limited_to_what_fits_in_one_response() {
        let resorts = |count: u16, lifts: &str| {
            let resort = |id| format!("{{ id = {id}, name = \"x\"{lifts} }}");
            format!("resorts = [{}]", (1..=count).map(resort).collect::<Vec<_>>().join(", "))
        };
        let lift = |id| format!("{{ id = {id}, vertical = 1 }}");
        let lifts = |count: u16| {
            format!(", lifts = [{}]", (1..=count).map(lift).collect::<Vec<_>>().join(", "))
        };
        for (toml, said) in [
            (resorts(1_001, ""), "rides.resorts must list 1 to 1000 resorts"),
            (resorts(1, &lifts(1_001)), "rides.resorts[0].lifts must list at most 1000"),
            (resorts(51, &lifts(1_000)), "lifts in total, not 51000"),
            (format!("lifts_max = 60\n{}", resorts(1_000, "")), "lifts in total, not 60000"),
        ] {
            let error = refused(&toml);
            assert!(error.contains(said), "{said}: {error}");
        }
        let most = format!("lifts_max = 50\n{}", resorts(1_000, ""));
        checked(&most).unwrap();
    }
}
