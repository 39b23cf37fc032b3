//! foolsgold on each C library with each allocator: requests, processor time, memory.

use super::super::ab;
use super::super::stats::Sample;
use super::super::table;
use super::contender::{Contender, Page, Server};
use super::page::interval;
use super::{CONNECTIONS, Series, Up, loaded, port, programs, url};
use crate::build::{Allocator, Linkage, Processor};
use crate::run;
use std::fmt::Write;

use super::server::Running;

const LINKAGES: [Linkage; 2] = [Linkage::Glibc, Linkage::Musl(Processor::X86_64)];
const ALLOCATORS: [Allocator; 3] = [Allocator::System, Allocator::Jemalloc, Allocator::Mimalloc];

/// Runs the comparison and returns its page.
///
/// # Errors
/// If a build, a server or a request fails.
pub fn run(rounds: usize) -> anyhow::Result<String> {
    let folder = run::scratch("foolsgold-allocators")?;
    let servers =
        LINKAGES.iter().flat_map(|linkage| ALLOCATORS.map(|allocator| Server::Foolsgold(*linkage, allocator)));
    let contenders: Vec<Contender> =
        servers.flat_map(|server| [Page::Prefork, Page::Gold].map(|page| Contender { server, page })).collect();
    let mut up = Vec::new();
    for (server, program) in programs(&contenders)? {
        up.push(Up { server, running: Running::start(server, program.as_deref(), "/fools-gold", &folder)? });
    }
    for contender in &contenders {
        ab::run(
            ab::SEED,
            &url(port(&up, *contender), contender.path()),
            CONNECTIONS[0],
            contender.requests(),
            &folder,
        )?;
    }
    let warm = up.iter().map(|up| up.running.memory()).collect::<anyhow::Result<Vec<_>>>()?;
    let series = loaded(&contenders, &up, rounds.max(2), &folder)?;
    let end = up.iter().map(|up| up.running.memory()).collect::<anyhow::Result<Vec<_>>>()?;
    drop(up);
    std::fs::remove_dir_all(&folder)?;
    Ok(page(&contenders, &series, &warm, &end))
}

/// Two contenders for each server, prefork first.
fn page(contenders: &[Contender], series: &[Series], warm: &[f64], end: &[f64]) -> String {
    let mut text = table::machine("foolsgold on every allocator", "cargo xtask bench foolsgold-allocators");
    let _ = writeln!(
        text,
        "The allocator serves everything but the interpreters, which have arenas of their own. `ab -c 16` and `ab -c 64`, \
         `-n 10000 -l`, without keep-alive; {} rounds, each in a new random order; no request failed. Medians with 95 \
         % bootstrap intervals; ratios over the first line are of runs of the same round.\n\n\
         | build | prefork, requests/s (c=16) | shared nothing, requests/s (c=16) | prefork, CPU µs per request | of the first | \
         shared nothing, CPU µs per request | PSS warm, MB | at the end, MB |\n\
         | --- | --- | --- | --- | --- | --- | --- | --- |",
        series.first().map_or(0, |series| series.processor.len())
    );
    let cost = |series: &Series| Sample::new(series.processor.clone());
    let rate = |series: &Series| Sample::new(series.loads[0].iter().map(|figures| figures.rate).collect());
    let first = series.first().map(cost);
    for ((pair, series), memory) in contenders.chunks(2).zip(series.chunks(2)).zip(warm.iter().zip(end)) {
        let [prefork, nothing] = series else { continue };
        let ratio = first.as_ref().map_or_else(String::new, |first| interval(cost(prefork).ratio(first), 1.0, 3));
        let _ = writeln!(
            text,
            "| {} | {} | {} | {} | {ratio} | {} | {:.1} | {:.1} |",
            name(pair[0].server),
            interval(rate(prefork).median(), 1.0, 0),
            interval(rate(nothing).median(), 1.0, 0),
            interval(cost(prefork).median(), 1e6, 1),
            interval(cost(nothing).median(), 1e6, 1),
            memory.0 / 1e6,
            memory.1 / 1e6
        );
    }
    text
}

fn name(server: Server) -> String {
    match server {
        Server::Foolsgold(Linkage::Glibc, allocator) => format!("glibc, {}", allocator.name()),
        Server::Foolsgold(Linkage::Musl(_), allocator) => format!("static musl, {}", allocator.name()),
        _ => server.name(),
    }
}
