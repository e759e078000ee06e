//! Accounts in MariaDB, which several processes share.

use std::{path::Path, sync::Barrier, thread};

use lodge_testbed::{Cluster, Kind, Member};
use serde_json::{Value, json};

use crate::{
    server::{Lodge, Server, eventually_true, text},
    testbed::fresh,
};

pub(crate) const PASSWORD: &str = "correct horse battery";

/// A database of the testbed's Galera cluster.
pub(crate) struct Database {
    cluster: Cluster,
    name: String,
}

impl Database {
    /// Creates an empty database.
    pub(crate) fn new() -> Self {
        let workspace = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap();
        let cluster = Cluster::up_with(&workspace, Member::of(Kind::Galera)).unwrap();
        let name = fresh("lodge").replace('-', "_");
        cluster.create_database(&name).unwrap();
        Self { cluster, name }
    }

    /// Returns two processes, which use different nodes.
    fn two_processes(&self) -> [Lodge; 2] {
        let addresses = self.cluster.layout().addresses(Kind::Galera);
        let nodes: Vec<String> = addresses.iter().rev().map(ToString::to_string).collect();
        [self.process(), self.process().with("LODGE_MARIADB_NODES", &nodes.join(","))]
    }

    /// Returns a process with a data folder of its own, and accounts in this database.
    pub(crate) fn process(&self) -> Lodge {
        self.with_accounts(Lodge::new())
    }

    /// Returns a process with its accounts in this database.
    pub(crate) fn with_accounts(&self, lodge: Lodge) -> Lodge {
        self.settings().into_iter().fold(lodge, |lodge, (name, value)| lodge.with(name, &value))
    }

    /// Returns the settings of a process with accounts in this database.
    pub(crate) fn settings(&self) -> Vec<(&'static str, String)> {
        let mut settings = self.cluster.layout().account_settings();
        settings.push(("LODGE_APPS", "links,accounts".to_owned()));
        settings.push(("LODGE_MARIADB_DATABASE", self.name.clone()));
        settings
    }

    /// Returns the number of rows of a table; `None` before there is one.
    pub(crate) fn count(&self, table: &str) -> Option<u64> {
        self.cluster.number(&format!("SELECT count(*) FROM {}.{table}", self.name))
    }

    /// Returns the highest id of an account.
    pub(crate) fn highest_account(&self) -> Option<u64> {
        self.cluster.number(&format!("SELECT max(id) FROM {}.accounts", self.name))
    }
}

pub(crate) fn sign_up(server: &Server, name: &str) -> u16 {
    server
        .post("/api/accounts")
        .json(json!({ "username": name, "password": PASSWORD }))
        .send()
        .status
}

pub(crate) fn sign_in(server: &Server, name: &str) -> String {
    let asked = json!({ "username": name, "password": PASSWORD });
    let session = server.post("/api/session").json(&asked).expect(200).json();
    session["token"].as_str().unwrap().to_owned()
}

/// Returns the status of a request of the session.
pub(crate) fn me(server: &Server, token: &str) -> u16 {
    server.ask("GET", "/api/me").bearer(token).send().status
}

pub(crate) fn change(server: &Server, admin: &str, name: &str, action: &str) -> u16 {
    let path = format!("/admin/accounts/{name}");
    server.on_page(admin, "POST", &path).form(action).send().status
}

#[test]
fn accounts_in_mariadb_are_those_of_all_processes() {
    let database = Database::new();
    let [here, there] = database.two_processes();
    here.run(&["check"]).says(0, &["MariaDB: connected"]);
    let (one, other) = (here.start(), there.start());
    for (server, name) in [(&one, "ada"), (&other, "bob")] {
        assert_eq!(sign_up(server, name), 201);
    }
    assert_eq!(sign_up(&other, "ADA"), 409, "the name is taken at the other process, too");
    let (ada, bob) = (sign_in(&other, "ada"), sign_in(&one, "bob"));
    assert_eq!((me(&one, &ada), me(&other, &bob)), (200, 200));

    // Acknowledged writes survive a kill of all processes.
    one.kill();
    other.kill();
    let (one, other) = (here.start(), there.start());
    assert_eq!((me(&one, &ada), me(&other, &bob)), (200, 200));

    here.admin(&["user", "role", "ada", "admin"]);
    assert_eq!(change(&other, &ada, "bob", "action=ban"), 303);
    eventually_true("the ban ends the session at both", || {
        me(&one, &bob) == 401 && me(&other, &bob) == 401
    });
    one.delete("/api/session").bearer(&ada).expect(204);
    eventually_true("the end of the session is known to the other", || me(&other, &ada) == 401);
    let out = here.admin(&["backup", text(&here.file("backup.db"))]);
    assert!(out.contains("MariaDB"), "{out}");
    assert_eq!((one.stop(), other.stop()), (Some(0), Some(0)));
    let out = here.admin(&["secret", "replace", "--yes"]);
    assert_eq!(out, "a new secret is stored in SQLite and MariaDB; restart every process\n");
    let one = here.start();
    assert_eq!(me(&one, &sign_in(&one, "ada")), 200);
}

