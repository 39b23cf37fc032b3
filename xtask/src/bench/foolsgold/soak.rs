//! foolsgold over millions of requests in each mode, and among requests that raise, never end or take all memory.
//!
//! Memory is read between the runs of ab; the slope of a line through those readings, after the first tenth of the
//! requests, is the growth. The hostile requests come while others are served, which must not be affected.

use super::super::ab;
use super::super::stats::Estimate;
use super::super::table::{self, Goal, Limit};
use super::contender::{Contender, Page, STATIC};
use super::page::interval;
use super::server::{Running, free_port, get};
use super::url;
use crate::run;
use anyhow::{Context, bail};
use std::fmt::Write;
use std::path::Path;
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

/// Requests of one run of ab, between two readings of the memory.
const CHUNK: u32 = 25_000;
/// Connections, kept alive.
const CONNECTIONS: u32 = 16;
/// Growth over a million requests that counts as none: a hundredth of what is allowed in all.
const FLAT: f64 = 80_000.0;

/// What a hostile request does, how many there are, and the status that is the right answer.
const HOSTILE: [(&str, &str, usize, u16); 3] = [
    ("exceptions", "/raise", 1000, 500),
    ("endless loops that rescue everything", "/loop", 100, 503),
    ("scripts that take all memory", "/memory", 100, 500),
];

const APPLICATION: &str = r#"
run lambda { |env|
  case env["PATH_INFO"]
  when "/raise"
    raise "on purpose"
  when "/loop"
    begin
      while true; end
    rescue Exception
      retry
    end
  when "/memory"
    all = []
    while true; all << "x" * 100_000 + all.size.to_s; end
  else
    [200, { "content-type" => "text/plain" }, ["fine"]]
  end
}
"#;

/// Memory of one mode after each chunk, in bytes.
struct Looks {
    name: &'static str,
    requests: Vec<f64>,
    pss: Vec<f64>,
    rss: Vec<f64>,
    rate: f64,
}

/// One kind of hostile request in one mode.
struct Hostility {
    mode: &'static str,
    what: &'static str,
    count: usize,
    /// Others served meanwhile, in a second, and their slowest hundredth in seconds.
    others: (f64, f64),
    /// Memory before and after, in bytes.
    memory: [f64; 2],
}

/// Soaks and returns the page. A round is 25,000 requests in each mode.
///
/// # Errors
/// If the server ends, or a request is answered as it should not be.
pub fn run(rounds: usize) -> anyhow::Result<String> {
    let folder = run::scratch("foolsgold-soak")?;
    let program = STATIC.prepare()?.context("no program")?;
    let mut looks = Vec::new();
    for (name, page) in [("shared nothing", Page::Gold), ("prefork", Page::Prefork)] {
        // A server of its own, so that one mode's memory is not the other's.
        let contender = Contender { server: STATIC, page };
        let running = Running::start(STATIC, Some(&program), contender.path(), &folder)?;
        looks.push(soak(name, &running, contender.path(), rounds.max(10), &folder)?);
    }
    let mut hostility = Vec::new();
    for mode in ["shared-nothing", "prefork"] {
        let running = hostile_server(&program, mode, &folder)?;
        for (what, path, count, status) in HOSTILE {
            hostility.push(among_others(mode, (what, path, count, status), &running, &folder)?);
        }
    }
    std::fs::remove_dir_all(&folder)?;
    Ok(page(&looks, &hostility))
}

fn soak(name: &'static str, running: &Running, path: &str, chunks: usize, folder: &Path) -> anyhow::Result<Looks> {
    let mut looks = Looks { name, requests: Vec::new(), pss: Vec::new(), rss: Vec::new(), rate: 0.0 };
    let start = Instant::now();
    for chunk in 1..=chunks {
        ab::run(ab::KEPT_ALIVE, &url(running.port, path), CONNECTIONS, CHUNK, folder)?;
        looks.requests.push(chunk as f64 * f64::from(CHUNK));
        looks.pss.push(running.memory()?);
        looks.rss.push(running.resident()?);
    }
    looks.rate = chunks as f64 * f64::from(CHUNK) / start.elapsed().as_secs_f64();
    Ok(looks)
}

fn hostile_server(program: &Path, mode: &str, folder: &Path) -> anyhow::Result<Running> {
    let file = folder.join("config.ru");
    std::fs::write(&file, APPLICATION)?;
    let port = free_port()?;
    let mut command = Command::new(program);
    command.arg(file).args(["--bind", &format!("127.0.0.1:{port}")]);
    command.args(["--mode", mode, "--threads", "4", "--budget", "100ms", "--memory", "16MiB"]);
    Running::spawn("foolsgold", command, port, "/", folder)
}

