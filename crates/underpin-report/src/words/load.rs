//! Phrases for the load on servers.

use crate::units::{count, thousands, time};
use underpin_bench::LoadMethod;

/// The load as text: what is requested, when, for how long.
pub(crate) fn load_words(load: &LoadMethod) -> String {
    let connections = count(load.connections, "connection", "connections");
    let pace = match load.rate {
        Some(rate) => format!("{} in a second whatever the server does, on at most {connections}", rate_words(rate)),
        None => format!("{connections}, each with one request after the other"),
    };
    let mut words = format!("{}: {pace}; {} in each run", load.request, time(load.window_seconds));
    if load.warmup_seconds > 0.0 {
        words.push_str(&format!(" after {} of warm-up", time(load.warmup_seconds)));
    }
    if !load.starts_server {
        words.push_str("; the server is not started here");
    }
    words
}

fn rate_words(rate: f64) -> String {
    if rate.fract() == 0.0 { thousands(rate as u64) } else { rate.to_string() }
}
