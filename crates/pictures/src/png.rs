//! A PNG before it is decoded: how much its data unpack to. The decoder goes through all of it, however
//! little of it belongs to the picture.

use flate2::{Decompress, FlushDecompress, Status};

/// What is unpacked at once, in bytes.
const PIECE_BYTES: usize = 64 << 10;

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

    /// Whether the data of the file are whole, and just what the header says.
    pub(crate) fn fits(&self, bytes: &[u8]) -> bool {
        let mut rest = &bytes[8..];
        let (mut unpacking, mut left) = (Decompress::new(true), self.unpacked_bytes());
        loop {
            let Some((kind, content, after)) = split(rest) else { return false };
            match kind {
                b"IDAT" => match unpack(&mut unpacking, content, left) {
                    Some(still) => left = still,
                    None => return false,
                },
                b"IEND" => return left == 0,
                _ => {}
            }
            rest = after;
        }
    }
}

/// Unpacks a piece of the data; what is left to come of `left` bytes, or `None` if more comes, or it is
/// damaged.
fn unpack(unpacking: &mut Decompress, packed: &[u8], mut left: u64) -> Option<u64> {
    let (mut rest, mut piece) = (packed, vec![0; PIECE_BYTES]);
    loop {
        let (came_in, came_out) = (unpacking.total_in(), unpacking.total_out());
        let status = unpacking.decompress(rest, &mut piece, FlushDecompress::None);
        left = left.checked_sub(unpacking.total_out() - came_out)?;
        let taken = usize::try_from(unpacking.total_in() - came_in).ok()?;
        rest = rest.get(taken..)?;
        match status.ok()? {
            Status::StreamEnd => return Some(left),
            _ if unpacking.total_out() == came_out && taken == 0 => return Some(left),
            _ => {}
        }
    }
}

/// The first chunk's kind and content, and what comes after it.
fn split(chunks: &[u8]) -> Option<(&[u8], &[u8], &[u8])> {
    let length = usize::try_from(u32::from_be_bytes(*chunks.first_chunk()?)).ok()?;
    let end = length.checked_add(8)?;
    Some((chunks.get(4..8)?, chunks.get(8..end)?, chunks.get(end + 4..)?))
}
