//! A page whose texts are escaped, beside Thin and Puma: what templates cost, which the comparison's small page does not show.

use super::super::ab;
use super::super::stats::{Random, Sample};
use super::super::table;
use super::contender::{GLIBC, Server};
use super::page::interval;
use super::{CONNECTIONS, Running, free_port, url};
use crate::run;
use std::fmt::Write;
use std::path::Path;
use std::process::Command;

/// The application.
const RACKUP: &str = "foolsgold/crates/foolsgold-ruby/ruby/bench/table.ru";
/// Requests of one run.
const REQUESTS: u32 = 3000;
const SERVERS: [Server; 3] = [GLIBC, Server::Thin, Server::Puma];

/// Runs the rounds and returns the page.
///
/// # Errors
/// If a server or ab is missing or fails, or a request fails.
pub fn run(rounds: usize) -> anyhow::Result<String> {
    let folder = run::scratch("foolsgold-escapes")?;
    let mut up = Vec::new();
    for server in SERVERS {
        let program = server.prepare()?;
        let port = free_port()?;
        let command = command(server, program.as_deref(), port);
        up.push(Running::spawn(&server.name(), command, port, "/", &folder)?);
    }
    let load = |running: &Running| ab::run(ab::SEED, &url(running.port, "/"), CONNECTIONS[0], REQUESTS, &folder);
    for running in &up {
        load(running)?;
    }
    let (mut rates, mut costs) = (vec![Vec::new(); up.len()], vec![Vec::new(); up.len()]);
    let mut random = Random::new(0x00e5_ca9e);
    for round in 0..rounds.max(2) {
        eprintln!("round {} of {rounds}", round + 1);
        for index in random.order(up.len()) {
            let before = up[index].processor()?;
            rates[index].push(load(&up[index])?.rate);
            costs[index].push((up[index].processor()? - before).as_secs_f64() / f64::from(REQUESTS));
        }
    }
    drop(up);
    std::fs::remove_dir_all(&folder)?;
    Ok(page(rates, costs))
}

fn command(server: Server, program: Option<&Path>, port: u16) -> Command {
    let address = format!("127.0.0.1:{port}");
    let mut command = Command::new(program.unwrap_or(Path::new(match server {
        Server::Puma => "/usr/bin/puma",
        _ => "/usr/bin/thin",
    })));
    match server {
        Server::Puma => {
            command.args(["--quiet", "-e", "production", "-t", "16:16", "-b", &format!("tcp://{address}"), RACKUP]);
        }
        Server::Thin => {
            command.args(["-a", "127.0.0.1", "-p", &port.to_string(), "-e", "production"]);
            command.args(["--threaded", "--threadpool-size", "16", "-R", RACKUP, "start"]);
        }
        _ => {
            command.args(["--bind", &address, RACKUP]);
        }
    }
    command
}

fn page(rates: Vec<Vec<f64>>, costs: Vec<Vec<f64>>) -> String {
    let mut text = table::machine("A page with escapes", "cargo xtask bench foolsgold-escapes");
    let _ = writeln!(
        text,
        "A table of sixty rows from a template (`{RACKUP}`): a number, a text through `ERB::Util.html_escape`, a link through `url_encode`, a \
         price through `format`. foolsgold with its defaults (shared nothing), Thin and Puma with 16 threads. `ab -c {} -n {REQUESTS} \
         -l`, without keep-alive; {} rounds, each in a new random order. Medians with 95 % bootstrap intervals; ratios \
         are of runs of the same round. Processor time is the server's, user and system.\n\n\
         | server | requests/s | processor time, µs | of Puma's |\n| --- | --- | --- | --- |",
        CONNECTIONS[0],
        rates.first().map_or(0, Vec::len)
    );
    let puma = costs.last().map(|costs| Sample::new(costs.clone()));
    for ((server, rate), cost) in SERVERS.iter().zip(rates).zip(costs) {
        let cost = Sample::new(cost);
        let ratio = puma.as_ref().map_or_else(String::new, |puma| interval(cost.ratio(puma), 1.0, 2));
        let _ = writeln!(
            text,
            "| {} | {} | {} | {ratio} |",
            server.name(),
            interval(Sample::new(rate).median(), 1.0, 0),
            interval(cost.median(), 1e6, 0)
        );
    }
    text
}
