//! A writer for SVG markup. Text and attribute values are escaped here; coordinates are numbers, so no outside text
//! reaches the markup in any other way.

use crate::bytes::visible;
use std::fmt::{Display, Write};

/// An SVG element under construction.
#[derive(Debug)]
pub(crate) struct Svg {
    out: String,
}

impl Svg {
    /// A drawing of this size in user units; it scales down to the page's width, and up to its own size.
    pub fn new(width: f64, height: f64, class: &'static str, label: &str) -> Svg {
        let mut svg = Svg { out: String::new() };
        let (w, h) = (short(width), short(height));
        svg.write(format_args!(
            "<svg class=\"{class}\" viewBox=\"0 0 {w} {h}\" width=\"{w}\" height=\"{h}\" role=\"img\" aria-label=\"{}\">",
            escape(label)
        ));
        svg
    }

    /// A drawing of figures, with a description of its content.
    pub fn plot(width: f64, height: f64, label: &str, description: &str) -> Svg {
        let mut svg = Svg::new(width, height, "plot", label);
        svg.write(format_args!("<desc>{}</desc>", escape(description)));
        svg
    }

    /// The markup.
    pub fn finish(mut self) -> String {
        self.out.push_str("</svg>");
        self.out
    }

    /// Writing to a string cannot fail.
    fn write(&mut self, arguments: std::fmt::Arguments<'_>) {
        let _ = self.out.write_fmt(arguments);
    }

    /// Opens a group with data attributes of numbers and a hover title.
    pub fn open(&mut self, class: &str, data: &[(&'static str, usize)], title: &str) {
        self.write(format_args!("<g class=\"{}\"", escape(class)));
        for (name, value) in data {
            self.write(format_args!(" data-{name}=\"{value}\""));
        }
        self.out.push('>');
        self.title(title);
    }

    /// Closes a group.
    pub fn close(&mut self) {
        self.out.push_str("</g>");
    }

    fn title(&mut self, title: &str) {
        if !title.is_empty() {
            self.write(format_args!("<title>{}</title>", escape(title)));
        }
    }

    /// A rectangle with a hover title.
    pub fn rect(&mut self, class: &'static str, [x, y, width, height]: [f64; 4], title: &str) {
        let (x, y, width, height) = (short(x), short(y), short(width), short(height));
        self.write(format_args!("<rect class=\"{class}\" x=\"{x}\" y=\"{y}\" width=\"{width}\" height=\"{height}\""));
        if title.is_empty() {
            self.out.push_str("/>");
        } else {
            self.out.push('>');
            self.title(title);
            self.out.push_str("</rect>");
        }
    }

    /// A circle.
    pub fn circle(&mut self, class: &'static str, x: f64, y: f64, radius: f64) {
        let (x, y, radius) = (short(x), short(y), short(radius));
        self.write(format_args!("<circle class=\"{class}\" cx=\"{x}\" cy=\"{y}\" r=\"{radius}\"/>"));
    }

    /// A line.
    pub fn line(&mut self, class: &'static str, [x1, y1, x2, y2]: [f64; 4]) {
        let (x1, y1, x2, y2) = (short(x1), short(y1), short(x2), short(y2));
        self.write(format_args!("<line class=\"{class}\" x1=\"{x1}\" y1=\"{y1}\" x2=\"{x2}\" y2=\"{y2}\"/>"));
    }

    /// Points joined by straight lines; closed, if it is the edge of an area.
    pub fn path(&mut self, class: &'static str, points: &[(f64, f64)], closed: bool) {
        self.write(format_args!("<path class=\"{class}\" d=\""));
        for (index, (x, y)) in points.iter().enumerate() {
            let step = if index == 0 { 'M' } else { 'L' };
            self.write(format_args!("{step}{} {}", short(*x), short(*y)));
        }
        self.out.push_str(if closed { "Z\"/>" } else { "\"/>" });
    }

    /// Dots of one size, as one path of zero-length lines with round ends.
    pub fn dots(&mut self, class: &'static str, points: &[(f64, f64)]) {
        self.write(format_args!("<path class=\"{class}\" d=\""));
        for (x, y) in points {
            self.write(format_args!("M{} {}h0", short(*x), short(*y)));
        }
        self.out.push_str("\"/>");
    }

    /// A curve that starts and ends horizontally, with data attributes of numbers.
    pub fn curve(&mut self, class: &'static str, data: &[(&'static str, usize)], [x1, y1, x2, y2]: [f64; 4]) {
        let bend = if x2 > x1 { (x2 - x1) / 2.0 } else { 30.0 + (y2 - y1).abs() / 8.0 };
        let (c1, c2) = if x2 > x1 { (x1 + bend, x2 - bend) } else { (x1 + bend, x2 + bend) };
        let d = format!(
            "M{} {}C{} {} {} {} {} {}",
            short(x1),
            short(y1),
            short(c1),
            short(y1),
            short(c2),
            short(y2),
            short(x2),
            short(y2)
        );
        self.write(format_args!("<path class=\"{class}\""));
        for (name, value) in data {
            self.write(format_args!(" data-{name}=\"{value}\""));
        }
        self.write(format_args!(" d=\"{d}\"/>"));
    }

    /// Text that starts (`start`), ends (`end`) or is centred (`middle`) at a point.
    pub fn text(&mut self, class: &str, x: f64, y: f64, anchor: Anchor, text: &str) {
        let (x, y) = (short(x), short(y));
        let anchor = match anchor {
            Anchor::Start => "start",
            Anchor::Middle => "middle",
            Anchor::End => "end",
        };
        let class = escape(class);
        self.write(format_args!(
            "<text class=\"{class}\" x=\"{x}\" y=\"{y}\" text-anchor=\"{anchor}\">{}</text>",
            escape(text)
        ));
    }
}

/// How a text is aligned to its point.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Anchor {
    Start,
    Middle,
    End,
}

/// A coordinate with one digit after the point, which is a tenth of a pixel.
fn short(value: f64) -> impl Display {
    let rounded = (value * 10.0).round() / 10.0;
    if rounded.is_finite() { rounded } else { 0.0 }
}

/// Text escaped for XML, its control characters made visible.
fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for ch in visible(text.into()).chars() {
        match ch {
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '&' => out.push_str("&amp;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            _ => out.push(ch),
        }
    }
    out
}
