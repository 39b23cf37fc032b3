//! The screen for `underpin` without arguments: the questions that it answers, and the command for each.

use underpin_report::{Line, Role, Text};

/// Questions, and the commands that answer them.
const QUESTIONS: [(&str, &str); 6] = [
    ("What is this program, and what to do about it?", "underpin survey PROG"),
    ("Where does it run, and what rules out the rest?", "underpin check PROG"),
    ("What does it load, from where, and why?", "underpin tree PROG"),
    ("Where does its start-up time go?", "underpin trace -- CMD"),
    ("Which of two commands is faster?", "underpin bench CMD CMD"),
    ("What does this machine permit?", "underpin doctor"),
];

/// The screen.
pub fn screen() -> Text {
    let widest = QUESTIONS.iter().map(|(question, _)| question.len()).max().unwrap_or_default();
    let mut text = Text::new();
    text.push(Line::new().plain("underpin explains what a Linux binary depends on, and helps to change it."));
    text.push(Line::new());
    for (question, command) in QUESTIONS {
        text.push(Line::new().plain(format!("  {question:<widest$}  ")).with(Role::Command, command));
    }
    text.push(Line::new());
    let line = Line::new().plain("Start with ").with(Role::Command, "underpin survey git").plain("; all verbs: ");
    text.push(line.with(Role::Command, "underpin --help").plain("."));
    text
}
