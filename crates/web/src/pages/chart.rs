//! Bar charts: the geometry and labels of numbers.

/// Up to this many bars, each has its label; the labels of more would overlap.
const LABELLED_MAX: usize = 5;

/// A bar; its column is 10 units wide and 100 high.
pub(crate) struct Bar {
    /// The left edge of the column.
    pub(crate) x: usize,
    /// The upper edge.
    pub(crate) y: u64,
    /// The height, 0 to 100.
    pub(crate) height: u64,
    /// The category.
    pub(crate) label: String,
    /// The value.
    pub(crate) value: u64,
}

/// The title and axes of a chart.
pub(crate) struct Words {
    /// The title.
    pub(crate) title: &'static str,
    /// The name of the x-axis.
    pub(crate) along: &'static str,
    /// The name of the y-axis.
    pub(crate) up: &'static str,
}

/// A chart, ready to render.
pub(crate) struct Chart {
    /// The prefix of element ids, unique on the page.
    pub(crate) id: &'static str,
    /// The title and axes.
    pub(crate) words: Words,
    /// The bars from left to right, empty ones included.
    pub(crate) bars: Vec<Bar>,
    /// The top of the scale; even, since half of it labels the middle.
    pub(crate) top: u64,
    /// The text alternative.
    pub(crate) summary: String,
}

impl Chart {
    /// Makes a chart of labelled values.
    pub(crate) fn of(
        id: &'static str,
        words: Words,
        bars: Vec<(String, u64)>,
        summary: String,
    ) -> Self {
        let top = nice_top(bars.iter().map(|(_, value)| *value).max().unwrap_or(0));
        let bars = bars.into_iter().enumerate().map(|(index, (label, value))| {
            // At least 1, so that a small value stays visible beside large ones.
            let height = if value == 0 { 0 } else { (value * 100 / top).max(1) };
            Bar { x: index * 10, y: 100 - height, height, label, value }
        });
        Self { id, words, bars: bars.collect(), top, summary }
    }

    /// The width of the drawing, in units.
    pub(crate) fn width(&self) -> usize {
        self.bars.len() * 10
    }

    /// The label in the middle of the scale.
    pub(crate) fn half(&self) -> u64 {
        self.top / 2
    }

    /// Whether every bar has a label.
    pub(crate) fn labels_all(&self) -> bool {
        self.bars.len() <= LABELLED_MAX
    }

    /// The labels below the bars: all, or only the first, the middle and the last.
    pub(crate) fn labels(&self) -> Vec<&str> {
        let bars: Vec<&Bar> = match &self.bars[..] {
            [first, .., last] if !self.labels_all() => {
                vec![first, &self.bars[self.bars.len() / 2], last]
            }
            all => all.iter().collect(),
        };
        bars.into_iter().map(|bar| &*bar.label).collect()
    }
}

/// Returns the smallest even round number that is at least `most`: 2, 4, 6, 8, 10, 20, 30, 40, 50, 60, 80,
/// 100, 150, 200, 250, 300, …
fn nice_top(most: u64) -> u64 {
    let mut unit = 1;
    loop {
        let tops = [2, 3, 4, 5, 6, 8, 10, 15, 20, 25].map(|n| n * unit);
        if let Some(top) = tops.into_iter().find(|top| *top >= most && top.is_multiple_of(2)) {
            return top;
        }
        unit *= 10;
    }
}

#[cfg(test)]
mod tests {
    use askama::Template;

    use super::*;

    /// The chart template alone.
    #[derive(Template)]
    #[template(source = "{% include \"chart.html\" %}", ext = "html")]
    struct Drawn<'a> {
        chart: &'a Chart,
    }

    fn chart(bars: &[(&str, u64)]) -> Chart {
        let words = Words { title: "Rides by lift", along: "Lift", up: "Rides" };
        let bars = bars.iter().map(|(label, value)| ((*label).to_owned(), *value)).collect();
        Chart::of("lifts", words, bars, "3 rides, \"so\" <to> say.".to_owned())
    }

    fn drawn(bars: &[(&str, u64)]) -> String {
        Drawn { chart: &chart(bars) }.render().unwrap()
    }

    #[test]
    fn the_top_is_round_and_can_be_halved() {
        assert_eq!(
            [0, 1, 2, 3, 7, 9, 11, 95, 101, 221, 251, 1_000_001].map(nice_top),
            [2, 2, 2, 4, 8, 10, 20, 100, 150, 250, 300, 1_500_000]
        );
        for most in 20..10_000 {
            assert!(nice_top(most) < most * 2, "{most} would leave half of the chart empty");
        }
    }

    #[test]
    fn a_chart_has_a_text_alternative_and_a_table() {
        let html = drawn(&[("Lift 1", 3), ("Lift 2", 0)]);
        for part in [
            "role=\"img\" aria-labelledby=\"lifts-title lifts-text\"",
            "<title id=\"lifts-title\">Rides by lift</title>",
            "<desc id=\"lifts-text\">3 rides, &#34;so&#34; &#60;to&#62; say.</desc>",
            "<th scope=\"row\">Lift 1</th><td>3</td>",
            "<th scope=\"row\">Lift 2</th><td>0</td>",
        ] {
            assert!(html.contains(part), "no {part} in {html}");
        }
    }

    #[test]
    fn a_label_cannot_become_markup() {
        let html = drawn(&[("<script>alert(1)</script>", 1)]);
        assert!(!html.contains("<script") && html.contains("&#60;script&#62;"), "{html}");
    }

    #[test]
    fn a_chart_may_be_empty_or_have_one_bar() {
        let empty = chart(&[]);
        assert_eq!((empty.width(), empty.labels()), (0, vec![]));
        assert!(!drawn(&[]).contains("<rect"));
        let one = chart(&[("1", 7)]);
        let bar = &one.bars[0];
        assert_eq!((one.width(), one.top, bar.x, bar.y, bar.height), (10, 8, 0, 13, 87));
        assert_eq!(one.labels(), ["1"]);
        assert_eq!(drawn(&[("1", 7)]).matches("class=\"bar\"").count(), 1);
    }

    #[test]
    fn labels_stand_below_their_bars_without_repetition() {
        let few = ["Carpet", "Lift 2", "Quad"].map(|label| (label, 1));
        assert_eq!(chart(&few).labels(), ["Carpet", "Lift 2", "Quad"]);
        assert_eq!(chart(&few[..2]).labels(), ["Carpet", "Lift 2"]);
        assert!(drawn(&few).contains("<div class=\"along all\""));
        let many = ["1", "2", "3", "4", "5", "6"].map(|label| (label, 1));
        assert_eq!(chart(&many[..5]).labels().len(), 5);
        assert_eq!(chart(&many).labels(), ["1", "4", "6"]);
        assert!(drawn(&many).contains("<div class=\"along\""));
    }

    #[test]
    fn a_long_label_is_complete_in_tooltip_and_table() {
        let html = drawn(&[("North Face Express Quad", 1), ("Lift 2", 0)]);
        assert!(html.contains("<title>North Face Express Quad: 1</title>"), "{html}");
        assert!(html.contains("<th scope=\"row\">North Face Express Quad</th>"), "{html}");
    }
}