#[test]
fn of_two_hundred_sign_ups_for_one_name_at_two_processes_and_nodes_one_succeeds() {
    let database = Database::new();
    let lodges = database.two_processes();
    let servers = lodges.each_ref().map(Lodge::start);
    let (threads, begin) = (20, &Barrier::new(20));
    let status = |number: usize| {
        begin.wait();
        (0..10).map(|_| sign_up(&servers[number % 2], "ada")).collect::<Vec<_>>()
    };
    let statuses: Vec<u16> = thread::scope(|scope| {
        let status = &status;
        let running: Vec<_> =
            (0..threads).map(|number| scope.spawn(move || status(number))).collect();
        running.into_iter().flat_map(|thread| thread.join().unwrap()).collect()
    });
    assert_eq!(statuses.len(), 200);
    assert_eq!(statuses.iter().filter(|status| **status == 201).count(), 1, "{statuses:?}");
    assert!(statuses.iter().all(|status| matches!(status, 201 | 409 | 503)), "{statuses:?}");
}

#[test]
fn of_two_admins_who_demote_each_other_at_two_processes_and_nodes_one_stays() {
    let database = Database::new();
    let lodges = database.two_processes();
    let [one, other] = lodges.each_ref().map(Lodge::start);
    let names = ["ada", "bob"];
    for name in names {
        assert_eq!(sign_up(&one, name), 201);
        lodges[0].admin(&["user", "role", name, "admin"]);
    }
    let tokens = names.map(|name| sign_in(&one, name));
    let begin = &Barrier::new(2);
    let demote = |server: &Server, admin: usize| {
        begin.wait();
        change(server, &tokens[admin], names[1 - admin], "action=set_role&role=member")
    };
    let statuses = thread::scope(|scope| {
        let first = scope.spawn(|| demote(&one, 0));
        [demote(&other, 1), first.join().unwrap()]
    });
    assert!(statuses.contains(&303), "{statuses:?}");
    let roles: Vec<Value> = names
        .map(|name| {
            let me = one.ask("GET", "/api/me").bearer(&sign_in(&one, name)).expect(200);
            me.json()["role"].clone()
        })
        .into();
    assert_eq!(roles.iter().filter(|role| **role == "admin").count(), 1, "{roles:?} {statuses:?}");
}

#[test]
fn links_in_a_data_folder_stay_with_the_accounts_that_own_them() {
    let database = Database::new();
    let lodge = database.process();
    let server = lodge.start();
    assert_eq!(sign_up(&server, "ada"), 201);
    assert_eq!(server.stop(), Some(0));
    let refusal = "the links in this data folder belong to accounts in another store";
    let elsewhere = Database::new();
    lodge.with("LODGE_MARIADB_DATABASE", &elsewhere.name).run(&["serve"]).fails(refusal);

    let (own, server) = Lodge::new().started();
    assert_eq!(sign_up(&server, "ada"), 201);
    assert_eq!(server.stop(), Some(0));
    let settings = database.cluster.layout().account_settings().into_iter();
    let own = settings.fold(own, |lodge, (name, value)| lodge.with(name, &value));
    own.with("LODGE_MARIADB_DATABASE", &database.name).run(&["serve"]).fails(refusal);
}

#[test]
fn wrong_passwords_are_counted_over_all_processes() {
    let database = Database::new();
    let lodges = database.two_processes();
    let servers = lodges.each_ref().map(Lodge::start);
    assert_eq!(sign_up(&servers[0], "ada"), 201);
    let guess = |number: usize, password: &str| {
        let body = json!({ "username": "ada", "password": password });
        servers[number % 2].post("/api/session").from("192.0.2.1").json(&body).send().status
    };
    for number in 0..10 {
        assert_eq!(guess(number, "a guess"), 401);
    }
    for number in 0..2 {
        assert_eq!(guess(number, PASSWORD), 429);
    }
}

#[test]
fn a_database_with_real_accounts_is_not_seeded() {
    let database = Database::new();
    let server = database.process().start();
    assert_eq!(sign_up(&server, "ada"), 201);
    assert_eq!(server.stop(), Some(0));
    let lodge = database.process();
    let data = lodge.file("seeded");
    let seed = ["load", "accounts-seed", "--users", "10", "--data", text(&data)];
    lodge.run(&seed).fails("accounts that were not seeded");
    assert_eq!(database.count("accounts"), Some(1));
}
