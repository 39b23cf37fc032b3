//! `underpin doctor`: looks at this machine and tells.

use crate::cli::DoctorArgs;
use crate::doctor::{Diagnosis, Host, Item, State, Topic};
use crate::exit::Exit;
use crate::screen::Screen;
use underpin_report::{Line, Role, Text};

/// Tells what this machine allows.
///
/// # Errors
/// Only where the result cannot be written.
pub fn run(args: &DoctorArgs, screen: &mut Screen) -> anyhow::Result<Exit> {
    let diagnosis = Host::this().examine();
    if args.json {
        screen.json(&diagnosis)?;
    } else {
        screen.show(&text(&diagnosis));
    }
    Ok(if diagnosis.is_broken() { Exit::Finding } else { Exit::Fine })
}

fn text(diagnosis: &Diagnosis) -> Text {
    let width = diagnosis.items.iter().map(|item| item.name.chars().count()).max().unwrap_or(0);
    let mut text = Text::new();
    let mut topic: Option<Topic> = None;
    for item in &diagnosis.items {
        if topic != Some(item.topic) {
            text.heading(item.topic.title());
            topic = Some(item.topic);
        }
        item_lines(item, width, &mut text);
    }
    text
}

fn item_lines(item: &Item, width: usize, text: &mut Text) {
    let (mark, role) = match item.state {
        State::Good => ("ok", Role::Good),
        State::Limited => ("--", Role::Warn),
        State::Broken => ("no", Role::Bad),
    };
    let name = format!("  {:width$}  ", item.name);
    text.push(Line::new().plain("  ").with(role, mark).plain(name).plain(&item.value));
    let indent = " ".repeat(width + 8);
    if let Some(effect) = &item.effect {
        text.push(Line::new().plain(&indent).with(Role::Dim, effect));
    }
    if let Some(mend) = &item.mend {
        text.push(Line::new().plain(&indent).plain("mend: ").with(Role::Command, mend));
    }
}
