//! Seed corpora. Without one, `libFuzzer` grows its inputs byte by byte, and never gets past formats that are
//! refused by their first bytes.

use std::{fs, path::Path};

/// Writes seeds into the corpus of `target`, before libFuzzer reads it.
pub fn sow(target: &str, seeds: impl IntoIterator<Item = impl AsRef<[u8]>>) {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus").join(target);
    fs::create_dir_all(&corpus).unwrap();
    for (number, seed) in seeds.into_iter().enumerate() {
        fs::write(corpus.join(format!("seed-{number}")), seed).unwrap();
    }
}