/// Hostile requests, one after the other, while ab asks for a page.
fn among_others(
    mode: &'static str,
    (what, path, count, status): (&'static str, &str, usize, u16),
    running: &Running,
    folder: &Path,
) -> anyhow::Result<Hostility> {
    let before = running.memory()?;
    let done = AtomicBool::new(false);
    let others = std::thread::scope(|scope| {
        let load = scope.spawn(|| {
            let (mut rates, mut slowest) = (Vec::new(), Vec::new());
            while !done.load(Ordering::Relaxed) || rates.is_empty() {
                let figures = ab::run(ab::KEPT_ALIVE, &url(running.port, "/"), 4, 2000, folder)?;
                rates.push(figures.rate);
                slowest.push(figures.p99);
            }
            let mean = |figures: Vec<f64>| figures.iter().sum::<f64>() / figures.len() as f64;
            anyhow::Ok((mean(rates), mean(slowest)))
        });
        let answered = (0..count).try_for_each(|_| {
            let found = get(running.port, path)?;
            if found == status { Ok(()) } else { bail!("{what}: status {found} instead of {status} ({mode})") }
        });
        done.store(true, Ordering::Relaxed);
        let others = load.join().map_err(|_| anyhow::anyhow!("the load panicked"))?;
        answered.and(others)
    })?;
    Ok(Hostility { mode, what, count, others, memory: [before, running.memory()?] })
}

impl Looks {
    /// Growth in bytes over a million requests, by a line of least squares through what comes after the first tenth, with
    /// its 95 % interval (of Student's t; twice the standard error is enough for this many looks).
    fn growth(&self, figures: &[f64]) -> Estimate {
        let from = figures.len() / 10;
        let (x, y) = (&self.requests[from..], &figures[from..]);
        let count = x.len() as f64;
        let mean = |values: &[f64]| values.iter().sum::<f64>() / count;
        let (mean_x, mean_y) = (mean(x), mean(y));
        let spread: f64 = x.iter().map(|x| (x - mean_x).powi(2)).sum();
        let slope = x.iter().zip(y).map(|(x, y)| (x - mean_x) * (y - mean_y)).sum::<f64>() / spread;
        let rest: f64 = x.iter().zip(y).map(|(x, y)| (y - mean_y - slope * (x - mean_x)).powi(2)).sum();
        let error = (rest / (count - 2.0) / spread).sqrt();
        let million = 1e6;
        Estimate { value: slope * million, low: (slope - 2.0 * error) * million, high: (slope + 2.0 * error) * million }
    }
}

fn page(looks: &[Looks], hostility: &[Hostility]) -> String {
    let mut text = table::machine("foolsgold over millions of requests", "cargo xtask bench foolsgold-soak");
    let _ = writeln!(
        text,
        "The static file; `ab -k -c {CONNECTIONS}` in runs of {CHUNK} requests, memory read after each; no request \
         failed. Growth is the slope of a line through the readings after the first tenth, per million requests, with \
         its 95 % interval.\n\n\
         | mode | requests | requests/s | PSS after the first run, MB | at the end, MB | growth of PSS, kB | growth of RSS, kB |\n\
         | --- | --- | --- | --- | --- | --- | --- |"
    );
    for one in looks {
        let at = |at: Option<&f64>| at.map_or(f64::NAN, |bytes| bytes / 1e6);
        let _ = writeln!(
            text,
            "| {} | {:.0} | {:.0} | {:.2} | {:.2} | {} | {} |",
            one.name,
            one.requests.last().unwrap_or(&0.0),
            one.rate,
            at(one.pss.first()),
            at(one.pss.last()),
            interval(one.growth(&one.pss), 1e-3, 1),
            interval(one.growth(&one.rss), 1e-3, 1),
        );
    }
    text += "\n## Among hostile requests\n\nFour interpreters with a budget of 100 ms and 16 MiB each; hostile requests one after the \
             other while `ab -k -c 4` asks for a page. All hostile requests got the expected status (500 for \
             exceptions and memory, 503 for loops), all others 200.\n\n\
             | mode | hostile requests | others, requests/s | their p99, ms | PSS before, MB | after, MB |\n\
             | --- | --- | --- | --- | --- | --- |\n";
    for one in hostility {
        let _ = writeln!(
            text,
            "| {} | {} {} | {:.0} | {:.1} | {:.2} | {:.2} |",
            one.mode,
            one.count,
            one.what,
            one.others.0,
            one.others.1 * 1e3,
            one.memory[0] / 1e6,
            one.memory[1] / 1e6
        );
    }
    text += "\n## Goals\n";
    let goals: Vec<(String, Estimate)> = looks
        .iter()
        .map(|one| {
            let growth = one.growth(&one.pss);
            let kilo = Estimate { value: growth.value / 1e3, low: growth.low / 1e3, high: growth.high / 1e3 };
            (format!("{}: PSS grows by at most {:.0} kB in a million requests", one.name, FLAT / 1e3), kilo)
        })
        .collect();
    let goals: Vec<Goal> =
        goals.iter().map(|(text, ratio)| Goal { text, ratio: *ratio, limit: Limit::AtMost(FLAT / 1e3) }).collect();
    text + &table::goals(&goals)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn looks(of: impl Fn(f64) -> f64) -> Looks {
        let requests: Vec<f64> = (1..=40).map(|chunk| f64::from(chunk * CHUNK)).collect();
        let pss: Vec<f64> = requests.iter().map(|requests| of(*requests)).collect();
        Looks { name: "prefork", rss: pss.clone(), pss, requests, rate: 1.0 }
    }

    #[test]
    fn a_leak_of_a_byte_in_each_request_is_a_million_bytes() {
        let growth = looks(|requests| 5e6 + requests);
        let growth = growth.growth(&growth.pss);
        assert!((growth.value - 1e6).abs() < 1.0 && growth.low > 0.99e6, "{growth:?}");
    }

    #[test]
    fn what_goes_up_and_down_is_flat_within_its_interval() {
        let wave = looks(|requests| 5e6 + 4096.0 * (requests / 1e5).sin());
        let growth = wave.growth(&wave.pss);
        assert!(growth.low < 0.0 && growth.high > 0.0 && growth.high < FLAT, "{growth:?}");
    }
}
