//! Charts as SVG text: lines, areas and columns over a numeric axis.
//!
//! Nothing here knows what is drawn, or anything of this program, so that other reports can use the file
//! as it is. Colours come from the style sheet [`STYLE`], which follows the reader's choice of light or
//! dark; a page has it once, and [`Chart::svg`] has only classes. Every place on the axis has a title
//! that says its values, which viewers show on hovering.

use std::fmt::Write;

/// Colours and text sizes of all charts.
pub const STYLE: &str = "
:root { --ink: #1c2330; --faint: #667085; --grid: #e3e7ee; --paper: #ffffff; --panel: #f6f8fb;
  --s0: #2f6fde; --s1: #12a594; --s2: #e0912f; --s3: #9aa3b5; --s4: #b4508c; }
@media (prefers-color-scheme: dark) { :root { --ink: #e6eaf2; --faint: #98a2b6; --grid: #2c3444;
  --paper: #131822; --panel: #1b2230; --s0: #6aa0ff; --s1: #3ecfb9; --s2: #f0b056; --s3: #6d778c; --s4: #e07db8; } }
svg.chart { display: block; width: 100%; height: auto; font: 12px system-ui, sans-serif; }
.chart text { fill: var(--faint); } .chart .name { fill: var(--ink); }
.chart .grid { stroke: var(--grid); stroke-width: 1; } .chart .axis { stroke: var(--faint); stroke-width: 1; }
.chart .line { fill: none; stroke-width: 2; stroke-linejoin: round; }
.chart .l0 { stroke: var(--s0); } .chart .l1 { stroke: var(--s1); } .chart .l2 { stroke: var(--s2); }
.chart .l3 { stroke: var(--s3); } .chart .l4 { stroke: var(--s4); }
.chart .f0 { fill: var(--s0); } .chart .f1 { fill: var(--s1); } .chart .f2 { fill: var(--s2); }
.chart .f3 { fill: var(--s3); } .chart .f4 { fill: var(--s4); }
.chart .here { fill: var(--ink); fill-opacity: 0; } .chart .here:hover { fill-opacity: 0.12; }
";

/// Different colours; more series begin again.
const COLOURS: usize = 5;

/// A value at a place: drawn from `low` to `high`; a line is drawn at `high`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Point {
    /// Place on the axis.
    pub x: f64,
    /// Lower end.
    pub low: f64,
    /// Upper end.
    pub high: f64,
}

/// How a series is drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mark {
    /// A line through the upper ends.
    #[allow(dead_code, reason = "for reports that compare curves")]
    Line,
    /// The area between the ends.
    Area,
    /// A column per place.
    Column,
}

/// Values that belong together.
#[derive(Clone, Debug, PartialEq)]
pub struct Series {
    /// Shown in the legend.
    pub name: String,
    /// How to draw it.
    pub mark: Mark,
    /// In ascending order of places.
    pub points: Vec<Point>,
}

impl Series {
    /// Values above zero.
    pub fn new(name: &str, mark: Mark, values: impl IntoIterator<Item = (f64, f64)>) -> Series {
        let points = values.into_iter().map(|(x, high)| Point { x, low: 0.0, high }).collect();
        Series { name: name.to_string(), mark, points }
    }
}

/// Areas on top of each other: `columns[i]` has the values of all `names` at place `xs[i]`.
pub fn stacked(names: &[&str], xs: &[f64], columns: &[Vec<f64>]) -> Vec<Series> {
    let mut series: Vec<Series> =
        names.iter().map(|name| Series::new(name, Mark::Area, [])).collect();
    for (x, column) in xs.iter().zip(columns) {
        let mut low = 0.0;
        for (one, value) in series.iter_mut().zip(column) {
            one.points.push(Point { x: *x, low, high: low + value });
            low += value;
        }
    }
    series
}

/// A chart.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Chart {
    /// What it shows, for those who cannot see it.
    pub label: String,
    /// What the horizontal axis is.
    pub x_title: String,
    /// What the vertical axis is.
    pub y_title: String,
    /// Upper end of the vertical axis; the largest value if not given.
    pub top: Option<f64>,
    /// What is drawn, back to front.
    pub series: Vec<Series>,
}

const WIDTH: f64 = 540.0;
const HEIGHT: f64 = 250.0;
const LEFT: f64 = 52.0;
const RIGHT: f64 = 12.0;
const TOP: f64 = 30.0;
const BOTTOM: f64 = 44.0;

impl Chart {
    /// The chart as an `svg` element.
    pub fn svg(&self) -> String {
        let frame = Frame::of(self);
        let mut out = format!(
            "<svg class=\"chart\" viewBox=\"0 0 {WIDTH} {HEIGHT}\" role=\"img\" aria-label=\"{}\">\n",
            escape(&self.label)
        );
        self.grid(&frame, &mut out);
        for (i, series) in self.series.iter().enumerate() {
            draw(series, i % COLOURS, &frame, &mut out);
        }
        self.legend(&mut out);
        self.titles(&frame, &mut out);
        out.push_str("</svg>\n");
        out
    }

    fn points(&self) -> impl Iterator<Item = &Point> {
        self.series.iter().flat_map(|series| &series.points)
    }

