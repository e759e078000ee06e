//! Wiring of rides, with the resort catalog from the configuration.

use std::{collections::BTreeMap, sync::Arc};

use lodge_domain::{
    Clock, Random, Tasks,
    rides::{
        GateStore, Gates, Lift, LiftId, PassCodes, PassStore, Passes, Ranges, Resort,
        ResortCatalog, ResortId, RideStores, Rides,
    },
    secret::InstallationSecret,
};

use crate::config::{LiftConfig, ResortConfig, RidesConfig};

/// An engine's implementations of the ports of rides.
pub(super) struct RidePorts {
    pub(super) stores: RideStores,
    pub(super) gates: Arc<dyn GateStore>,
    pub(super) passes: Arc<dyn PassStore>,
    pub(super) secret: InstallationSecret,
}

/// Builds the rides service.
pub(super) fn service(
    ports: RidePorts,
    config: &RidesConfig,
    clock: &Arc<dyn Clock>,
    random: &Arc<dyn Random>,
    tasks: Arc<dyn Tasks>,
) -> Rides {
    let RidePorts { stores, gates, passes, secret } = ports;
    let (clock, random) = (Arc::clone(clock), Arc::clone(random));
    let gates = Gates::new(gates, Arc::clone(&clock), Arc::clone(&random), config.keys_required);
    let passes = Passes::new(passes, Arc::clone(&clock), PassCodes::new(secret));
    Rides::new(stores, gates, passes, clock, random, tasks, resort_catalog(config))
}

fn resort_catalog(config: &RidesConfig) -> ResortCatalog {
    let [first, last] = config.seasons;
    let ranges = Ranges {
        seasons: first..=last,
        days: 1..=config.days_max,
        minutes: 1..=config.minutes_max,
        skiers: 1..=config.skiers_max,
    };
    let resorts = config.resorts.iter();
    let resorts = resorts.map(|resort| (ResortId(resort.id), built(resort, config.lifts_max)));
    ResortCatalog::new(resorts.collect(), ranges).with_unit(config.vertical_unit)
}

fn built(resort: &ResortConfig, lifts_max: u16) -> Resort {
    let name = resort.name.clone();
    if resort.lifts.is_empty() {
        return Resort::with_numbered_lifts(name, 1..=lifts_max);
    }
    let lift = |lift: &LiftConfig| {
        (LiftId(lift.id), Lift { name: lift.name.clone(), vertical: lift.vertical })
    };
    let lifts: BTreeMap<_, _> = resort.lifts.iter().map(lift).collect();
    Resort { name, lifts }
}
