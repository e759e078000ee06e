//! Programs that are needed in addition to Rust and a C compiler.

use std::{path::Path, process::Command};

use anyhow::{Result, bail};

use crate::process;

/// A program and the Debian package that contains it.
pub(crate) struct Tool {
    /// Paths or names of the program; one of them suffices.
    pub(crate) programs: &'static [&'static str],
    /// The package.
    pub(crate) package: &'static str,
}

/// For `cargo xtask test`.
pub(crate) const FOR_TESTS: &[Tool] = &[
    Tool { programs: &["chromium-headless-shell"], package: "chromium-headless-shell" },
    Tool { programs: &["chromedriver"], package: "chromium-driver" },
    Tool { programs: &["lynx"], package: "lynx" },
    Tool { programs: &["exiftool"], package: "libimage-exiftool-perl" },
    Tool { programs: &["node"], package: "nodejs" },
    Tool { programs: &["npm"], package: "npm" },
    Tool { programs: &["pip3"], package: "python3-pip" },
];

/// For `cargo xtask cluster`, and the tests on it.
pub(crate) const FOR_CLUSTERS: &[Tool] = &[
    Tool { programs: &["redis-server"], package: "redis-server" },
    Tool { programs: &["java"], package: "openjdk-17-jre-headless" },
    Tool { programs: &["mvn"], package: "maven" },
    Tool { programs: &["/usr/lib/rabbitmq/bin/rabbitmq-server"], package: "rabbitmq-server" },
    Tool { programs: &["/usr/sbin/mariadbd"], package: "mariadb-server" },
    Tool { programs: &["/usr/lib/galera/libgalera_smm.so"], package: "galera-4" },
    Tool { programs: &["mariadb-backup"], package: "mariadb-backup" },
    Tool { programs: &["socat"], package: "socat" },
    Tool { programs: &["/usr/local/go/bin/go", "go"], package: "golang-go" },
    Tool { programs: &["/usr/sbin/haproxy"], package: "haproxy" },
    Tool { programs: &["/usr/sbin/iptables"], package: "iptables" },
    Tool { programs: &["/usr/sbin/ip"], package: "iproute2" },
];

/// For `cargo xtask bench`.
pub(crate) const FOR_BENCHES: &[Tool] = &[
    Tool { programs: &["wrk"], package: "wrk" },
    Tool { programs: &["nginx", "/usr/sbin/nginx"], package: "nginx-light" },
    Tool { programs: &["ab"], package: "apache2-utils" },
];

/// Installs missing packages as root on Debian; fails with their names otherwise.
pub(crate) fn provide(tools: &[Tool]) -> Result<()> {
    let missing: Vec<&str> =
        tools.iter().filter(|tool| !is_there(tool)).map(|tool| tool.package).collect();
    if missing.is_empty() {
        return Ok(());
    }
    let is_root = process::output("id", &["-u"])?.trim() == "0";
    if !is_root || !Path::new("/usr/bin/apt-get").exists() {
        bail!(
            "missing packages: {}; install them (on Debian: apt-get install {}), or run this as root",
            missing.join(", "),
            missing.join(" ")
        );
    }
    let quiet = [("DEBIAN_FRONTEND", "noninteractive")];
    process::run("apt-get", &["-q", "-o", "DPkg::Lock::Timeout=120", "update"], &quiet)?;
    let install =
        ["-q", "-y", "-o", "DPkg::Lock::Timeout=120", "install", "--no-install-recommends"];
    process::run("apt-get", &[&install[..], &missing].concat(), &quiet)
}

/// Provides Firefox, and builds its driver if it is missing, because Debian has no package of it. The tests
/// are known to run with this version. A debug build is fast enough.
pub(crate) fn provide_firefox() -> Result<()> {
    provide(&[Tool { programs: &["firefox-esr"], package: "firefox-esr" }])?;
    provide_built("geckodriver", &["--debug", "geckodriver@0.37.1"])
}

/// Provides the tools of the fuzz targets: a nightly toolchain, for its sanitizers, and cargo-fuzz.
pub(crate) fn provide_fuzzing() -> Result<()> {
    if process::output("cargo", &["+nightly", "--version"]).is_err() {
        process::run("rustup", &["toolchain", "install", "nightly", "--profile", "minimal"], &[])?;
    }
    provide_built("cargo-fuzz", &["--debug", "cargo-fuzz"])
}

/// Provides the checker of dependencies.
pub(crate) fn provide_deny() -> Result<()> {
    provide_built("cargo-deny", &["--debug", "cargo-deny@0.20.2"])
}

/// Builds a program from crates.io if it is missing.
fn provide_built(program: &str, install: &[&str]) -> Result<()> {
    if runs(program) {
        return Ok(());
    }
    let quickly = [("CARGO_PROFILE_DEV_DEBUG", "0")];
    process::run("cargo", &[&["install", "--locked"], install].concat(), &quickly)
}

fn is_there(tool: &Tool) -> bool {
    tool.programs.iter().any(|program| runs(program))
}

fn runs(program: &str) -> bool {
    Command::new("sh")
        .args(["-c", &format!("command -v {program}")])
        .output()
        .is_ok_and(|output| output.status.success())
}