    fn grid(&self, frame: &Frame, out: &mut String) {
        let (end, floor) = (WIDTH - RIGHT, HEIGHT - BOTTOM);
        for value in ticks(0.0, frame.top, 5, frame.least.1) {
            let y = frame.y(value);
            let class = if value == 0.0 { "axis" } else { "grid" };
            let _ = writeln!(
                out,
                "<line class=\"{class}\" x1=\"{LEFT}\" x2=\"{end}\" y1=\"{y:.1}\" y2=\"{y:.1}\"/>\
                 <text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"end\">{}</text>",
                LEFT - 6.0,
                y + 4.0,
                number(value)
            );
        }
        for value in ticks(frame.first, frame.last, 10, frame.least.0) {
            let _ = writeln!(
                out,
                "<text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{}</text>",
                frame.x(value),
                floor + 16.0,
                number(value)
            );
        }
        let _ = writeln!(
            out,
            "<text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{}</text>\
             <text x=\"8\" y=\"16\">{}</text>",
            (LEFT + end) / 2.0,
            HEIGHT - 8.0,
            escape(&self.x_title),
            escape(&self.y_title)
        );
    }

    /// One entry per series, right to left; a single series needs none.
    fn legend(&self, out: &mut String) {
        if self.series.len() < 2 {
            return;
        }
        let mut x = WIDTH - RIGHT;
        for (i, series) in self.series.iter().enumerate().rev() {
            x -= 7.0 * series.name.chars().count() as f64 + 12.0;
            let _ = writeln!(
                out,
                "<rect class=\"f{}\" x=\"{:.1}\" y=\"7\" width=\"10\" height=\"10\" rx=\"2\"/>\
                 <text class=\"name\" x=\"{x:.1}\" y=\"16\">{}</text>",
                i % COLOURS,
                x - 14.0,
                escape(&series.name)
            );
            x -= 18.0;
        }
    }

    /// Strips over the whole height that say the values at each place.
    fn titles(&self, frame: &Frame, out: &mut String) {
        let Some(longest) = self.series.iter().max_by_key(|series| series.points.len()) else {
            return;
        };
        let width = frame.step.max(1.0);
        for (i, point) in longest.points.iter().enumerate() {
            let mut title = format!("{} {}", self.x_title, number(point.x));
            for series in &self.series {
                if let Some(own) = series.points.get(i) {
                    let _ = write!(title, "\n{}: {}", series.name, number(own.high - own.low));
                }
            }
            let _ = writeln!(
                out,
                "<rect class=\"here\" x=\"{:.1}\" y=\"{TOP}\" width=\"{width:.1}\" \
                 height=\"{:.1}\"><title>{}</title></rect>",
                frame.x(point.x) - width / 2.0,
                HEIGHT - TOP - BOTTOM,
                escape(&title)
            );
        }
    }
}

/// Where values lie on the picture.
struct Frame {
    first: f64,
    last: f64,
    top: f64,
    /// Distance of two places in the picture.
    step: f64,
    /// Room on both sides of the outermost places.
    margin: f64,
    /// Least distance of marks on the axes: 1 where all values are whole.
    least: (f64, f64),
}

impl Frame {
    fn of(chart: &Chart) -> Frame {
        let finite = |value: f64| if value.is_finite() { value } else { 0.0 };
        let first = chart.points().map(|point| finite(point.x)).fold(f64::INFINITY, f64::min);
        let last = chart.points().map(|point| finite(point.x)).fold(f64::NEG_INFINITY, f64::max);
        let (first, last) = if first <= last { (first, last) } else { (0.0, 1.0) };
        let largest = chart.points().map(|point| finite(point.high)).fold(0.0, f64::max);
        let top = chart.top.unwrap_or(largest * 1.05);
        let places =
            chart.series.iter().map(|series| series.points.len()).max().unwrap_or(0).max(1) as f64;
        let columns = chart.series.iter().any(|series| series.mark == Mark::Column);
        let width = WIDTH - LEFT - RIGHT;
        let step = if columns { width / places } else { width / (places - 1.0).max(1.0) };
        let margin = if columns { step / 2.0 } else { 0.0 };
        let least = |whole: bool| if whole { 1.0 } else { 0.0 };
        let least = (
            least(chart.points().all(|point| point.x.fract() == 0.0)),
            least(chart.points().all(|point| point.high.fract() == 0.0)),
        );
        Frame { first, last, top: if top > 0.0 { top } else { 1.0 }, step, margin, least }
    }

    fn x(&self, value: f64) -> f64 {
        let width = WIDTH - LEFT - RIGHT - 2.0 * self.margin;
        let part = if self.last > self.first {
            (value - self.first) / (self.last - self.first)
        } else {
            0.5
        };
        LEFT + self.margin + part * width
    }

    fn y(&self, value: f64) -> f64 {
        HEIGHT - BOTTOM - (value / self.top).clamp(0.0, 1.0) * (HEIGHT - TOP - BOTTOM)
    }
}

