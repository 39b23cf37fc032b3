//! `underpin doctor`: looks at this machine and tells.

use crate::cli::DoctorArgs;
use crate::doctor::{Diagnosis, Host, Item, State, Topic};
use crate::exit::Exit;
use crate::screen::Screen;
use anstyle::{AnsiColor, Style};

/// Tells what this machine allows.
///
/// # Errors
/// Only where the result cannot be written.
pub fn run(args: &DoctorArgs, screen: &mut Screen) -> anyhow::Result<Exit> {
    let diagnosis = Host::this().examine();
    if args.json {
        screen.json(&diagnosis)?;
    } else {
        render(&diagnosis, screen);
    }
    Ok(if diagnosis.is_broken() { Exit::Finding } else { Exit::Fine })
}

fn render(diagnosis: &Diagnosis, screen: &mut Screen) {
    let width = diagnosis.items.iter().map(|item| item.name.chars().count()).max().unwrap_or(0);
    let mut topic: Option<Topic> = None;
    for item in &diagnosis.items {
        if topic != Some(item.topic) {
            if topic.is_some() {
                screen.line("");
            }
            screen.line(paint(screen, Style::new().bold(), item.topic.title()));
            topic = Some(item.topic);
        }
        render_item(item, width, screen);
    }
}

fn render_item(item: &Item, width: usize, screen: &mut Screen) {
    let (mark, color) = match item.state {
        State::Good => ("ok", AnsiColor::Green),
        State::Limited => ("--", AnsiColor::Yellow),
        State::Broken => ("no", AnsiColor::Red),
    };
    let mark = paint(screen, color.on_default(), mark);
    screen.line(format!("  {mark}  {:width$}  {}", item.name, item.value));
    let indent = " ".repeat(width + 8);
    if let Some(effect) = &item.effect {
        screen.line(format!("{indent}{effect}"));
    }
    if let Some(mend) = &item.mend {
        screen.line(format!("{indent}mend: {}", paint(screen, Style::new().bold(), mend)));
    }
}

fn paint(screen: &Screen, style: Style, text: &str) -> String {
    if screen.colored() { format!("{style}{text}{style:#}") } else { text.to_owned() }
}
