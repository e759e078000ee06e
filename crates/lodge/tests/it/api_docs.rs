//! The API documentation page: its examples work when copied.

use serde_json::json;

use crate::{Lodge, Response, Server, rides_batches::answered};

/// A `curl` command as the page prints it.
#[derive(Debug)]
struct Command {
    method: String,
    url: String,
    headers: Vec<(String, String)>,
    body: String,
}

impl Command {
    /// Parses a command as a shell does.
    fn read(printed: &str) -> Self {
        let (command, lines) = printed.split_once(" @- <<'END'\n").unwrap_or((printed, ""));
        let mut read = Self {
            method: "GET".to_owned(),
            url: String::new(),
            headers: Vec::new(),
            body: lines.strip_suffix("END").unwrap_or_default().to_owned(),
        };
        let parts: Vec<_> = command.split('\'').collect();
        for pair in parts.chunks_exact(2) {
            let (words, quoted) = (pair[0].split_whitespace().collect::<Vec<_>>(), pair[1]);
            match words[..] {
                ["curl"] | ["curl", "-i"] => quoted.clone_into(&mut read.url),
                ["curl", "-X", method] => {
                    method.clone_into(&mut read.method);
                    quoted.clone_into(&mut read.url);
                }
                [.., "-H"] => {
                    let (name, value) = quoted.split_once(": ").unwrap();
                    read.headers.push((name.to_owned(), value.to_owned()));
                }
                [.., "-d"] => quoted.clone_into(&mut read.body),
                _ => panic!("{printed}"),
            }
        }
        read
    }

    fn path(&self, server: &Server) -> &str {
        self.url.strip_prefix(&format!("http://{}", server.address)).unwrap()
    }

    fn needs_key(&self) -> bool {
        self.headers.iter().any(|(name, _)| name == "Authorization")
    }

    /// Runs the command with `key` in place of the placeholder. Reads only the head of an endless response.
    fn run(&self, server: &Server, key: &str) -> Response {
        let mut ask = server.ask(&self.method, self.path(server)).body(self.body.clone());
        for (name, value) in &self.headers {
            ask = ask.header(name, &value.replace("lodge_gate_…", key));
        }
        let mut wire = server.send_raw(&ask.bytes());
        let is_endless = self.url.ends_with("/live");
        if is_endless { wire.read_head().unwrap() } else { wire.read().unwrap() }
    }
}

fn printed(server: &Server) -> Vec<Command> {
    let page = server.get("/api/docs").text();
    let examples = page.split("<pre class=\"curl\"><code>").skip(1);
    let escaped = examples.map(|rest| rest.split_once("</code>").unwrap().0);
    let marks = [("&#39;", "'"), ("&#34;", "\""), ("&#60;", "<"), ("&#62;", ">"), ("&#38;", "&")];
    escaped
        .map(|text| marks.iter().fold(text.to_owned(), |text, (from, to)| text.replace(from, to)))
        .map(|text| Command::read(&text))
        .collect()
}

#[test]
fn every_get_example_on_the_page_runs_as_copied() {
    let server = Lodge::new().start();
    server.ride([1, 2025, 1, 7], 217, 21);
    server.make_account("ann");
    server.create(&json!({ "target": "example.org", "short": "gg" }));
    let mut ran = 0;
    for command in printed(&server) {
        // The name of a picture is not known in advance.
        let is_open = command.method == "GET" && !command.needs_key();
        if is_open && !command.url.contains("/-/pictures/") {
            let answer = command.run(&server, "");
            assert!(answer.status < 400, "{command:?}: {answer:?}");
            ran += 1;
        }
    }
    assert!(ran > 16, "only {ran}");
}

#[test]
fn every_example_of_rides_alone_runs_with_a_gate_key() {
    let (lodge, server) = Lodge::new().with("LODGE_APPS", "rides").started();
    let key = lodge.gate("north", &[]);
    server.ride([1, 2025, 1, 7], 217, 21);
    let commands = printed(&server);
    assert_eq!(commands.len(), 16);
    for command in &commands {
        assert!(command.run(&server, &key).status < 300, "{command:?}");
    }
    let found = commands.iter().find(|command| command.url.contains("/search")).unwrap();
    let groups = found.run(&server, &key).json();
    assert_eq!(groups["groups"][0]["dayID"], 1, "{groups}");
}

#[test]
fn the_example_batch_with_a_void_runs_as_copied() {
    let (lodge, server) = Lodge::new().with("LODGE_APPS", "rides").started();
    let key = lodge.gate("north", &[]);
    let commands = printed(&server);
    let batch = commands.iter().find(|command| command.url.ends_with("/api/rides")).unwrap();
    let (answer, lines) = answered(batch.run(&server, &key));
    assert_eq!((answer.status, lines.len()), (200, 3), "{answer:?}");
    assert!(lines.iter().all(|line| line["status"] == 201), "{lines:?}");
    let day = server.get("/skiers/1/seasons/2025/days/1/skiers/7").json();
    assert_eq!(day, 210, "one of the two rides was voided");
}
