//! The bytes of a request body while they arrive.

use std::io;

use bytes::{Bytes, BytesMut};
use memmap2::MmapMut;

/// A longer body has memory of its own.
pub(crate) const LONG_BYTES: usize = 64 * 1024;

/// A body, as far as it has arrived.
pub(crate) enum BodyBuffer {
    Short(BytesMut),
    Long(LongBuffer),
}

/// Memory from the kernel, for the longest that a body may become. What is not written to occupies nothing.
///
/// The allocator's memory may be in huge pages. The kernel clears one of 2 MiB on the thread that first writes to it:
/// under many long bodies, the thread's other connections would wait for tens of milliseconds.
pub(crate) struct LongBuffer {
    memory: MmapMut,
    length: usize,
}

impl BodyBuffer {
    /// The number of bytes.
    pub(crate) fn len(&self) -> usize {
        match self {
            Self::Short(bytes) => bytes.len(),
            Self::Long(buffer) => buffer.length,
        }
    }

    /// Appends `data` to a body of at most `bytes_max`; fails if the kernel has no memory for it.
    pub(crate) fn push(&mut self, data: &[u8], bytes_max: usize) -> io::Result<()> {
        match self {
            Self::Short(bytes) if bytes.len() + data.len() <= LONG_BYTES => {
                bytes.extend_from_slice(data);
            }
            Self::Short(bytes) => {
                let mut buffer = LongBuffer::new(bytes_max.max(bytes.len() + data.len()))?;
                buffer.push(bytes);
                buffer.push(data);
                *self = Self::Long(buffer);
            }
            Self::Long(buffer) => buffer.push(data),
        }
        Ok(())
    }

    /// Returns the bytes; the memory is returned when they are dropped.
    pub(crate) fn freeze(self) -> Bytes {
        match self {
            Self::Short(bytes) => bytes.freeze(),
            Self::Long(buffer) => Bytes::from_owner(buffer),
        }
    }
}

impl Default for BodyBuffer {
    fn default() -> Self {
        Self::Short(BytesMut::new())
    }
}

impl LongBuffer {
    fn new(bytes_max: usize) -> io::Result<Self> {
        let memory = MmapMut::map_anon(bytes_max)?;
        // It fails on a kernel without huge pages.
        #[cfg(target_os = "linux")]
        let _ = memory.advise(memmap2::Advice::NoHugePage);
        Ok(Self { memory, length: 0 })
    }

    fn push(&mut self, data: &[u8]) {
        let end = self.length + data.len();
        self.memory[self.length..end].copy_from_slice(data);
        self.length = end;
    }
}

impl AsRef<[u8]> for LongBuffer {
    fn as_ref(&self) -> &[u8] {
        &self.memory[..self.length]
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    const MIB: usize = 1 << 20;

    fn filled(bytes: usize, bytes_max: usize) -> BodyBuffer {
        let mut buffer = BodyBuffer::default();
        let all: Vec<u8> = (0..=255).cycle().take(bytes).collect();
        for data in all.chunks(1_000) {
            buffer.push(data, bytes_max).unwrap();
        }
        assert_eq!(buffer.len(), bytes);
        buffer
    }

    #[test]
    fn bytes_stay_in_order_at_every_length() {
        for bytes in [0, 1, LONG_BYTES - 1, LONG_BYTES, LONG_BYTES + 1, MIB] {
            let bytes = filled(bytes, MIB).freeze();
            assert!(bytes.iter().copied().eq((0..=255).cycle().take(bytes.len())));
        }
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn a_body_that_stalls_occupies_only_what_has_arrived() {
        let resident = || -> usize {
            let pages = fs::read_to_string("/proc/self/statm").unwrap();
            pages.split(' ').nth(1).unwrap().parse::<usize>().unwrap() * 4096
        };
        let before = resident();
        let _stalled: Vec<_> = (0..8).map(|_| filled(2 * LONG_BYTES, 1 << 30)).collect();
        assert!(resident() < before + 64 * MIB, "{before}, then {}", resident());
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn a_long_body_has_no_huge_pages() {
        if !fs::exists("/sys/kernel/mm/transparent_hugepage").unwrap() {
            return;
        }
        let bytes = filled(2 * MIB, 4 * MIB).freeze();
        let address = bytes.as_ptr().addr();
        let maps = fs::read_to_string("/proc/self/smaps").unwrap();
        let contains = |line: &str| {
            let (from, to) = line.split_once(' ')?.0.split_once('-')?;
            let parse = |text| usize::from_str_radix(text, 16).ok();
            Some((parse(from)?..parse(to)?).contains(&address))
        };
        let mut of_body = maps.lines().skip_while(|line| contains(line) != Some(true));
        let flags = of_body.find(|line| line.starts_with("VmFlags:")).unwrap();
        assert!(flags.split(' ').any(|flag| flag == "nh"), "{flags}");
    }
}
