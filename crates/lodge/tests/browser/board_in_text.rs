//! The board in a text browser, without scripts and styles.

use std::{
    fmt::Write as _,
    fs,
    process::{Command, Stdio},
};

use crate::{
    account::PASSWORD,
    board_tabs::{ApiMember, busy},
    driver::installed,
    server::{DEADLINE, Process},
};

/// A Lynx command script: a sequence of key presses.
#[derive(Default)]
struct Keys(String);

impl Keys {
    fn press(mut self, key: &str) -> Self {
        writeln!(self.0, "key {key}").unwrap();
        self
    }

    fn types(self, text: &str) -> Self {
        text.chars().fold(self, |keys, letter| match letter {
            ' ' => keys.press("<space>"),
            letter => keys.press(&letter.to_string()),
        })
    }

    fn enters(self) -> Self {
        self.press("^J")
    }

    /// Searches for a text, and moves to the link or field after it.
    fn finds(self, text: &str) -> Self {
        self.types("/").types(text).enters()
    }

    /// Prints the page to a file.
    fn prints(self, file: &str) -> Self {
        self.types("p").enters().press("^U").types(file).enters()
    }
}

#[test]
fn a_text_browser_signs_in_reads_pages_back_and_writes() {
    let lodge = busy();
    let server = lodge.start();
    let bob = ApiMember::start(&server, "bob");
    (0..70).for_each(|number| bob.write(&format!("number {number}.")));
    let _ada = ApiMember::start(&server, "ada");
    let file = |name: &str| lodge.file(name).display().to_string();
    let (read, written, older) = (file("read.txt"), file("written.txt"), file("older.txt"));
    let keys = Keys::default()
        .finds("Username")
        .types("ada")
        .press("<tab>")
        .types(PASSWORD)
        .press("<tab>")
        .enters()
        .prints(&read)
        .finds("Your message")
        .types("Fresh snow")
        .press("<tab>")
        .press("<tab>")
        .enters()
        .prints(&written)
        .finds("Older")
        .enters()
        .prints(&older)
        .types("Qy");
    lodge.write("keys", keys.0);

    let url = format!("http://{}/login?next=/board", server.address);
    let lynx = installed("lynx");
    let command = format!("{} -accept_all_cookies -cmd_script=keys {url}", lynx.display());
    // Lynx needs a terminal, which `script` provides.
    let session = Command::new("script")
        .args(["--quiet", "--return", "--command", &command, "/dev/null"])
        .current_dir(lodge.file("."))
        .envs([("HOME", lodge.file(".").as_os_str()), ("TERM", "xterm".as_ref())])
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .spawn();
    let status = Process(session.unwrap()).wait(DEADLINE);
    assert!(status.success(), "{status}");

    let [read, written, older] =
        [read, written, older].map(|file| fs::read_to_string(file).unwrap());
    assert!(read.contains("#lobby") && read.contains("number 69."), "{read}");
    assert!(!read.contains("number 0."), "the newest come first: {read}");
    assert!(written.contains("Fresh snow") && written.contains("number 69."), "{written}");
    assert!(older.contains("number 0.") && !older.contains("number 69."), "{older}");
}
