//! The course's API through a client in another language, which another's generator makes of the document
//! that the server tells of itself.

use std::{
    fs::{self, File},
    path::{Path, PathBuf},
    process::{Command, Stdio},
    sync::OnceLock,
};

use crate::{
    DEADLINE, Lodge, Process,
    installed::{INSTALL_DEADLINE, installed},
    text,
};

#[test]
fn a_client_generated_from_the_document_drives_the_whole_of_the_courses_api() {
    let (lodge, server) = Lodge::new().started();
    let gate = lodge.gate("north", &["--resort", "3"]);
    let document = lodge.write("openapi.json", server.get("/api/openapi.json").body);
    let client = lodge.file("lodge_client");
    let generator = generator();
    let config = generator.join("generator.yml");
    let generate =
        ["-m", "openapi_python_client", "generate", "--meta", "none", "--fail-on-warning"];
    let files =
        ["--path", text(&document), "--config", text(&config), "--output-path", text(&client)];
    python(&lodge, &[generate.as_slice(), &files].concat());
    let url = format!("http://{}", server.address);
    python(&lodge, &[text(&generator.join("drive.py")), &url, &gate]);
}

/// The folder with the generator.
fn generator() -> &'static Path {
    static FOLDER: OnceLock<PathBuf> = OnceLock::new();
    FOLDER.get_or_init(|| installed("generated-client", "requirements.txt", install))
}

fn install(folder: &Path) {
    let packages = folder.join("packages");
    let _ = fs::remove_dir_all(&packages);
    let pip = Command::new("python3")
        .args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check"])
        .args(["--root-user-action=ignore", "--no-deps", "--require-hashes", "--only-binary=:all:"])
        .arg("--target")
        .arg(packages)
        .arg("--requirement")
        .arg(folder.join("requirements.txt"))
        .stdin(Stdio::null())
        .spawn();
    let mut pip =
        pip.map_or_else(|error| panic!("python3, which this test needs: {error}"), Process);
    let status = pip.wait(INSTALL_DEADLINE);
    assert!(status.success(), "pip install: {status}");
}

/// Runs Python, which finds the generator and what it has made.
fn python(lodge: &Lodge, arguments: &[&str]) {
    let said = lodge.file("python.log");
    let log = File::create(&said).unwrap();
    let packages = generator().join("packages");
    let mut python = Command::new("python3")
        .args(arguments)
        .env("PYTHONPATH", std::env::join_paths([&packages, &lodge.file("")]).unwrap())
        .env("PYTHONDONTWRITEBYTECODE", "1")
        .stdin(Stdio::null())
        .stdout(log.try_clone().unwrap())
        .stderr(log)
        .spawn()
        .map_or_else(|error| panic!("python3, which this test needs: {error}"), Process);
    let status = python.wait(DEADLINE);
    assert!(status.success(), "{arguments:?}: {status}\n{}", fs::read_to_string(said).unwrap());
}
