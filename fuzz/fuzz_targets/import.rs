//! Import of any file: every row is read or refused, and reading terminates.
#![no_main]

use libfuzzer_sys::fuzz_target;
use lodge_domain::links::transfer::{Format, Rows, delimiter_of};

fuzz_target!(|bytes: &[u8]| {
    let first_line =
        String::from_utf8_lossy(bytes.split(|byte| *byte == b'\n').next().unwrap_or_default())
            .into_owned();
    for format in [Format::Lodge, Format::Yourls, Format::Shlink, Format::Kutt, Format::Bitly] {
        let Ok(mut rows) = Rows::new(format, bytes, delimiter_of(&first_line)) else { continue };
        let mut count = 0;
        while rows.next_row().is_some() {
            count += 1;
            assert!(count <= bytes.len() + 1);
        }
    }
});
