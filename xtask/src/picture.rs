//! A terminal's screen as a picture: what a command prints, coloured as it colours it, as SVG for light and dark pages.

use crate::run;
use anyhow::{Context, bail};
use std::fmt::Write;
use std::fs;
use std::process::Command;

/// What the README shows, a command of the released binary: a service's allocation pattern on four allocators.
const SHOWN: [&str; 9] = [
    "bench",
    "--color",
    "always",
    "--malloc",
    "system,jemalloc,mimalloc,snmalloc",
    "--",
    "ruby",
    "-e",
    "2e5.to_i.times.map { |i| i.to_s * (1 + i % 9) }.group_by(&:size)",
];
/// Columns of the terminal that is drawn.
const COLUMNS: usize = 80;
/// Size of one character cell in pixels, at a font of 13 px.
const CELL: (f64, f64) = (7.83, 17.0);
const MARGIN: f64 = 14.0;

/// The colours of one theme: page, text, and those that underpin uses, by SGR number.
struct Theme {
    name: &'static str,
    page: &'static str,
    text: &'static str,
    dim: &'static str,
    /// Red, green, yellow, blue, cyan: 31, 32, 33, 34, 36.
    colours: [(u8, &'static str); 5],
}

const THEMES: [Theme; 2] = [
    Theme {
        name: "light",
        page: "#ffffff",
        text: "#1f2328",
        dim: "#656d76",
        colours: [(31, "#b31d28"), (32, "#116329"), (33, "#7d4e00"), (34, "#0550ae"), (36, "#0a5a66")],
    },
    Theme {
        name: "dark",
        page: "#0d1117",
        text: "#e6edf3",
        dim: "#8d96a0",
        colours: [(31, "#ff7b72"), (32, "#7ee787"), (33, "#e3b341"), (34, "#79c0ff"), (36, "#76e3ea")],
    },
];

/// Text of one style on one line.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Piece {
    text: String,
    bold: bool,
    dim: bool,
    colour: Option<u8>,
}

/// Runs the command and writes `docs/picture-light.svg` and `docs/picture-dark.svg`.
///
/// # Errors
/// If the command fails or a picture cannot be written.
pub fn run() -> anyhow::Result<()> {
    let underpin = run::release_binary()?;
    let mut command = Command::new(underpin);
    command.args(SHOWN).env("COLUMNS", COLUMNS.to_string()).current_dir(run::scratch("picture")?);
    let output = command.output().context("cannot start underpin")?;
    if !output.status.success() {
        bail!("{}", String::from_utf8_lossy(&output.stderr));
    }
    let shown = SHOWN.iter().filter(|word| !["--color", "always"].contains(word));
    let quoted = |word: &&str| if word.contains(' ') { format!("'{word}'") } else { (*word).to_owned() };
    let words: Vec<String> = shown.map(quoted).collect();
    let lines = screen(&words, &String::from_utf8(output.stdout)?);
    for theme in THEMES {
        fs::write(format!("docs/picture-{}.svg", theme.name), svg(&lines, &theme))?;
    }
    Ok(())
}

/// The command line, folded, and what it printed.
fn screen(words: &[String], printed: &str) -> Vec<Vec<Piece>> {
    let command = format!("$ underpin {}", words.join(" "));
    let plain = |text: String| Piece { text, bold: true, ..Piece::default() };
    let mut lines: Vec<Vec<Piece>> = fold(&command).into_iter().map(|line| vec![plain(line)]).collect();
    let mut look = Piece::default();
    lines.extend(printed.lines().map(|line| pieces(line, &mut look)));
    lines
}

/// Folds a command at blanks as a person would type it.
fn fold(command: &str) -> Vec<String> {
    let mut lines = vec![String::new()];
    for word in command.split_inclusive(' ') {
        let last = lines.len() - 1;
        if lines[last].chars().count() + word.trim_end().chars().count() + 2 > COLUMNS {
            lines[last].push('\\');
            lines.push("    ".to_owned());
        }
        let last = lines.len() - 1;
        lines[last].push_str(word);
    }
    lines
}

/// Splits a line at its SGR sequences (ECMA-48, 8.3.117); `look` is the style at its beginning and, on return, at its
/// end.
fn pieces(line: &str, look: &mut Piece) -> Vec<Piece> {
    let mut found = Vec::new();
    let mut rest = line;
    while let Some(at) = rest.find("\x1b[") {
        found.push(Piece { text: rest[..at].to_owned(), ..look.clone() });
        let Some(end) = rest[at..].find('m') else { break };
        for code in rest[at + 2..at + end].split(';') {
            match code.parse().unwrap_or(0u8) {
                0 => *look = Piece::default(),
                1 => look.bold = true,
                2 => look.dim = true,
                colour => look.colour = Some(colour),
            }
        }
        rest = &rest[at + end + 1..];
    }
    found.push(Piece { text: rest.to_owned(), ..look.clone() });
    found.retain(|piece| !piece.text.is_empty());
    found
}

fn svg(lines: &[Vec<Piece>], theme: &Theme) -> String {
    let (width, height) = (COLUMNS as f64 * CELL.0 + 2.0 * MARGIN, lines.len() as f64 * CELL.1 + 2.0 * MARGIN);
    let mut text = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width:.0} {height:.0}\" width=\"{width:.0}\" \
         height=\"{height:.0}\" role=\"img\" aria-label=\"A terminal: four allocators compared on one program\">\n\
         <rect width=\"100%\" height=\"100%\" rx=\"6\" fill=\"{}\"/>\n\
         <g font-family=\"ui-monospace, SFMono-Regular, Menlo, Consolas, 'DejaVu Sans Mono', monospace\" \
         font-size=\"13\" fill=\"{}\">\n",
        theme.page, theme.text
    );
    for (number, line) in lines.iter().enumerate() {
        let y = MARGIN + CELL.1 * (number as f64 + 0.75);
        let mut column = 0;
        for piece in line {
            // Each piece has its place, so that a font of another width keeps the columns. Blanks at its ends would be
            // left out and the rest be drawn out to the whole length.
            let (words, all) = (piece.text.trim(), piece.text.chars().count());
            let before = all - piece.text.trim_start().chars().count();
            let x = MARGIN + CELL.0 * (column + before) as f64;
            let length = CELL.0 * words.chars().count() as f64;
            column += all;
            if words.is_empty() {
                continue;
            }
            let _ = writeln!(
                text,
                "<text x=\"{x:.1}\" y=\"{y:.1}\" textLength=\"{length:.1}\" lengthAdjust=\"spacingAndGlyphs\"{}>{}</text>",
                look(piece, theme),
                escaped(words)
            );
        }
    }
    text + "</g>\n</svg>\n"
}

