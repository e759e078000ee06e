//! The depth of tests: how often they repeat.

/// The environment variable of the test depth.
pub const DEPTH: &str = "TESTBED_DEPTH";
/// The value of [`DEPTH`] for nightly runs, which may take hours.
pub const NIGHTLY: &str = "nightly";

/// Returns `nightly` if `TESTBED_DEPTH` is `nightly`, else `always`: for example a number of repetitions.
///
/// # Panics
///
/// If the variable has another value.
pub fn by_depth<T>(always: T, nightly: T) -> T {
    if is_nightly() { nightly } else { always }
}

/// Whether this is a nightly run.
///
/// # Panics
///
/// If the variable has another value.
#[expect(clippy::panic, reason = "a test of unknown depth proves nothing")]
pub fn is_nightly() -> bool {
    match std::env::var(DEPTH).as_deref() {
        Err(_) => false,
        Ok(NIGHTLY) => true,
        Ok(other) => panic!("{DEPTH} must be {NIGHTLY} or unset, not {other}"),
    }
}
