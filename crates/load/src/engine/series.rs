//! Throughput and latency over time, in windows of one second.
//!
//! Memory is bounded: a run of more than `WINDOWS_MAX` seconds gets windows of 2 s, then 4 s, and so on.

use std::time::Duration;

use hdrhistogram::Histogram;

use super::times::float;

/// The largest number of windows.
const WINDOWS_MAX: usize = 1024;

/// One window.
#[derive(Debug, Clone)]
struct Window {
    latency_us: Histogram<u32>,
    errors: u64,
}

impl Window {
    fn new() -> Self {
        #[expect(
            clippy::expect_used,
            reason = "the bounds are constants that the histogram accepts"
        )]
        let mut latency_us = Histogram::new_with_bounds(1, 10_000, 2).expect("valid bounds");
        latency_us.auto(true);
        Self { latency_us, errors: 0 }
    }

    fn point(&self, at_s: f64, end_s: f64) -> Point {
        let width_s = (end_s - at_s).max(0.0);
        let ms = |us: u64| float(us) / 1e3;
        Point {
            at_s,
            width_s,
            succeeded: self.latency_us.len(),
            errors: self.errors,
            rate_per_s: if width_s > 0.0 { float(self.latency_us.len()) / width_s } else { 0.0 },
            p50_ms: ms(self.latency_us.value_at_percentile(50.0)),
            p99_ms: ms(self.latency_us.value_at_percentile(99.0)),
            max_ms: ms(self.latency_us.max()),
        }
    }

    fn merge(&mut self, other: &Self) {
        // It grows by itself, so adding cannot fail.
        let added = self.latency_us.add(&other.latency_us);
        debug_assert!(added.is_ok());
        self.errors += other.errors;
    }
}

/// One window in the report.
#[derive(Debug, Clone, Copy, PartialEq, serde::Serialize)]
pub(crate) struct Point {
    /// Its beginning, since the start of the run.
    pub(crate) at_s: f64,
    pub(crate) width_s: f64,
    pub(crate) succeeded: u64,
    pub(crate) errors: u64,
    pub(crate) rate_per_s: f64,
    pub(crate) p50_ms: f64,
    pub(crate) p99_ms: f64,
    pub(crate) max_ms: f64,
}

/// Windows from the start of the run; a request counts in the window of its response.
#[derive(Debug, Clone, Default)]
pub(crate) struct Series {
    /// How often the window width, initially one second, was doubled.
    doublings: u32,
    windows: Vec<Window>,
}

impl Series {
    pub(crate) fn success(&mut self, at: Duration, latency: Duration) {
        let us = u64::try_from(latency.as_micros()).unwrap_or(u64::MAX);
        self.window(at).latency_us.saturating_record(us);
    }

    pub(crate) fn error(&mut self, at: Duration) {
        self.window(at).errors += 1;
    }

    fn window(&mut self, at: Duration) -> &mut Window {
        let mut index = self.index(at);
        while index >= WINDOWS_MAX {
            self.halve();
            index = self.index(at);
        }
        while self.windows.len() <= index {
            self.windows.push(Window::new());
        }
        &mut self.windows[index]
    }

    fn index(&self, at: Duration) -> usize {
        usize::try_from(at.as_secs() >> self.doublings).unwrap_or(usize::MAX)
    }

    /// Merges each pair of windows into one.
    fn halve(&mut self) {
        self.doublings += 1;
        let mut halved: Vec<Window> = Vec::with_capacity(self.windows.len() / 2 + 1);
        for (index, window) in self.windows.drain(..).enumerate() {
            match halved.last_mut() {
                Some(last) if index % 2 == 1 => last.merge(&window),
                _ => halved.push(window),
            }
        }
        self.windows = halved;
    }

    pub(crate) fn merge(&mut self, other: &Self) {
        let mut other = other.clone();
        while self.doublings < other.doublings {
            self.halve();
        }
        while other.doublings < self.doublings {
            other.halve();
        }
        for (index, window) in other.windows.iter().enumerate() {
            match self.windows.get_mut(index) {
                Some(mine) => mine.merge(window),
                None => self.windows.push(window.clone()),
            }
        }
    }

    /// Returns the windows up to `elapsed`. The last is as wide as the run reached into it; if that is less
    /// than half a window, its rate would mean nothing, and it is merged into the previous window.
    pub(crate) fn points(&self, elapsed: Duration) -> Vec<Point> {
        let full_s = float(1 << self.doublings);
        let elapsed_s = elapsed.as_secs_f64();
        let mut windows = self.windows.clone();
        while windows.len() > 1
            && elapsed_s - full_s * float(windows.len() as u64 - 1) < full_s / 2.0
        {
            let scrap = windows.pop();
            if let (Some(last), Some(scrap)) = (windows.last_mut(), scrap) {
                last.merge(&scrap);
            }
        }
        let count = windows.len();
        let ends_s = |index: usize| {
            if index + 1 == count { elapsed_s } else { full_s * float(index as u64 + 1) }
        };
        windows
            .iter()
            .enumerate()
            .map(|(index, window)| window.point(full_s * float(index as u64), ends_s(index)))
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_runs_get_wider_windows_not_more_of_them() {
        let mut long = Series::default();
        for second in 0..5000 {
            long.success(Duration::from_secs(second), Duration::from_millis(second % 10));
        }
        let mut short = Series::default();
        short.error(Duration::from_secs(9));
        short.merge(&long);
        let points = short.points(Duration::from_secs(5000));
        assert_eq!(points.len(), 625);
        assert_eq!(points.iter().map(|point| point.succeeded).sum::<u64>(), 5000);
        assert_eq!((points[1].at_s, points[1].width_s, points[1].errors), (8.0, 8.0, 1));
    }

    #[test]
    fn the_last_window_is_as_wide_as_the_run_reached() {
        let mut series = Series::default();
        series.success(Duration::from_millis(1400), Duration::from_millis(5));
        let points = series.points(Duration::from_millis(1500));
        assert_eq!(points[0].succeeded, 0);
        assert_eq!((points[1].width_s, points[1].rate_per_s), (0.5, 2.0));
    }

    #[test]
    fn a_short_window_at_the_end_is_merged_into_the_previous_one() {
        let mut series = Series::default();
        for ms in [500, 1500, 2001] {
            series.success(Duration::from_millis(ms), Duration::from_millis(1));
        }
        series.error(Duration::from_secs(9));
        let points = series.points(Duration::from_millis(2002));
        assert_eq!((points.len(), points[1].succeeded, points[1].errors), (2, 2, 1));
        assert!((points[1].width_s - 1.002).abs() < 1e-9);
    }
}
