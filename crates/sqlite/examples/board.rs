//! Measures the engine's board: `cargo run --release -p lodge-sqlite --example board -- FOLDER [messages] [callers]`
//! stores so many messages in the lobby, then reads it as people do.

use std::{
    error::Error,
    path::PathBuf,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Instant,
};

use lodge_domain::{
    Clock, SystemClock,
    accounts::{AccountId, Role},
    board::{
        Actor, BoardLog, Body, ClientId, Cursor, MessageSearch, MessagesQuery, NewMessage,
        PersonId, Profile, Reach, Slug, Word,
    },
};
use lodge_sqlite::{Options, Sqlite};
use uuid::Uuid;

/// As the binary has it.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

type Outcome<T> = Result<T, Box<dyn Error + Send + Sync>>;

/// Reads of each kind.
const READS: usize = 50;

const WORDS: [&str; 12] = [
    "snow", "lift", "powder", "queue", "open", "closed", "slope", "today", "who", "rides", "with",
    "me",
];

fn main() -> Outcome<()> {
    let mut arguments = std::env::args().skip(1);
    let folder = PathBuf::from(arguments.next().ok_or("name a folder")?);
    let mut number = |default: u64| arguments.next().map_or(Ok(default), |text| text.parse());
    let (messages, callers) = (number(100_000)?, number(100)?);
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    runtime.block_on(async {
        let engine = Sqlite::open(&folder, &Options::default())?;
        let log = engine.board_log();
        store(&log, messages, callers).await?;
        read(&log).await?;
        engine.close().await?;
        Ok(())
    })
}

async fn store(log: &Arc<dyn BoardLog>, messages: u64, callers: u64) -> Outcome<()> {
    let (next, begun) = (Arc::new(AtomicU64::new(0)), Instant::now());
    let mut writers = tokio::task::JoinSet::new();
    for caller in 0..callers {
        let (log, next) = (Arc::clone(log), Arc::clone(&next));
        writers.spawn(async move {
            let by = actor(i64::try_from(caller)? + 1);
            loop {
                let number = next.fetch_add(1, Ordering::Relaxed);
                if number >= messages {
                    return Outcome::Ok(());
                }
                log.post(message(number)?, by.clone(), SystemClock.now()).await?;
            }
        });
    }
    while let Some(written) = writers.join_next().await {
        written??;
    }
    let seconds = begun.elapsed().as_secs_f64();
    #[expect(clippy::cast_precision_loss, reason = "a rate to be read by people")]
    let rate = messages as f64 / seconds;
    println!("{messages} messages by {callers} callers: {rate:.0}/s");
    Ok(())
}

fn actor(number: i64) -> Actor {
    let person = PersonId::Account(AccountId(number));
    let (username, nickname) = (format!("user{number}"), format!("User {number}"));
    Actor {
        profile: Profile { person, username, nickname, picture: None, role: Role::Member },
        role: Role::Member,
    }
}

/// A dozen common words, and one that is in no other message.
fn message(number: u64) -> Outcome<NewMessage> {
    let place = usize::try_from(number)?;
    let words = (0..10).map(|word| WORDS[(place / 7 + word * (place % 5 + 1)) % WORDS.len()]);
    let text = format!("{} rare{number}", words.collect::<Vec<_>>().join(" "));
    Ok(NewMessage {
        channel: Slug::lobby(),
        client_id: ClientId::parse(&Uuid::new_v4().to_string())?,
        body: Body::parse(&text)?,
        reply_to: None,
        picture: None,
    })
}

async fn read(log: &Arc<dyn BoardLog>) -> Outcome<()> {
    let reader = actor(1).id();
    let page = |before| MessagesQuery { channel: Slug::lobby(), before, limit: 50, reader };
    let first = log.messages(page(None)).await?;
    let oldest = first.messages.first().map(|message| message.id);
    let far = log.events(Slug::lobby(), Reach::After(Cursor::default()), 100).await?.cursor;
    timed("first page", async || log.messages(page(None)).await.map(|page| page.messages.len()))
        .await?;
    timed("page before", async || log.messages(page(oldest)).await.map(|page| page.messages.len()))
        .await?;
    timed("tail of events", async || {
        log.events(Slug::lobby(), Reach::Tail, 100).await.map(|page| page.events.len())
    })
    .await?;
    timed("events from far back", async || {
        log.events(Slug::lobby(), Reach::After(far.clone()), 500)
            .await
            .map(|page| page.events.len())
    })
    .await?;
    for words in [
        &["snow"][..],
        &["snow", "lift", "me"],
        &["rare77"],
        &["rare7*"],
        &["snow", "rare77"],
        &["goat"],
        &["s*"],
        &["rar*"],
    ] {
        let search = MessageSearch {
            channel: Some(Slug::lobby()),
            words: words.iter().map(|word| word_of(word)).collect(),
            limit: 50,
            reader,
        };
        let found = async || log.search(search.clone()).await.map(|found| found.len());
        timed(&format!("search {words:?}"), found).await?;
    }
    Ok(())
}

/// With a `*` at its end, the beginning of words.
fn word_of(text: &str) -> Word {
    Word { text: text.trim_end_matches('*').to_owned(), is_beginning: text.ends_with('*') }
}

async fn timed(what: &str, read: impl AsyncFn() -> lodge_domain::Result<usize>) -> Outcome<()> {
    let (mut times, mut rows) = (Vec::new(), 0);
    for _ in 0..READS {
        let begun = Instant::now();
        rows = read().await?;
        times.push(begun.elapsed());
    }
    times.sort_unstable();
    println!("{what}: {rows} rows, median {:?}, worst {:?}", times[READS / 2], times[READS - 1]);
    Ok(())
}
