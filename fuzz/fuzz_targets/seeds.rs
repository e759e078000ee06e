//! What a target begins with. Without it, `libFuzzer` grows its inputs byte by byte, and what is refused by its
//! first bytes is never got past.

use std::{fs, path::Path};

/// Lays seeds into the corpus of `target`, which is read after this.
pub fn sow(target: &str, seeds: impl IntoIterator<Item = impl AsRef<[u8]>>) {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus").join(target);
    fs::create_dir_all(&corpus).unwrap();
    for (number, seed) in seeds.into_iter().enumerate() {
        fs::write(corpus.join(format!("seed-{number}")), seed).unwrap();
    }
}
