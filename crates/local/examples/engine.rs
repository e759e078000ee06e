//! Measures the engine by itself: `cargo run --release -p lodge-local --example engine -- FOLDER
//! [links] [seconds] [callers]`. Fills a new folder, then prints claims a second, what a read costs,
//! and the memory in use.

use std::{
    error::Error,
    hint::black_box,
    path::PathBuf,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};

use jiff::SignedDuration;
use lodge_contract::samples::link;
use lodge_domain::{
    OsRandom,
    links::{Candidate, Link, LinkStore, Short, Target},
};
use lodge_local::CachedLinks;
use lodge_sqlite::{Options, Sqlite};

/// As the binary has it.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

type Outcome<T> = Result<T, Box<dyn Error + Send + Sync>>;

fn main() -> Outcome<()> {
    let mut arguments = std::env::args().skip(1);
    let folder = PathBuf::from(arguments.next().ok_or("name a new folder")?);
    let mut number = |default: u64| arguments.next().map_or(Ok(default), |text| text.parse());
    let (links, seconds, callers) = (number(0)?, number(5)?, number(100)?);
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    runtime.block_on(run(folder, links, Duration::from_secs(seconds), callers))
}

async fn run(folder: PathBuf, links: u64, time: Duration, callers: u64) -> Outcome<()> {
    let engine = Sqlite::open(&folder, &Options::default())?;
    let cached: Arc<dyn LinkStore> = Arc::new(CachedLinks::new(engine.links(), 32 << 20));
    println!("opened: {} MiB resident", resident_mib()?);

    let begun = Instant::now();
    fill(&engine.links(), links).await?;
    println!(
        "filled with {links} links in {:.1} s: {} MiB resident",
        begun.elapsed().as_secs_f64(),
        resident_mib()?
    );

    for (name, store) in [("bare", engine.links()), ("cached", Arc::clone(&cached))] {
        claims(name, &store, time, callers).await?;
    }
    println!("after claims: {} MiB resident", resident_mib()?);

    let mut shorts = Vec::new();
    for _ in 0..10_000 {
        let candidate = candidate();
        shorts.push(candidate.link.short.clone());
        cached.claim(vec![Ok(candidate)], SignedDuration::ZERO, None).await?;
    }
    let bare = engine.links();
    let begun = Instant::now();
    for short in &shorts {
        black_box(bare.find(short).await?);
    }
    println!("find in the store, one at a time: {:?} each", begun.elapsed() / 10_000);
    let rounds = 100;
    let begun = Instant::now();
    for _ in 0..rounds {
        for short in &shorts {
            black_box(cached.find_cached(black_box(short.as_str())));
        }
    }
    println!("find_cached: {:?} each", begun.elapsed() / (10_000 * rounds));
    println!("at the end: {} MiB resident", resident_mib()?);
    engine.close().await?;
    Ok(())
}

async fn fill(store: &Arc<dyn LinkStore>, links: u64) -> Outcome<()> {
    let mut left = links;
    while left > 0 {
        let batch = left.min(1_000);
        let candidates = (0..batch).map(|_| Ok(candidate())).collect();
        store.claim(candidates, SignedDuration::ZERO, None).await?;
        left -= batch;
    }
    Ok(())
}

async fn claims(
    name: &str,
    store: &Arc<dyn LinkStore>,
    time: Duration,
    callers: u64,
) -> Outcome<()> {
    let done = Arc::new(AtomicU64::new(0));
    let begun = Instant::now();
    let processor = processor_seconds();
    let tasks: Vec<_> = (0..callers)
        .map(|_| {
            let (store, done) = (Arc::clone(store), Arc::clone(&done));
            tokio::spawn(async move {
                let mut slowest = Duration::ZERO;
                while begun.elapsed() < time {
                    let asked = Instant::now();
                    store.claim(vec![Ok(candidate())], SignedDuration::ZERO, None).await?;
                    slowest = slowest.max(asked.elapsed());
                    done.fetch_add(1, Ordering::Relaxed);
                }
                Ok::<_, lodge_domain::Error>(slowest)
            })
        })
        .collect();
    let mut slowest = Duration::ZERO;
    for task in tasks {
        slowest = slowest.max(task.await??);
    }
    let elapsed = begun.elapsed().as_secs_f64();
    let done = done.load(Ordering::Relaxed);
    #[expect(clippy::cast_precision_loss, reason = "printed with few digits")]
    let (rate, cost) =
        (done as f64 / elapsed, (processor_seconds() - processor) * 1e6 / done as f64);
    println!(
        "{name}: {rate:.0} claims/s with {callers} callers, {cost:.1} µs of processor each, slowest {slowest:?}"
    );
    Ok(())
}

/// A link of a length that is usual.
fn candidate() -> Candidate {
    let short = Short::generate(&OsRandom);
    let target =
        Target::stored(format!("https://example.com/some/path/that/is/not/short?for={short}"));
    Candidate { link: Link { target, ..link(&short) }, spares: Vec::new() }
}

fn processor_seconds() -> f64 {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
    #[expect(clippy::cast_precision_loss, reason = "seconds of processor time are few")]
    let seconds = time.tv_sec as f64 + time.tv_nsec as f64 / 1e9;
    seconds
}

fn resident_mib() -> Outcome<u64> {
    let status = std::fs::read_to_string("/proc/self/status")?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).ok_or("no VmRSS")?;
    Ok(line.trim().trim_end_matches(" kB").parse::<u64>()? / 1024)
}