fn draw(series: &Series, colour: usize, frame: &Frame, out: &mut String) {
    let place = |x: f64, y: f64| format!("{:.1},{:.1}", frame.x(x), frame.y(y));
    let upper = series.points.iter().map(|point| place(point.x, point.high));
    match series.mark {
        Mark::Line => {
            let path = upper.collect::<Vec<_>>().join(" ");
            let _ = writeln!(out, "<polyline class=\"line l{colour}\" points=\"{path}\"/>");
        }
        Mark::Area => {
            let lower = series.points.iter().rev().map(|point| place(point.x, point.low));
            let path = upper.chain(lower).collect::<Vec<_>>().join(" ");
            let _ = writeln!(out, "<polygon class=\"f{colour}\" points=\"{path}\"/>");
        }
        Mark::Column => {
            let width = if frame.step > 4.0 { frame.step - 2.0 } else { frame.step.max(0.5) };
            let width = width.min(48.0);
            for point in &series.points {
                let (low, high) = (frame.y(point.low), frame.y(point.high));
                let _ = writeln!(
                    out,
                    "<rect class=\"f{colour}\" x=\"{:.1}\" y=\"{high:.1}\" width=\"{width:.1}\" \
                     height=\"{:.1}\"/>",
                    frame.x(point.x) - width / 2.0,
                    low - high
                );
            }
        }
    }
}

/// Round numbers between two values, about as many as wanted, with at least this distance.
fn ticks(first: f64, last: f64, wanted: usize, least: f64) -> Vec<f64> {
    let rough = (last - first) / wanted as f64;
    if !rough.is_finite() || rough <= 0.0 {
        return vec![first];
    }
    let rough = rough.max(least);
    let power = 10f64.powf(rough.log10().floor());
    let factor = [1.0, 2.0, 5.0, 10.0].into_iter().find(|f| f * power >= rough).unwrap_or(10.0);
    let step = factor * power;
    let (from, to) = ((first / step).ceil() as i64, (last / step).floor() as i64);
    (from..=to).map(|i| i as f64 * step).collect()
}

/// A number in few digits: 1234567 is `1.23M`.
pub fn number(value: f64) -> String {
    let (scaled, unit) = match value.abs() {
        size if size >= 1e9 => (value / 1e9, "G"),
        size if size >= 1e6 => (value / 1e6, "M"),
        size if size >= 1e4 => (value / 1e3, "k"),
        _ => (value, ""),
    };
    let digits = match scaled.abs() {
        size if size >= 100.0 || scaled.fract() == 0.0 => 0,
        size if size >= 0.1 => 2,
        _ => 4,
    };
    let text = format!("{scaled:.digits$}");
    let text =
        if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.') } else { &text };
    format!("{}{unit}", text.replacen('-', "−", 1))
}

/// Text that can stand in an element or an attribute.
pub fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            // Not allowed in markup, escaped or not.
            c if (c as u32) < 0x20 && !matches!(c, '\n' | '\t') => out.push('\u{fffd}'),
            c => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_are_round_and_inside() {
        assert_eq!(ticks(0.0, 1.0, 5, 0.0), [0.0, 0.2, 0.4, 0.6000000000000001, 0.8, 1.0]);
        assert_eq!(ticks(-13.0, 1.0, 10, 1.0), [-12.0, -10.0, -8.0, -6.0, -4.0, -2.0, 0.0]);
        assert_eq!(ticks(-1.0, 1.0, 10, 1.0), [-1.0, 0.0, 1.0]);
        assert_eq!(ticks(3.0, 3.0, 5, 0.0), [3.0]);
        assert_eq!(ticks(0.0, f64::NAN, 5, 0.0), [0.0]);
    }

    #[test]
    fn numbers_are_short() {
        let texts: Vec<String> =
            [0.0, -2.0, 0.5, 1234.0, 12345.0, 1e6, 0.0375].map(number).to_vec();
        assert_eq!(texts, ["0", "−2", "0.5", "1234", "12.35k", "1M", "0.0375"]);
    }

    #[test]
    fn charts_have_a_column_per_place_and_no_foreign_markup() {
        let values = (0..4).map(|i| (f64::from(i), f64::from(i * i)));
        let chart = Chart {
            label: "<squares> & \"co\"".to_string(),
            series: vec![Series::new("s", Mark::Column, values)],
            ..Chart::default()
        };
        let svg = chart.svg();
        assert_eq!(svg.matches("class=\"f0\"").count(), 4);
        assert_eq!(svg.matches("<title>").count(), 4);
        assert!(svg.contains("&lt;squares&gt; &amp; &quot;co&quot;") && !svg.contains("NaN"));
    }

    #[test]
    fn nothing_to_draw_is_drawn_without_harm() {
        let empty = Chart { series: vec![Series::new("none", Mark::Line, [])], ..Chart::default() };
        assert!(!empty.svg().contains("NaN") && !empty.svg().contains("inf"));
    }

    #[test]
    fn stacked_areas_lie_on_each_other() {
        let series = stacked(&["a", "b"], &[0.0, 1.0], &[vec![1.0, 2.0], vec![3.0, 4.0]]);
        assert_eq!(series[1].points[1], Point { x: 1.0, low: 3.0, high: 7.0 });
    }
}
