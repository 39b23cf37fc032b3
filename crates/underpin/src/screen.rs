//! Standard output: gathered in memory and written at once, with or without colour; errors go to standard error.

use crate::cli::Color;
use anstream::ColorChoice;
use anstyle::{AnsiColor, Style};
use std::fmt::Display;
use std::io::{self, IsTerminal, Write};
use underpin_report::{Document, Line, Role, Text, View, to_json_line};

/// What a verb prints to.
#[derive(Debug)]
pub struct Screen {
    buffer: Vec<u8>,
    colored: bool,
    terminal: bool,
    /// The reader closed the pipe: nothing more is written.
    closed: bool,
}

/// Lines longer than this are wrapped if the width of the terminal is unknown.
const DEFAULT_WIDTH: usize = 80;

impl Screen {
    /// A screen on standard output; colour as the user chose, and as `NO_COLOR` and `CLICOLOR_FORCE` in the environment
    /// say.
    pub fn new(color: Color) -> Screen {
        match color {
            Color::Auto => {}
            Color::Always => ColorChoice::Always.write_global(),
            Color::Never => ColorChoice::Never.write_global(),
        }
        let stdout = io::stdout();
        let choice = anstream::AutoStream::choice(&stdout);
        Screen {
            buffer: Vec::new(),
            colored: choice != ColorChoice::Never,
            terminal: stdout.is_terminal(),
            closed: false,
        }
    }

    /// How screens are laid out here, and in how much detail.
    pub fn view(&self, verbosity: u8) -> View {
        View::columns(self.width()).verbose(verbosity)
    }

    /// Whether standard output is a terminal.
    pub fn is_terminal(&self) -> bool {
        self.terminal
    }

    /// Columns set by the user (environ(7)), else those of the terminal, else a readable width.
    fn width(&self) -> usize {
        let named = std::env::var("COLUMNS").ok().and_then(|columns| columns.parse().ok());
        named.or_else(|| terminal_columns().filter(|_| self.terminal)).unwrap_or(DEFAULT_WIDTH)
    }

    /// Adds text.
    pub fn text(&mut self, text: impl AsRef<[u8]>) {
        self.buffer.extend_from_slice(text.as_ref());
    }

    /// Adds a line.
    pub fn line(&mut self, line: impl AsRef<[u8]>) {
        self.text(line);
        self.buffer.push(b'\n');
    }

    /// Adds a screen; its roles become colours if these are enabled.
    pub fn show(&mut self, text: &Text) {
        text.lines().iter().for_each(|line| self.show_line(line));
    }

    /// Adds one line of a screen.
    pub fn show_line(&mut self, line: &Line) {
        if self.colored {
            for span in line.spans() {
                let style = style(span.role());
                self.text(format!("{style}{}{style:#}", span.text()));
            }
            self.line("");
        } else {
            self.line(line.to_string().trim_end());
        }
    }

    /// Adds one JSON document on a line of its own.
    ///
    /// # Errors
    /// If a value cannot be written as JSON, which is an error of ours.
    pub fn json<D: Document>(&mut self, document: &D) -> anyhow::Result<()> {
        self.line(to_json_line(document)?);
        Ok(())
    }

    /// Writes what was gathered; for long or slow output.
    ///
    /// # Errors
    /// If standard output fails; a closed pipe is not an error.
    pub fn flush(&mut self) -> anyhow::Result<()> {
        if self.closed {
            self.buffer.clear();
            return Ok(());
        }
        let mut stdout = io::stdout().lock();
        let result = stdout.write_all(&self.buffer).and_then(|()| stdout.flush());
        self.buffer.clear();
        match result {
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => {
                self.closed = true;
                Ok(())
            }
            other => other.map_err(|error| anyhow::Error::from(error).context("cannot write to standard output")),
        }
    }

    /// Whether the reader of standard output closed it.
    pub fn closed(&self) -> bool {
        self.closed
    }

    /// Writes the rest.
    ///
    /// # Errors
    /// As [`Screen::flush`].
    pub fn finish(mut self) -> anyhow::Result<()> {
        self.flush()
    }
}

/// The style of a role. Only the sixteen colours that a terminal's own theme sets, so that dark and light both work.
fn style(role: Role) -> Style {
    match role {
        Role::Heading => Style::new().bold(),
        Role::Name => AnsiColor::Cyan.on_default(),
        Role::Number => Style::new(),
        Role::Good => AnsiColor::Green.on_default(),
        Role::Warn => AnsiColor::Yellow.on_default(),
        Role::Bad => AnsiColor::Red.on_default().bold(),
        Role::Dim => Style::new().dimmed(),
        Role::Command => AnsiColor::Blue.on_default().bold(),
        _ => Style::new(),
    }
}

/// Columns of the terminal behind standard output.
fn terminal_columns() -> Option<usize> {
    terminal_size::terminal_size().map(|(width, _)| usize::from(width.0))
}

/// Prints an error, with its causes, in one line to standard error.
pub fn complain(error: &anyhow::Error) {
    note(&in_one_line(error));
}

/// An error with its causes, without repetitions: many errors contain the text of their cause.
fn in_one_line(error: &anyhow::Error) -> String {
    let mut line = String::new();
    for cause in error.chain().map(ToString::to_string) {
        if line.is_empty() {
            line = cause;
        } else if !line.contains(&cause) {
            line = format!("{line}: {cause}");
        }
    }
    line
}

/// Prints one line to standard error.
pub fn note(line: &dyn Display) {
    // If standard error is closed, there is no reader.
    let _ = writeln!(anstream::stderr().lock(), "underpin: {line}");
}

#[cfg(test)]
mod tests {
    use super::*;
    use anyhow::anyhow;

    #[test]
    fn what_a_cause_says_is_said_once() {
        let full = || io::Error::from_raw_os_error(28);
        let plain = anyhow::Error::from(full()).context("cannot write a.csv");
        assert_eq!(in_one_line(&plain), format!("cannot write a.csv: {}", full()));
        let twice = anyhow::Error::from(full()).context(format!("cannot write a.csv: {}", full()));
        assert_eq!(in_one_line(&twice), format!("cannot write a.csv: {}", full()));
        assert_eq!(in_one_line(&anyhow!("alone")), "alone");
    }
}
