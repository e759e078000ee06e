//! Line plots as data for inline SVG: coordinates are computed here, the template draws them.

use std::fmt::Write;

/// A tick on an axis.
#[derive(Debug)]
pub(crate) struct Tick {
    pub(crate) at: String,
    pub(crate) label: String,
}

/// One line; `style` is the number of its colour and dash.
#[derive(Debug)]
pub(crate) struct Line {
    pub(crate) name: String,
    pub(crate) style: usize,
    pub(crate) points: String,
    /// Coordinates of a single point, which is drawn as a dot.
    pub(crate) dots: Vec<(String, String)>,
}

/// A plot with its text alternative.
#[derive(Debug)]
pub(crate) struct Plot {
    pub(crate) id: &'static str,
    pub(crate) title: &'static str,
    /// The text alternative.
    pub(crate) summary: String,
    pub(crate) x_label: &'static str,
    pub(crate) y_label: &'static str,
    pub(crate) frame: Frame,
    pub(crate) lines: Vec<Line>,
}

/// The size of the drawing and its margins, in SVG units.
impl Plot {
    pub(crate) const WIDTH: f64 = 720.0;
    pub(crate) const HEIGHT: f64 = 280.0;
    pub(crate) const LEFT: f64 = 64.0;
    pub(crate) const TOP: f64 = 12.0;
    /// The right and lower ends of the axes.
    pub(crate) const INNER_RIGHT: f64 = Self::WIDTH - 28.0;
    pub(crate) const INNER_BOTTOM: f64 = Self::HEIGHT - 44.0;
}

/// Maps a figure to a position between 0 and 1.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Scale {
    /// From zero.
    Linear {
        to: f64,
    },
    Log {
        from: f64,
        to: f64,
    },
    /// Percentiles: each further nine takes the same length.
    Nines,
}

impl Scale {
    /// A linear scale from zero to a round figure that includes all values.
    pub(crate) fn from_zero(values: impl Iterator<Item = f64>) -> Self {
        let most = values.fold(0.0, f64::max);
        Self::Linear { to: if most > 0.0 { round_up(most) } else { 1.0 } }
    }

    /// A logarithmic scale between round figures that includes all values above zero.
    pub(crate) fn log(values: impl Iterator<Item = f64> + Clone) -> Self {
        let above = values.filter(|value| *value > 0.0);
        let least = above.clone().fold(f64::INFINITY, f64::min);
        let most = above.fold(0.0, f64::max);
        if most <= 0.0 {
            return Self::Log { from: 0.1, to: 10.0 };
        }
        let (from, to) = (round_down(least), round_up(most));
        if to > from {
            Self::Log { from, to }
        } else {
            Self::Log { from: from / 2.0, to: to * 2.0 }
        }
    }

    fn place(self, value: f64) -> f64 {
        let place = match self {
            Self::Linear { to } => value / to,
            Self::Log { from, to } => (value.max(from) / from).ln() / (to / from).ln(),
            Self::Nines => -((100.0 - value).max(0.001) / 100.0).log10() / 5.0,
        };
        place.clamp(0.0, 1.0)
    }

    /// Returns round figures along the scale.
    fn marks(self) -> Vec<f64> {
        match self {
            Self::Linear { to } => (0..=4).map(|quarter| to * f64::from(quarter) / 4.0).collect(),
            Self::Log { from, to } => {
                let first = from.log10().floor();
                let mut marks: Vec<f64> = (0..16)
                    .flat_map(|power| {
                        [1.0, 2.0, 5.0].map(|digit| digit * 10_f64.powf(first + f64::from(power)))
                    })
                    .filter(|mark| *mark >= from * 0.999 && *mark <= to * 1.001)
                    .collect();
                if marks.len() > 9 {
                    marks.retain(|mark| (mark.log10() - mark.log10().round()).abs() < 1e-9);
                }
                marks
            }
            Self::Nines => vec![0.0, 50.0, 90.0, 99.0, 99.9, 99.99, 99.999],
        }
    }

    /// Formats a mark as short as possible.
    fn label(self, mark: f64) -> String {
        match self {
            Self::Nines => mark.to_string(),
            _ if mark >= 10_000.0 => format!("{}k", trim(mark / 1000.0, 1)),
            _ => trim(mark, if mark < 0.1 { 3 } else { 2 }),
        }
    }

