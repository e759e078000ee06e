//! A lossless WebP (RFC 9649, section 3) of one pixel with the most groups of prefix codes, each of which makes the
//! largest table in memory that so few bytes can make.

use std::iter::repeat_n;

/// Groups of prefix codes; each has five.
const GROUPS: u32 = 1 << 16;

/// The order in which the lengths of codes are written.
const ORDER: [u32; 14] = [17, 18, 0, 1, 2, 3, 4, 5, 16, 6, 7, 8, 9, 10];

/// The code lengths of the symbols: one of each length up to 9, and two of 10, which is a complete code.
const LENGTHS: [u32; 11] = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 10];

/// A bit stream, least significant bit first.
#[derive(Default)]
struct Bits {
    bytes: Vec<u8>,
    held: u64,
    count: u32,
}

impl Bits {
    fn put(&mut self, value: u32, bits: u32) {
        self.held |= u64::from(value) << self.count;
        self.count += bits;
        while self.count >= 8 {
            self.bytes.extend(self.held.to_le_bytes().first());
            self.held >>= 8;
            self.count -= 8;
        }
    }

    /// Writes a code of one symbol, of 8 bits.
    fn put_single(&mut self, symbol: u32) {
        self.put(0b101, 3);
        self.put(symbol, 8);
    }

    /// Writes a code of eleven symbols, by the lengths of their codes.
    fn put_tree(&mut self) {
        self.put(0, 1);
        self.put(14 - 4, 4);
        for length in ORDER {
            self.put(length_bits(length), 3);
        }
        // The number of symbols that have a length, in four bits.
        self.put(0b1001_0011, 8);
        for length in LENGTHS {
            let (code, bits) = code_of(length);
            self.put(code.reverse_bits() >> (32 - bits), bits);
        }
    }
}

/// The number of bits of a length's own code: six lengths have 3 bits, four have 4.
fn length_bits(length: u32) -> u32 {
    match length {
        1..=6 => 3,
        7..=10 => 4,
        _ => 0,
    }
}

/// The code of a length, most significant bit first, and its number of bits.
fn code_of(length: u32) -> (u32, u32) {
    match length_bits(length) {
        3 => (length - 1, 3),
        _ => (12 + length - 7, 4),
    }
}

pub(super) fn webp() -> Vec<u8> {
    let mut bits = Bits::default();
    bits.put(0x2f, 8);
    // Width and height of one pixel; no alpha, version 0; no transform, no colour cache; groups in blocks of four
    // pixels, whose own image has no colour cache either.
    for (value, count) in [(0, 14), (0, 14), (0, 4), (0, 1), (0, 1), (1, 1), (0, 3), (0, 1)] {
        bits.put(value, count);
    }
    let last = GROUPS - 1;
    for symbol in [last & 255, last >> 8, 0, 0, 0] {
        bits.put_single(symbol);
    }
    for () in repeat_n((), 5 * GROUPS as usize) {
        bits.put_tree();
    }
    bits.put(0, 32);
    bits.put(0, 32);
    super::webp(&[(b"VP8L", even(bits.bytes))])
}

/// Pads the content of a chunk to an even length.
fn even(mut bytes: Vec<u8>) -> Vec<u8> {
    bytes.extend(repeat_n(0, bytes.len() % 2));
    bytes
}
