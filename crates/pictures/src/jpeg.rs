//! Checks of a JPEG before it is decoded (ITU-T T.81): that it is complete, which the decoder does not check, and
//! how much memory decoding takes.

/// The most scans of a picture; encoders make about ten. Each scan makes a pass over the whole picture, however few
/// bytes it has.
const SCANS_MAX: usize = 100;

const END_OF_IMAGE: u8 = 0xd9;
const START_OF_SCAN: u8 = 0xda;

/// The relevant fields of a frame header.
struct Frame {
    is_progressive: bool,
    width: u64,
    height: u64,
    /// The horizontal and vertical sampling factor of each component.
    samplings: Vec<(u64, u64)>,
}

/// Returns the bytes of coefficients that the decoder buffers for a JPEG with several scans; `None` if the file is
/// incomplete or not a picture.
pub(crate) fn coefficient_bytes(bytes: &[u8]) -> Option<u64> {
    let (mut at, mut frame, mut scans) = (2, None, 0);
    loop {
        let marker = next_marker(bytes, &mut at)?;
        if marker == END_OF_IMAGE {
            break;
        }
        if !has_length(marker) {
            continue;
        }
        let length = usize::from(u16::from_be_bytes([*bytes.get(at)?, *bytes.get(at + 1)?]));
        let segment = bytes.get(at + 2..at + length)?;
        at += length;
        if is_frame(marker) && frame.replace(Frame::read(marker, segment)?).is_some() {
            return None;
        }
        scans += usize::from(marker == START_OF_SCAN);
    }
    let frame = frame.filter(|_| (1..=SCANS_MAX).contains(&scans))?;
    Some(if frame.is_progressive || scans > 1 { frame.coefficient_bytes() } else { 0 })
}

/// Returns the next marker from `at` on and moves `at` behind it. Skips stuffed zeros (`FF 00`) and restart markers in
/// the data of a scan.
fn next_marker(bytes: &[u8], at: &mut usize) -> Option<u8> {
    let rest = bytes.get(*at..)?;
    let is_marker = |pair: &[u8]| pair[0] == 0xff && !matches!(pair[1], 0 | 0xd0..=0xd7 | 0xff);
    let found = rest.windows(2).position(is_marker)?;
    *at += found + 2;
    Some(rest[found + 1])
}

fn has_length(marker: u8) -> bool {
    !matches!(marker, 0x01 | 0xd8)
}

/// Whether a marker begins a frame; tables (DHT, DAC) and the reserved marker (JPG) do not.
fn is_frame(marker: u8) -> bool {
    matches!(marker, 0xc0..=0xcf) && !matches!(marker, 0xc4 | 0xc8 | 0xcc)
}

impl Frame {
    fn read(marker: u8, segment: &[u8]) -> Option<Self> {
        let [_precision, h1, h0, w1, w0, count, components @ ..] = segment else { return None };
        let (components, rest) = components.as_chunks::<3>();
        let samplings = components
            .iter()
            .map(|[_, sampling, _]| (u64::from(sampling >> 4), u64::from(sampling & 15)))
            .collect();
        let is_sound = components.len() == usize::from(*count)
            && rest.is_empty()
            && components.iter().all(|[_, factors, _]| {
                (1..=4).contains(&(factors >> 4)) && (1..=4).contains(&(factors & 15))
            });
        is_sound.then(|| Self {
            is_progressive: matches!(marker, 0xc2 | 0xc6 | 0xca | 0xce),
            width: u16::from_be_bytes([*w1, *w0]).into(),
            height: u16::from_be_bytes([*h1, *h0]).into(),
            samplings,
        })
    }

    /// Returns two bytes for each sample, in whole blocks of eight by eight.
    fn coefficient_bytes(&self) -> u64 {
        let across = self.samplings.iter().map(|(across, _)| *across).max().unwrap_or(1);
        let down = self.samplings.iter().map(|(_, down)| *down).max().unwrap_or(1);
        let units = self.width.div_ceil(8 * across) * self.height.div_ceil(8 * down);
        let blocks: u64 = self.samplings.iter().map(|(across, down)| across * down).sum();
        units * blocks * 64 * 2
    }
}
