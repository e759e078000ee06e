//! Measures how fast the engine stores rides: `cargo run --release -p lodge-sqlite --example rides -- FOLDER
//! [stored before] [seconds] [callers] [events each sends at once]`.

use std::{
    error::Error,
    path::PathBuf,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};

use lodge_domain::{
    Clock, SystemClock,
    rides::{
        Day, EventId, GateId, LiftId, Minute, ResortDay, ResortId, Ride, RideEvent, RideLog,
        Season, SkierId, What,
    },
};
use lodge_sqlite::{Options, Sqlite};
use uuid::Uuid;

/// As the binary has it.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

type Outcome<T> = Result<T, Box<dyn Error + Send + Sync>>;

fn main() -> Outcome<()> {
    let mut arguments = std::env::args().skip(1);
    let folder = PathBuf::from(arguments.next().ok_or("name a folder")?);
    let mut number = |default: u64| arguments.next().map_or(Ok(default), |text| text.parse());
    let (before, seconds, callers, events) = (number(0)?, number(5)?, number(100)?, number(1)?);
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    runtime.block_on(async {
        let log = Sqlite::open(&folder, &Options::default())?.ride_log();
        let begun = Instant::now();
        for _ in 0..before.div_ceil(10_000) {
            log.record((0..10_000).map(|_| event()).collect()).await?;
        }
        println!("{before} stored before, in {:.1} s", begun.elapsed().as_secs_f64());
        store(&log, Duration::from_secs(seconds), callers, events).await
    })
}

async fn store(log: &Arc<dyn RideLog>, time: Duration, callers: u64, events: u64) -> Outcome<()> {
    let (stored, begun) = (Arc::new(AtomicU64::new(0)), Instant::now());
    let callers: Vec<_> = (0..callers)
        .map(|_| {
            let (log, stored) = (Arc::clone(log), Arc::clone(&stored));
            tokio::spawn(async move {
                let mut longest = Duration::ZERO;
                while begun.elapsed() < time {
                    let sent = Instant::now();
                    log.record((0..events).map(|_| event()).collect()).await?;
                    longest = longest.max(sent.elapsed());
                    stored.fetch_add(events, Ordering::Relaxed);
                }
                Outcome::Ok(longest)
            })
        })
        .collect();
    let mut longest = Duration::ZERO;
    for caller in callers {
        longest = longest.max(caller.await??);
    }
    let seconds = begun.elapsed().as_secs_f64();
    let stored = stored.load(Ordering::Relaxed);
    #[expect(clippy::cast_precision_loss, reason = "printed with no digit of the fraction")]
    let rate = stored as f64 / seconds;
    println!("{stored} stored in {seconds:.1} s: {rate:.0}/s, the longest {longest:?}");
    Ok(())
}

/// As the course's client makes them.
fn event() -> RideEvent {
    let on = ResortDay {
        season: Season(2025),
        resort: ResortId(rand::random_range(1..=10)),
        day: Day(1),
    };
    let lift = rand::random_range(1..=40);
    let what = What::Ride(Ride {
        on,
        skier: SkierId(rand::random_range(1..=100_000)),
        minute: Minute(rand::random_range(1..=360)),
        lift: LiftId(lift),
        vertical: u32::from(lift) * 10,
    });
    RideEvent {
        gate: GateId::NOBODY,
        id: EventId::Uuid(Uuid::now_v7()),
        what,
        at: SystemClock.now(),
    }
}