fn look(piece: &Piece, theme: &Theme) -> String {
    let colour = theme.colours.iter().find(|(code, _)| Some(*code) == piece.colour).map(|(_, colour)| *colour);
    let fill = colour.or(piece.dim.then_some(theme.dim)).map(|fill| format!(" fill=\"{fill}\""));
    let weight = if piece.bold { " font-weight=\"bold\"" } else { "" };
    fill.unwrap_or_default() + weight
}

/// As SVG has it: several blanks stay several only as no-break spaces.
fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace(' ', "\u{a0}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn colours_last_until_they_are_reset() {
        let mut look = Piece::default();
        let line = pieces("a\u{1b}[1;31mred\u{1b}[0m b", &mut look);
        let words: Vec<(&str, bool, Option<u8>)> =
            line.iter().map(|piece| (piece.text.as_str(), piece.bold, piece.colour)).collect();
        assert_eq!(words, [("a", false, None), ("red", true, Some(31)), (" b", false, None)]);
    }

    #[test]
    fn a_long_command_is_folded_at_blanks() {
        let command = format!("$ underpin {}", "word ".repeat(40));
        let lines = fold(&command);
        assert!(lines.len() > 1 && lines.iter().all(|line| line.chars().count() <= COLUMNS), "{lines:?}");
        assert_eq!(lines.concat().replace(['\\', ' '], ""), command.replace(' ', ""));
    }

    #[test]
    fn what_would_be_markup_is_escaped() {
        assert_eq!(escaped("a<b> & c"), "a&lt;b&gt;\u{a0}&amp;\u{a0}c");
    }
}
