//! Pictures of documents as SVG: graphs, timelines, plots. A page contains them, and HTML shows them.

mod graph;
mod plot;
mod svg;
mod timeline;

pub(crate) use graph::dependency_picture;
pub(crate) use plot::{
    distribution_picture, forest_picture, latency_picture, memory_picture, order_picture, pareto_picture, rows_picture,
    strip_picture, trade_picture,
};
pub(crate) use timeline::{loader_picture, timeline_picture};

use crate::styled::{Role, Span};

/// A picture as SVG markup, with a description for readers who cannot see it.
#[derive(Debug)]
pub(crate) struct Picture {
    pub svg: String,
    pub title: Option<Span>,
    pub legend: Vec<Key>,
}

/// A colour of a picture with its meaning; or a hint, without a colour.
#[derive(Debug)]
pub(crate) struct Key {
    pub class: String,
    pub words: Span,
    /// The variant of a comparison that it identifies.
    pub variant: Option<usize>,
}

impl Key {
    pub fn fixed(class: &'static str, words: &'static str) -> Key {
        Key { class: class.to_owned(), words: Span::fixed(Role::Plain, words), variant: None }
    }

    pub fn hint(words: &'static str) -> Key {
        Key::fixed("hint", words)
    }

    pub fn of_variant(class: String, name: &str, variant: usize) -> Key {
        Key { class, words: Span::new(Role::Plain, name), variant: Some(variant) }
    }
}
