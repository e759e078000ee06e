//! Checks of a PNG before it is decoded: the decompressed size of its data. The decoder decompresses all of it, even
//! what exceeds the picture.

use flate2::{Decompress, FlushDecompress, Status};
use lodge_domain::Result;

use crate::decode::{damaged, in_pieces};

/// Buffer for decompressed data, in bytes.
const PIECE_BYTES: usize = 64 << 10;

/// The most chunks of a file. Encoders that write a few kilobytes per chunk make some thousands for a long file.
const CHUNKS_MAX: usize = 50_000;

/// The passes of an interlaced picture (Adam7): left, top, and the distance of pixels across and down.
const PASSES: [(u64, u64, u64, u64); 7] = [
    (0, 0, 8, 8),
    (4, 0, 8, 8),
    (0, 4, 4, 8),
    (2, 0, 4, 4),
    (0, 2, 2, 4),
    (1, 0, 2, 2),
    (0, 1, 1, 2),
];

/// The header of a PNG.
pub(crate) struct Header {
    /// The width in pixels.
    pub(crate) width: u32,
    /// The height in pixels.
    pub(crate) height: u32,
    bits_a_pixel: u64,
    is_interlaced: bool,
}

impl Header {
    /// Reads the header of a file with a PNG signature; `None` if there is no valid header.
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

    /// Returns the decompressed size of the data in bytes: for each line a filter byte and the pixels.
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

    /// Checks that the file is complete and that its data have exactly the size that the header implies.
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

/// Decompresses the data of a file and discards the output.
struct Data {
    unpacking: Decompress,
    piece: Vec<u8>,
    /// Bytes that are still expected.
    left: u64,
}

impl Data {
    fn of(bytes: u64) -> Self {
        Self { unpacking: Decompress::new(true), piece: vec![0; PIECE_BYTES], left: bytes }
    }

    /// Decompresses a chunk; `None` if it has more data than expected or is damaged.
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

/// Splits off the first chunk: its kind, its content, and the rest.
fn split(chunks: &[u8]) -> Option<(&[u8], &[u8], &[u8])> {
    let length = usize::try_from(u32::from_be_bytes(*chunks.first_chunk()?)).ok()?;
    let end = length.checked_add(8)?;
    Some((chunks.get(4..8)?, chunks.get(8..end)?, chunks.get(end + 4..)?))
}
