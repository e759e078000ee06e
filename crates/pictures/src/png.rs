//! A PNG before it is decoded: how much its data unpack to. The decoder goes through all of it, however
//! little of it belongs to the picture.

use flate2::{Decompress, FlushDecompress, Status};
use lodge_domain::Result;

use crate::decode::{damaged, in_pieces};

/// What is unpacked at once, in bytes.
const PIECE_BYTES: usize = 64 << 10;

/// Chunks of one file. Encoders that write few kilobytes at a time make some thousands of a long one.
const CHUNKS_MAX: usize = 50_000;

/// The passes of an interlaced picture (Adam7): where each begins, and how far its pixels are apart.
const PASSES: [(u64, u64, u64, u64); 7] = [
    (0, 0, 8, 8),
    (4, 0, 8, 8),
    (0, 4, 4, 8),
    (2, 0, 4, 4),
    (0, 2, 2, 4),
    (1, 0, 2, 2),
    (0, 1, 1, 2),
];

/// What a PNG's header says.
pub(crate) struct Header {
    /// Pixels across.
    pub(crate) width: u32,
    /// Pixels down.
    pub(crate) height: u32,
    bits_a_pixel: u64,
    is_interlaced: bool,
}

impl Header {
    /// Of a file that begins as a PNG does; `None` if there is none.
    pub(crate) fn read(bytes: &[u8]) -> Option<Self> {
        let (kind, content, _) = split(bytes.get(8..)?)?;
        let [w3, w2, w1, w0, h3, h2, h1, h0, bits, colours, _, _, interlaced] = *content else {
            return None;
        };
        let channels = match colours {
            0 | 3 => 1,
            2 => 3,
            4 => 2,
            6 => 4,
            _ => return None,
        };
        (kind == b"IHDR").then_some(Self {
            width: u32::from_be_bytes([w3, w2, w1, w0]),
            height: u32::from_be_bytes([h3, h2, h1, h0]),
            bits_a_pixel: u64::from(bits) * channels,
            is_interlaced: interlaced != 0,
        })
    }

    /// The bytes that its data unpack to: of each line a filter, and the pixels.
    fn unpacked_bytes(&self) -> u64 {
        let (width, height) = (u64::from(self.width), u64::from(self.height));
        let of = |width: u64, height: u64| match width {
            0 => 0,
            _ => height * (1 + (width * self.bits_a_pixel).div_ceil(8)),
        };
        if !self.is_interlaced {
            return of(width, height);
        }
        let passes = PASSES.iter().map(|(left, top, across, down)| {
            of(
                width.saturating_sub(*left).div_ceil(*across),
                height.saturating_sub(*top).div_ceil(*down),
            )
        });
        passes.sum()
    }

    /// That the data of the file are whole, and just what the header says.
    pub(crate) fn check(&self, bytes: &[u8]) -> Result<()> {
        let mut rest = bytes.get(8..).unwrap_or_default();
        let mut data = Data::of(self.unpacked_bytes());
        for _ in 0..CHUNKS_MAX {
            let (kind, content, after) = split(rest).ok_or_else(damaged)?;
            match kind {
                b"IDAT" => data.unpack(content).ok_or_else(damaged)?,
                b"IEND" if data.left == 0 => return Ok(()),
                b"IEND" => return Err(damaged()),
                _ => {}
            }
            rest = after;
        }
        Err(in_pieces())
    }
}

/// The data of a file while they are unpacked, to nowhere.
struct Data {
    unpacking: Decompress,
    piece: Vec<u8>,
    /// Bytes that are to come.
    left: u64,
}

impl Data {
    fn of(bytes: u64) -> Self {
        Self { unpacking: Decompress::new(true), piece: vec![0; PIECE_BYTES], left: bytes }
    }

    /// Unpacks some of them; `None` if more comes than is to come, or it is damaged.
    fn unpack(&mut self, packed: &[u8]) -> Option<()> {
        if packed.is_empty() {
            return Some(());
        }
        let mut rest = packed;
        loop {
            let (came_in, came_out) = (self.unpacking.total_in(), self.unpacking.total_out());
            let status = self.unpacking.decompress(rest, &mut self.piece, FlushDecompress::None);
            let out = self.unpacking.total_out() - came_out;
            self.left = self.left.checked_sub(out)?;
            let taken = usize::try_from(self.unpacking.total_in() - came_in).ok()?;
            rest = rest.get(taken..)?;
            match status.ok()? {
                Status::StreamEnd => return Some(()),
                _ if out == 0 && taken == 0 => return Some(()),
                _ => {}
            }
        }
    }
}

/// The first chunk's kind and content, and what comes after it.
fn split(chunks: &[u8]) -> Option<(&[u8], &[u8], &[u8])> {
    let length = usize::try_from(u32::from_be_bytes(*chunks.first_chunk()?)).ok()?;
    let end = length.checked_add(8)?;
    Some((chunks.get(4..8)?, chunks.get(8..end)?, chunks.get(end + 4..)?))
}
