//! The executables with the workspace's tests.

use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, ensure};
use lodge_testbed::is_nightly;
use serde::Deserialize;

use crate::process;

/// Compiles the workspace by Clippy's driver, as `cargo clippy -- -D warnings` does: a run of Clippy for itself would
/// compile every dependency and every crate a second time.
///
/// Dependencies are compiled in the folder of the release, whose profile they share. What is linked goes to a folder of
/// its own: the release is built while the tests run.
const ENVIRONMENT: [(&str, &str); 3] = [
    ("RUSTC_WORKSPACE_WRAPPER", "clippy-driver"),
    ("CLIPPY_ARGS", "-Dwarnings__CLIPPY_HACKERY__"),
    ("CARGO_BUILD_BUILD_DIR", "target"),
];

/// Arguments of cargo for the build of the tests.
const PROFILE: [&str; 4] = ["--profile", "bench", "--target-dir", "target/tests"];

/// The environment variable with the path of the server that was built with the tests, for tests of other packages than
/// its own. Its name starts with no LODGE_, which the server would take for a setting.
pub(crate) const LODGE: &str = "BUILT_LODGE";

/// All crates with tests: the fuzz targets have none.
const TESTED: [&str; 3] = ["--workspace", "--exclude", "lodge-fuzz"];

/// Cases of a property test at nightly depth; proptest's default is 256.
const CASES_AT_NIGHT: (&str, &str) = ("PROPTEST_CASES", "4096");

/// An executable with tests.
pub(crate) struct TestBinary {
    file: PathBuf,
    package: PathBuf,
    /// The name of the target, such as `it`.
    pub(crate) name: String,
}

/// A message of cargo about a target that it has compiled; other messages lack some of these fields.
#[derive(Deserialize)]
struct Artifact {
    manifest_path: PathBuf,
    target: Target,
    profile: Profile,
    executable: PathBuf,
}

#[derive(Deserialize)]
struct Target {
    name: String,
}

#[derive(Deserialize)]
struct Profile {
    test: bool,
}

/// Compiles the tests, and the binaries that they run.
pub(crate) fn build() -> Result<Vec<TestBinary>> {
    let bins = [&["build", "--workspace", "--bins"], &PROFILE[..]].concat();
    process::run("cargo", &bins, &ENVIRONMENT)?;
    let tests = ["test", "--tests", "--no-run"];
    let json = ["--message-format", "json-render-diagnostics"];
    let tests = [&tests[..], &json, &PROFILE, &TESTED].concat();
    let told = process::output_with("cargo", &tests, &ENVIRONMENT)?;
    let artifacts = told.lines().filter_map(|line| serde_json::from_str::<Artifact>(line).ok());
    let binaries: Vec<_> = artifacts.filter_map(TestBinary::of).collect();
    ensure!(!binaries.is_empty(), "cargo reported no tests");
    Ok(binaries)
}

impl TestBinary {
    fn of(artifact: Artifact) -> Option<Self> {
        let Artifact { manifest_path, target, profile, executable } = artifact;
        let package = manifest_path.parent().map(Path::to_owned)?;
        profile.test.then_some(Self { file: executable, package, name: target.name })
    }

    /// Runs the tests in the folder of their crate, as cargo does; at nightly depth also the ignored ones.
    pub(crate) fn run(&self, environment: &[(&str, &str)]) -> Result<()> {
        let (ignored, cases): (&[&str], &[_]) =
            if is_nightly() { (&["--include-ignored"], &[CASES_AT_NIGHT]) } else { (&[], &[]) };
        let lodge = process::root().join("target/tests/release/lodge");
        let [file, lodge] = [&self.file, &lodge].map(|path| path.to_str().context(NOT_UTF8));
        let environment = [environment, cases, &[(LODGE, lodge?)]].concat();
        process::run_in(&self.package, file?, ignored, &environment)
    }
}

const NOT_UTF8: &str = "the path of the checkout must be UTF-8";

/// Runs all of them, also when some fail.
pub(crate) fn run<'a>(
    binaries: impl Iterator<Item = &'a TestBinary>,
    environment: &[(&str, &str)],
) -> Result<()> {
    let failed: Vec<String> = binaries
        .filter_map(|binary| binary.run(environment).err())
        .map(|error| error.to_string())
        .collect();
    ensure!(failed.is_empty(), "{}", failed.join("\n"));
    Ok(())
}
