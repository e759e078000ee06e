//! An object store that speaks the protocol of S3, over TLS: versitygw, on files.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use anyhow::{Context as _, Result};

use crate::{
    layout::Layout,
    member::{Kind, Member},
    process::run,
};

/// The Go module that is built: there is no Debian package.
const MODULE: &str = "github.com/versity/versitygw/cmd/versitygw@v1.8.0";

/// The id of the only access key; its secret is the password of the kind.
pub(crate) const ACCESS_KEY: &str = "lodge";

/// The region of all signatures.
pub(crate) const REGION: &str = "us-east-1";

/// The only bucket.
pub(crate) const BUCKET: &str = "lodge";

/// Where Go is installed if it is not in `PATH`.
const GO: &str = "/usr/local/go/bin/go";

/// Builds the server, unless it is there.
pub(crate) fn build(layout: &Layout) -> Result<()> {
    let program = program(layout);
    if program.exists() {
        return Ok(());
    }
    let folder = program.parent().context("a program without a folder")?;
    fs::create_dir_all(folder)?;
    let go = if Path::new(GO).exists() { GO } else { "go" };
    let mut command = Command::new(go);
    // Go installs the program when it is complete.
    command.env("GOBIN", folder.canonicalize()?).args(["install", MODULE]);
    run(&mut command)
}

fn program(layout: &Layout) -> PathBuf {
    layout.cache().join("versitygw-1.8.0/versitygw")
}

/// Creates the bucket, which is a folder.
pub(crate) fn prepare(layout: &Layout, member: Member) -> Result<()> {
    Ok(fs::create_dir_all(objects(layout, member).join(BUCKET))?)
}

fn objects(layout: &Layout, member: Member) -> PathBuf {
    layout.folder(member).join("objects")
}

/// Returns the command that starts the server.
pub(crate) fn server(layout: &Layout, member: Member) -> Result<Command> {
    let authority = layout.authority();
    let mut command = Command::new(program(layout));
    // By environment: arguments are visible to all users.
    command.env("ROOT_ACCESS_KEY_ID", ACCESS_KEY);
    command.env("ROOT_SECRET_ACCESS_KEY", layout.secret(Kind::S3)?);
    command.args(["--port", &layout.address(member).to_string(), "--region", REGION, "--quiet"]);
    command.arg("--cert").arg(authority.certificate()).arg("--key").arg(authority.key());
    command.arg("posix").arg(objects(layout, member));
    Ok(command)
}
