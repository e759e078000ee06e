//! The data folder, backups and restores.

use std::{
    fs,
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

use lodge_contract::samples::{RESERVED, chosen, create, fresh, link};
use lodge_domain::{Error, links::LinkStore, links::Short};
use lodge_sqlite::{BackupError, OpenError, Options, Sqlite, restore};
use rusqlite::Connection;
use tempfile::TempDir;

use crate::support::{open, private_folder, until};

fn reopen(folder: &Path) -> Result<Sqlite, OpenError> {
    Sqlite::open(folder, &Options::default())
}

fn mode(path: &Path) -> u32 {
    fs::metadata(path).unwrap().permissions().mode() & 0o777
}

async fn is_there(links: &dyn LinkStore, short: &Short) -> bool {
    links.find(short).await.unwrap().is_some()
}

#[test]
fn a_folder_can_be_opened_only_once() {
    let (engine, folder) = open();
    let refused = reopen(folder.path()).err().unwrap();
    assert!(matches!(refused, OpenError::Locked { .. }));
    assert!(refused.to_string().contains(folder.path().to_str().unwrap()), "{refused}");
    drop(engine);
    reopen(folder.path()).unwrap();
}

#[test]
fn a_file_in_place_of_the_data_folder_is_named() {
    let folder = TempDir::new().unwrap();
    let file = folder.path().join("data");
    fs::write(&file, "x").unwrap();
    let refused = reopen(&file).err().unwrap();
    assert!(matches!(refused, OpenError::NoFolder { path } if path == file));
}

#[test]
fn only_its_owner_can_read_the_folder() {
    let parent = TempDir::new().unwrap();
    let folder = parent.path().join("deep/data");
    let _engine = reopen(&folder).unwrap();
    assert_eq!((mode(&folder), mode(&folder.join("lodge.db"))), (0o700, 0o600));
    assert_eq!(
        (mode(&folder.join("lodge.db-wal")), mode(&folder.join("lodge.lock"))),
        (0o600, 0o600)
    );
}

#[test]
fn a_folder_that_other_users_can_read_or_change_is_refused_unless_it_is_empty() {
    let parent = TempDir::new().unwrap();
    let folder = parent.path().join("data");
    let open_to = |open: u32| fs::set_permissions(&folder, fs::Permissions::from_mode(open));
    fs::create_dir(&folder).unwrap();
    open_to(0o755).unwrap();
    drop(reopen(&folder).unwrap());
    assert_eq!(mode(&folder), 0o750);
    for (open, is_refused) in [(0o755, true), (0o701, true), (0o702, true), (0o750, false)] {
        open_to(open).unwrap();
        let refused = reopen(&folder).err();
        assert_eq!(matches!(refused, Some(OpenError::Exposed { .. })), is_refused, "{open:o}");
    }
}

#[test]
fn a_file_of_a_newer_lodge_is_refused() {
    let (engine, folder) = open();
    drop(engine);
    let file = folder.path().join("lodge.db");
    Connection::open(&file).unwrap().pragma_update(None, "user_version", 999).unwrap();
    let refused = reopen(folder.path()).err().unwrap();
    assert!(matches!(refused, OpenError::Newer { found: 999, known: 1..999, .. }));
    assert!(refused.to_string().contains("newer Lodge"), "{refused}");
}

#[test]
fn a_foreign_file_is_refused_and_left_alone() {
    let sqlite = private_folder();
    let file = sqlite.path().join("lodge.db");
    Connection::open(&file).unwrap().execute_batch("CREATE TABLE theirs (x)").unwrap();
    let text = private_folder();
    fs::write(
        text.path().join("lodge.db"),
        "this is a text of more than a hundred bytes, ".repeat(20),
    )
    .unwrap();
    for folder in [sqlite, text] {
        let file = folder.path().join("lodge.db");
        let before = fs::read(&file).unwrap();
        let refused = reopen(folder.path()).err().unwrap();
        assert!(matches!(refused, OpenError::Foreign { .. }), "{refused}");
        assert_eq!(fs::read(&file).unwrap(), before);
    }
}

#[tokio::test]
async fn written_data_is_there_after_closing() {
    let (engine, folder) = open();
    let links = engine.links();
    let signed = engine.secret().sign("test", &[]);
    let written = create(&*links, link(&fresh("kept"))).await;
    engine.close().await.unwrap();
    assert!(!folder.path().join("lodge.db-wal").exists(), "the log is checkpointed");
    for refused in [
        links.find(&written.short).await.map(drop),
        links.replace(link(&fresh("late")), None).await.map(drop),
    ] {
        assert!(matches!(refused, Err(Error::Unavailable { .. })));
    }
    engine.close().await.unwrap();

    let engine = reopen(folder.path()).unwrap();
    assert_eq!(engine.links().find(&written.short).await.unwrap().as_deref(), Some(&written));
    assert_eq!(engine.secret().sign("test", &[]), signed);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn closing_answers_queued_requests() {
    let (engine, folder) = open();
    let asked: Vec<_> = (0..200)
        .map(|_| {
            let (links, wanted) = (engine.links(), link(&fresh("waiting")));
            tokio::spawn(async move {
                (wanted.short.clone(), links.claim(vec![chosen(wanted)], RESERVED, None).await)
            })
        })
        .collect();
    engine.close().await.unwrap();
    let engine = reopen(folder.path()).unwrap();
    for asked in asked {
        let (short, answer) = asked.await.unwrap();
        assert_eq!(is_there(&*engine.links(), &short).await, answer.is_ok());
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_backup_made_under_load_restores_completely() {
    let (engine, folder) = open();
    let stop = Arc::new(AtomicBool::new(false));
    let writers: Vec<_> = (0..8)
        .map(|_| {
            let (links, stop) = (engine.links(), Arc::clone(&stop));
            tokio::spawn(async move {
                let mut written = Vec::new();
                while !stop.load(Ordering::SeqCst) {
                    written.push(create(&*links, link(&fresh("loaded"))).await.short);
                }
                written
            })
        })
        .collect();
    let before = create(&*engine.links(), link(&fresh("before"))).await.short;
    let elsewhere = TempDir::new().unwrap();
    let file = elsewhere.path().join("backup.db");
    let bytes = engine.backup(&file).await.unwrap();
    let after = create(&*engine.links(), link(&fresh("after"))).await.short;
    stop.store(true, Ordering::SeqCst);
    let mut written = Vec::new();
    for writer in writers {
        written.extend(writer.await.unwrap());
    }
    assert_eq!((fs::metadata(&file).unwrap().len(), mode(&file)), (bytes, 0o600));
    assert_eq!(fs::read_dir(elsewhere.path()).unwrap().count(), 1, "no partial file is left");
    assert!(matches!(engine.backup(&file).await, Err(BackupError::Exists { .. })));

    // A restore needs the server to be stopped, and keeps the database that it replaces.
    assert!(matches!(restore(&file, folder.path()), Err(OpenError::Locked { .. })));
    let signed = engine.secret().sign("test", &[]);
    engine.close().await.unwrap();
    let kept = restore(&file, folder.path()).unwrap();
    assert_eq!(kept, Some(folder.path().join("lodge.db.before-restore")));
    let engine = reopen(folder.path()).unwrap();
    assert!(is_there(&*engine.links(), &before).await && !is_there(&*engine.links(), &after).await);
    assert_eq!(engine.secret().sign("test", &[]), signed);
    engine.close().await.unwrap();

    let again = restore(&kept.unwrap(), folder.path()).unwrap();
    assert_eq!(again, Some(folder.path().join("lodge.db.before-restore-2")));
    let engine = reopen(folder.path()).unwrap();
    for short in written.iter().chain([&before, &after]) {
        assert!(is_there(&*engine.links(), short).await, "{short}");
    }
}

#[tokio::test]
async fn a_backup_restores_into_a_new_folder() {
    let (engine, folder) = open();
    let short = create(&*engine.links(), link(&fresh("moved"))).await.short;
    let file = folder.path().join("backup.db");
    engine.backup(&file).await.unwrap();
    let new = TempDir::new().unwrap();
    let data = new.path().join("data");
    assert_eq!(restore(&file, &data).unwrap(), None);
    assert!(is_there(&*reopen(&data).unwrap().links(), &short).await);
}

#[tokio::test]
async fn an_invalid_backup_is_refused_and_nothing_changes() {
    let (engine, folder) = open();
    let many = (0..500).map(|_| chosen(link(&fresh("sound")))).collect();
    engine.links().claim(many, RESERVED, None).await.unwrap();
    let short = create(&*engine.links(), link(&fresh("sound"))).await.short;
    let backups = TempDir::new().unwrap();
    let sound = backups.path().join("sound.db");
    engine.backup(&sound).await.unwrap();
    engine.close().await.unwrap();

    let damaged = backups.path().join("damaged.db");
    let mut bytes = fs::read(&sound).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle..middle + 4096].fill(0x5a);
    fs::write(&damaged, bytes).unwrap();
    let newer = backups.path().join("newer.db");
    fs::copy(&sound, &newer).unwrap();
    Connection::open(&newer).unwrap().pragma_update(None, "user_version", 999).unwrap();
    let foreign = backups.path().join("foreign.db");
    Connection::open(&foreign).unwrap().execute_batch("CREATE TABLE theirs (x)").unwrap();

    let refusal = |file: &PathBuf| restore(file, folder.path()).err().unwrap();
    assert!(matches!(refusal(&damaged), OpenError::Damaged { .. } | OpenError::Database { .. }));
    assert!(matches!(refusal(&newer), OpenError::Newer { .. }));
    assert!(matches!(refusal(&foreign), OpenError::Foreign { .. }));
    assert!(matches!(refusal(&backups.path().join("absent.db")), OpenError::File { .. }));
    let engine = reopen(folder.path()).unwrap();
    assert!(is_there(&*engine.links(), &short).await);
    assert!(!folder.path().join("lodge.db.before-restore").exists());
}

#[tokio::test]
async fn a_restore_keeps_writes_that_were_only_in_the_log() {
    let (engine, folder) = open();
    let empty = folder.path().join("empty.db");
    engine.backup(&empty).await.unwrap();
    let short = create(&*engine.links(), link(&fresh("logged"))).await.short;
    // A copy made now is what a killed server leaves: a file, and a log that is not checkpointed.
    let killed = private_folder();
    for name in ["lodge.db", "lodge.db-wal"] {
        fs::copy(folder.path().join(name), killed.path().join(name)).unwrap();
    }
    until("the log is not empty", async || {
        fs::metadata(killed.path().join("lodge.db-wal")).unwrap().len() > 0
    })
    .await;
    let kept = restore(&empty, killed.path()).unwrap().unwrap();
    assert!(!is_there(&*reopen(killed.path()).unwrap().links(), &short).await);
    restore(&kept, killed.path()).unwrap();
    assert!(is_there(&*reopen(killed.path()).unwrap().links(), &short).await);
}