    /// Returns a tick for each mark; `at` maps a mark to its coordinate.
    fn ticks(self, at: impl Fn(f64) -> String) -> Vec<Tick> {
        let tick = |mark| Tick { at: at(mark), label: self.label(mark) };
        self.marks().into_iter().map(tick).collect()
    }
}

/// Rounds up to 1, 2 or 5 times a power of ten.
fn round_up(value: f64) -> f64 {
    let power = 10_f64.powf(value.log10().floor());
    let digit = value / power;
    power * [1.0, 2.0, 5.0].into_iter().find(|round| digit <= round * 1.000_001).unwrap_or(10.0)
}

fn round_down(value: f64) -> f64 {
    let power = 10_f64.powf(value.log10().floor());
    let digit = value / power;
    power * [5.0, 2.0, 1.0].into_iter().find(|round| digit >= round * 0.999_999).unwrap_or(1.0)
}

/// The scales of both axes.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Frame {
    pub(crate) x: Scale,
    pub(crate) y: Scale,
}

impl Frame {
    fn x_at(self, value: f64) -> String {
        let across = Plot::INNER_RIGHT - Plot::LEFT;
        format!("{:.1}", Plot::LEFT + across * self.x.place(value))
    }

    fn y_at(self, value: f64) -> String {
        let down = Plot::INNER_BOTTOM - Plot::TOP;
        format!("{:.1}", Plot::INNER_BOTTOM - down * self.y.place(value))
    }

    pub(crate) fn x_ticks(self) -> Vec<Tick> {
        self.x.ticks(|mark| self.x_at(mark))
    }

    pub(crate) fn y_ticks(self) -> Vec<Tick> {
        self.y.ticks(|mark| self.y_at(mark))
    }

    pub(crate) fn line(self, name: impl Into<String>, style: usize, values: &[(f64, f64)]) -> Line {
        let mut points = String::with_capacity(values.len() * 12);
        for (x, y) in values {
            // Writing to a string cannot fail.
            let _ = write!(points, "{},{} ", self.x_at(*x), self.y_at(*y));
        }
        let dots = if values.len() == 1 {
            values.iter().map(|(x, y)| (self.x_at(*x), self.y_at(*y))).collect()
        } else {
            Vec::new()
        };
        Line { name: name.into(), style, points: points.trim_end().to_owned(), dots }
    }
}

fn trim(value: f64, decimals: usize) -> String {
    let text = format!("{value:.decimals$}");
    if text.contains('.') {
        text.trim_end_matches('0').trim_end_matches('.').to_owned()
    } else {
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scales_end_on_round_figures() {
        assert!(matches!(Scale::from_zero([41_234.0].into_iter()), Scale::Linear { to: 50_000.0 }));
        let Scale::Log { from, to } = Scale::log([0.3, 7.0, 0.0].into_iter()) else {
            panic!("a log scale")
        };
        assert!((from - 0.2).abs() < 1e-9 && (to - 10.0).abs() < 1e-9, "{from} {to}");
        assert_eq!(
            [0.2, 0.05, 50_000.0, 12_500.0, 0.005]
                .map(|mark| Scale::Linear { to: 1.0 }.label(mark)),
            ["0.2", "0.05", "50k", "12.5k", "0.005"]
        );
    }

    #[test]
    fn every_point_lies_inside_the_axes() {
        let frame = Frame {
            x: Scale::from_zero([10.0].into_iter()),
            y: Scale::log([1.0, 1000.0].into_iter()),
        };
        for (x, y) in [(0.0, 0.0), (10.0, 1000.0), (99.0, 1e9)] {
            let line = frame.line("x", 0, &[(x, y)]);
            let (x, y) = line.points.split_once(',').unwrap();
            assert!(
                (Plot::LEFT..=Plot::INNER_RIGHT).contains(&x.parse().unwrap())
                    && (Plot::TOP..=Plot::INNER_BOTTOM).contains(&y.parse().unwrap())
            );
            assert_eq!(line.dots.len(), 1);
        }
    }

    #[test]
    fn an_empty_plot_still_has_axes() {
        let frame =
            Frame { x: Scale::from_zero(std::iter::empty()), y: Scale::log(std::iter::empty()) };
        assert!(!frame.x_ticks().is_empty() && !frame.y_ticks().is_empty());
    }
}
