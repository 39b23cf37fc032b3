//! Standard output: gathered in memory and written at once, with or without colour; complaints go to standard error.

use crate::cli::Color;
use anstream::ColorChoice;
use std::fmt::Display;
use std::io::{self, IsTerminal, Write};

/// What a verb prints to.
#[derive(Debug)]
pub struct Screen {
    buffer: Vec<u8>,
    colored: bool,
    terminal: bool,
    /// The reader went away: nothing more is written.
    closed: bool,
}

/// Lines longer than this are wrapped where the width of the terminal is unknown.
const DEFAULT_WIDTH: usize = 100;

impl Screen {
    /// A screen on standard output; `color` as the user chose, `NO_COLOR` and `CLICOLOR_FORCE` as the environment has
    /// them.
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

    /// Whether text is to be coloured.
    pub fn colored(&self) -> bool {
        self.colored
    }

    /// Columns of the terminal, or a readable width where there is none.
    pub fn width(&self) -> usize {
        if !self.terminal {
            return DEFAULT_WIDTH;
        }
        let columns = std::env::var("COLUMNS").ok().and_then(|columns| columns.parse().ok());
        columns.or_else(terminal_columns).unwrap_or(DEFAULT_WIDTH)
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

    /// Adds one JSON document on a line of its own.
    ///
    /// # Errors
    /// Where a value cannot be written as JSON, which is an error of ours.
    pub fn json(&mut self, document: &impl serde::Serialize) -> anyhow::Result<()> {
        serde_json::to_writer(&mut self.buffer, document)?;
        self.buffer.push(b'\n');
        Ok(())
    }

    /// Writes what was gathered; for output that is long or slow to come.
    ///
    /// # Errors
    /// Where standard output fails; a reader that went away is no error.
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

    /// Whether the reader of standard output went away.
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

/// Columns of the terminal behind standard output.
fn terminal_columns() -> Option<usize> {
    terminal_size::terminal_size().map(|(width, _)| usize::from(width.0))
}

/// Tells an error, with its causes, in one line on standard error.
pub fn complain(error: &anyhow::Error) {
    note(&format!("{error:#}"));
}

/// Tells one line on standard error.
pub fn note(line: &dyn Display) {
    // Where standard error is closed there is nobody to tell.
    let _ = writeln!(anstream::stderr().lock(), "underpin: {line}");
}
