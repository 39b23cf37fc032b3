//! foolsgold beside Thin, Puma and h2o: the comparison that the original FoolsGold made, with `ab`, all on one machine in turn.
//!
//! Every server runs from the start to the end and rests while another is loaded. Each is warmed up as in the original;
//! then come rounds, each with every contender once in an order drawn anew, at 16 and at 64 connections. A single failed
//! request ends the benchmark with an error.

mod allocators;
mod contender;
mod escapes;
mod page;
mod server;
mod soak;

pub use allocators::run as allocators;
pub use escapes::run as escapes;
pub use server::{Running, free_port, get};
pub use soak::run as soak;

use super::ab::{self, Figures};
use super::stats::{Random, Sample};
use crate::run;
use contender::{ALL, Contender, Server};
use std::path::{Path, PathBuf};

/// Connections, as in the original comparison.
const CONNECTIONS: [u32; 2] = [16, 64];
/// Starts of each server.
const STARTS: usize = 7;

/// What was measured of one contender; run `i` of everything is of round `i`.
#[derive(Default)]
struct Series {
    /// For each of [`CONNECTIONS`].
    loads: [Vec<Figures>; 2],
    /// Processor time of the server for each request in seconds, over both loads.
    processor: Vec<f64>,
}

/// What was measured of one server.
struct Weight {
    server: Server,
    /// From spawn to the end of the first answer, in seconds.
    starts: Sample,
    /// Bytes after the warm-up.
    warm: f64,
    /// Bytes after the last round.
    end: f64,
}

/// A server that is up, and the contenders that it serves.
struct Up {
    server: Server,
    running: Running,
}

/// Runs the comparison and returns its page.
///
/// # Errors
/// If a server or ab is missing or fails, or a request fails.
pub fn run(rounds: usize) -> anyhow::Result<String> {
    let folder = run::scratch("foolsgold")?;
    let contenders = ALL;
    let programs = programs(&contenders)?;
    let starts = starts(&programs, &folder)?;
    let mut up = Vec::new();
    for (server, program) in &programs {
        let running = Running::start(*server, program.as_deref(), "/fools-gold", &folder)?;
        up.push(Up { server: *server, running });
    }
    for contender in &contenders {
        let port = port(&up, *contender);
        ab::run(ab::SEED, &url(port, contender.path()), CONNECTIONS[0], contender.requests(), &folder)?;
    }
    let warm = up.iter().map(|up| up.running.memory()).collect::<anyhow::Result<Vec<_>>>()?;
    let series = loaded(&contenders, &up, rounds.max(2), &folder)?;
    let mut weights = Vec::new();
    for ((up, starts), warm) in up.iter().zip(starts).zip(warm) {
        weights.push(Weight { server: up.server, starts, warm, end: up.running.memory()? });
    }
    drop(up);
    std::fs::remove_dir_all(&folder)?;
    Ok(page::page(&contenders, &series, &weights))
}

/// Each server once, with its program.
fn programs(contenders: &[Contender]) -> anyhow::Result<Vec<(Server, Option<PathBuf>)>> {
    let mut programs: Vec<(Server, Option<PathBuf>)> = Vec::new();
    for contender in contenders {
        if programs.iter().all(|(server, _)| *server != contender.server) {
            programs.push((contender.server, contender.server.prepare()?));
        }
    }
    Ok(programs)
}

/// Starts every server alone, in turn, and ends it after its first answer.
fn starts(programs: &[(Server, Option<PathBuf>)], folder: &Path) -> anyhow::Result<Vec<Sample>> {
    let mut times = vec![Vec::new(); programs.len()];
    for _ in 0..STARTS {
        for ((server, program), times) in programs.iter().zip(&mut times) {
            let running = Running::start(*server, program.as_deref(), "/fools-gold", folder)?;
            times.push(running.first_answer.as_secs_f64());
        }
    }
    Ok(times.into_iter().map(Sample::new).collect())
}

/// Where a server on this machine has a page.
fn url(port: u16, path: &str) -> String {
    format!("http://127.0.0.1:{port}{path}")
}

fn port(up: &[Up], contender: Contender) -> u16 {
    up.iter().find(|up| up.server == contender.server).map_or(0, |up| up.running.port)
}

/// The rounds.
fn loaded(contenders: &[Contender], up: &[Up], rounds: usize, folder: &Path) -> anyhow::Result<Vec<Series>> {
    let mut series: Vec<Series> = contenders.iter().map(|_| Series::default()).collect();
    let mut random = Random::new(0x0060_01d5);
    for round in 0..rounds {
        eprintln!("round {} of {rounds}", round + 1);
        for index in random.order(contenders.len()) {
            let (contender, series) = (contenders[index], &mut series[index]);
            let Some(up) = up.iter().find(|up| up.server == contender.server) else { continue };
            let before = up.running.processor()?;
            for (connections, load) in CONNECTIONS.iter().zip(&mut series.loads) {
                load.push(ab::run(
                    ab::SEED,
                    &url(up.running.port, contender.path()),
                    *connections,
                    contender.requests(),
                    folder,
                )?);
            }
            let requests = f64::from(contender.requests()) * CONNECTIONS.len() as f64;
            series.processor.push((up.running.processor()? - before).as_secs_f64() / requests);
        }
    }
    Ok(series)
}
