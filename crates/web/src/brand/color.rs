//! The accent colour, in shades that can be read on every ground of the pages.

use std::fmt;

use lodge_domain::{Error, Result};

/// The least contrast of text, by WCAG 2.2 (1.4.3).
const CONTRAST_MIN: f64 = 4.5;

/// The darkest ground of light pages below text in the accent colour, beside tints: `--ground` of `lodge.css`.
const LIGHT_GROUND: Color = Color([0xef, 0xf3, 0xf2]);

/// The lightest ground of dark pages: `--surface` of `lodge.css`.
const DARK_SURFACE: Color = Color([0x16, 0x20, 0x1d]);

/// Text on the accent colour of dark pages.
const DARK_ON_ACCENT: Color = Color([0x08, 0x14, 0x11]);

const WHITE: Color = Color([255; 3]);
const BLACK: Color = Color([0; 3]);

/// A colour, as red, green and blue.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Color([u8; 3]);

impl fmt::Display for Color {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [red, green, blue] = self.0;
        write!(f, "#{red:02x}{green:02x}{blue:02x}")
    }
}

/// The accent colour and what belongs to it.
#[derive(Debug, Clone, Copy)]
struct Shades {
    accent: Color,
    strong: Color,
    on_accent: Color,
    tint: Color,
}

impl Color {
    /// Parses a colour such as `#0f5b47`.
    pub fn parse(text: &str) -> Result<Self> {
        let is_hex =
            |digits: &&str| digits.len() == 6 && digits.bytes().all(|b| b.is_ascii_hexdigit());
        let digits = text.strip_prefix('#').filter(is_hex);
        let part = |at: usize| u8::from_str_radix(digits?.get(at..at + 2)?, 16).ok();
        match (part(0), part(2), part(4)) {
            (Some(red), Some(green), Some(blue)) => Ok(Self([red, green, blue])),
            _ => Err(Error::invalid(
                "color",
                format!("must be # and six hexadecimal digits, such as #0f5b47, not {text:?}"),
            )),
        }
    }

    /// The accent colour of light pages: this one, or the nearest darker one that can be read.
    pub(super) fn light(self) -> Self {
        self.on_light().accent
    }

    /// Returns the style sheet that sets the colours.
    pub(super) fn style(self) -> String {
        let set = |Shades { accent, strong, on_accent, tint }: Shades| {
            format!(
                ":root{{--accent:{accent};--accent-strong:{strong};--on-accent:{on_accent};--tint:{tint}}}"
            )
        };
        let (light, dark) = (set(self.on_light()), set(self.on_dark()));
        format!("{light}@media (prefers-color-scheme:dark){{{dark}}}\n")
    }

    fn on_light(self) -> Shades {
        let shades = |step| {
            let accent = self.mixed(BLACK, step);
            let (strong, tint) = (accent.mixed(BLACK, 25), WHITE.mixed(accent, 12));
            Shades { accent, strong, on_accent: WHITE, tint }
        };
        first_readable(shades, &[WHITE, LIGHT_GROUND])
    }

    fn on_dark(self) -> Shades {
        let shades = |step| {
            let accent = self.mixed(WHITE, step);
            let (strong, tint) = (accent.mixed(WHITE, 25), DARK_SURFACE.mixed(accent, 12));
            Shades { accent, strong, on_accent: DARK_ON_ACCENT, tint }
        };
        first_readable(shades, &[DARK_SURFACE])
    }

    /// Mixes in `percent` of another colour.
    fn mixed(self, other: Self, percent: u16) -> Self {
        let mix = |own: u8, other: u8| {
            let sum = u16::from(own) * (100 - percent) + u16::from(other) * percent;
            u8::try_from((sum + 50) / 100).unwrap_or(u8::MAX)
        };
        let ([red, green, blue], other) = (self.0, other.0);
        Self([mix(red, other[0]), mix(green, other[1]), mix(blue, other[2])])
    }

    /// The relative luminance, 0 to 1.
    fn luminance(self) -> f64 {
        let [red, green, blue] = self.0.map(|part| {
            let part = f64::from(part) / 255.0;
            if part <= 0.04045 { part / 12.92 } else { ((part + 0.055) / 1.055).powf(2.4) }
        });
        0.2126 * red + 0.7152 * green + 0.0722 * blue
    }

    /// The contrast ratio of two colours, 1 to 21.
    fn contrast(self, other: Self) -> f64 {
        let (one, other) = (self.luminance() + 0.05, other.luminance() + 0.05);
        one.max(other) / one.min(other)
    }
}

/// Returns the shades of the first step, 0 to 100, in which the accent colour can be read on each ground and on the
/// tint, and the text on it as well.
fn first_readable(shades: impl Fn(u16) -> Shades, grounds: &[Color]) -> Shades {
    let is_readable = |Shades { accent, on_accent, tint, .. }: &Shades| {
        let on_it = grounds.iter().chain([tint, on_accent]);
        on_it.into_iter().all(|other| accent.contrast(*other) >= CONTRAST_MIN)
    };
    (0..100).map(&shades).find(is_readable).unwrap_or_else(|| shades(100))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_colour_is_six_hexadecimal_digits() {
        assert_eq!(Color::parse("#0F5b47").unwrap().to_string(), "#0f5b47");
        for text in
            ["", "#", "0f5b47", "#fff", "#0f5b4", "#0f5b4g", "#0f5b477", "#0f5bé", "red", "#+f5b47"]
        {
            assert!(Color::parse(text).is_err(), "{text}");
        }
    }

    #[test]
    fn every_colour_has_shades_that_can_be_read() {
        let levels = (0..=255).step_by(51);
        for red in levels.clone() {
            for green in levels.clone() {
                for blue in levels.clone() {
                    let color = Color([red, green, blue]);
                    let (light, dark) = (color.on_light(), color.on_dark());
                    for (shades, ground, soft) in [
                        (light, LIGHT_GROUND, Color([0x4c, 0x5d, 0x57])),
                        (dark, DARK_SURFACE, Color([0xa3, 0xb4, 0xad])),
                    ] {
                        let Shades { accent, strong, on_accent, tint } = shades;
                        for (text, on) in [
                            (accent, ground),
                            (accent, tint),
                            (strong, tint),
                            (on_accent, accent),
                            (on_accent, strong),
                            (soft, tint),
                        ] {
                            assert!(text.contrast(on) >= CONTRAST_MIN, "{color}: {shades:?}");
                        }
                    }
                }
            }
        }
    }

    #[test]
    fn a_colour_that_can_be_read_stays_as_it_is() {
        let color = Color::parse("#0f5b47").unwrap();
        assert_eq!(color.light(), color);
        let yellow = Color::parse("#ffdd00").unwrap();
        assert!(yellow.light() != yellow && yellow.on_dark().accent == yellow);
        assert!(yellow.style().contains("--accent:#ffdd00;"), "{}", yellow.style());
    }

    #[test]
    fn the_grounds_are_those_of_the_style_sheet() {
        let css = include_str!("../../assets/lodge.css");
        let all = |name: &str| -> Vec<Color> {
            let start = format!("  {name}: ");
            let values = css.split(&start).skip(1);
            let value = |rest: &str| match rest.split(';').next().unwrap() {
                "#fff" => WHITE,
                value => Color::parse(value).unwrap(),
            };
            values.map(value).collect()
        };
        let (grounds, surfaces) = (all("--ground"), all("--surface"));
        assert_eq!((grounds[0], surfaces[0], surfaces[1]), (LIGHT_GROUND, WHITE, DARK_SURFACE));
        assert!(grounds[1].luminance() < DARK_SURFACE.luminance());
    }
}
