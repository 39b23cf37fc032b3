//! The load generator of `bench --load` beside wrk and ab, all on the same nginx, in turn.
//!
//! Two loads. At one path nginx lets 2,000 requests pass in a second, so every generator has to come to the same figures:
//! those are compared. At the other it answers as fast as it can, which shows what each generator can take
//! and what a request costs it. One round runs every generator once forwards and once backwards.

use super::ab::{self, number};
use super::stats::{Estimate, Sample};
use super::table::{self, Goal, Limit};
use super::underpin_bench::{self, Underpin};
use crate::run;
use anyhow::{Context, bail};
use nix::sys::resource::{UsageWho, getrusage};
use nix::sys::time::TimeValLike;
use std::fmt::Write;
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::Duration;

/// Connections of every generator.
const CONNECTIONS: u32 = 16;
/// Seconds of one run.
const SECONDS: u32 = 3;
/// What nginx lets pass in a second where it is held back.
const PACED: u32 = 2000;
/// Bytes of the file.
const BYTES: usize = 612;
/// The rate that a generator must be able to send at.
const ENOUGH: f64 = 50_000.0;

/// One generator's figures of one run; times in seconds.
#[derive(Clone, Copy)]
struct Figures {
    rate: f64,
    p50: f64,
    p90: f64,
    p99: f64,
    /// How many there were.
    requests: f64,
    /// Processor time of the generator for each request.
    cost: f64,
}

impl Figures {
    fn new(rate: f64, requests: Option<f64>, [p50, p90, p99]: [f64; 3]) -> anyhow::Result<Figures> {
        let requests = requests.unwrap_or(rate * f64::from(SECONDS));
        if requests <= 0.0 {
            bail!("a generator got no responses");
        }
        Ok(Figures { rate, p50, p90, p99, requests, cost: 0.0 })
    }
}

#[derive(Clone, Copy)]
enum Generator {
    Underpin,
    Wrk,
    Ab,
}

const GENERATORS: [Generator; 3] = [Generator::Underpin, Generator::Wrk, Generator::Ab];

/// Measures and returns the page.
///
/// # Errors
/// If nginx, wrk or ab is missing or fails.
pub fn run(rounds: usize) -> anyhow::Result<String> {
    let folder = run::scratch("load")?;
    let bench = Bench { underpin: Underpin(run::release_binary()?), folder: folder.clone() };
    let nginx = Nginx::start(&folder)?;
    let paced = bench.interleaved(&nginx.url("paced"), PACED * SECONDS, rounds)?;
    let free = bench.interleaved(&nginx.url("index.html"), PACED * 40 * SECONDS, rounds)?;
    let open = bench.open(&nginx.url("index.html"), 10_000)?;
    drop(nginx);
    std::fs::remove_dir_all(&folder)?;
    Ok(page(&paced, &free, open))
}

struct Bench {
    underpin: Underpin,
    folder: PathBuf,
}

impl Bench {
    /// The figures of each generator, in the order of [`GENERATORS`].
    fn interleaved(&self, url: &str, requests: u32, rounds: usize) -> anyhow::Result<Vec<Vec<Figures>>> {
        let mut all = vec![Vec::new(); GENERATORS.len()];
        for _ in 0..rounds {
            let there = 0..GENERATORS.len();
            for index in there.clone().chain(there.rev()) {
                let before = processor()?;
                let mut figures = match GENERATORS[index] {
                    Generator::Underpin => self.underpin(url)?,
                    Generator::Wrk => wrk(url)?,
                    Generator::Ab => self.ab(url, requests)?,
                };
                figures.cost = (processor()? - before).as_secs_f64() / figures.requests;
                all[index].push(figures);
            }
        }
        Ok(all)
    }

    fn underpin(&self, url: &str) -> anyhow::Result<Figures> {
        let (duration, load) = (format!("{SECONDS}s"), format!("GET {url}"));
        let connections = CONNECTIONS.to_string();
        let options = ["--load", &load, "--connections", &connections, "--load-threads", "1", "--duration", &duration];
        let once = ["--warmup-load", "0s", "-r", "1", "--memory-runs", "0"];
        let document = self.underpin.measure(&[&options[..], &once].concat(), &[], &self.folder)?;
        let figure = |metric: &str| underpin_bench::median(&document, 0, metric);
        if figure("errors")? > 0.0 {
            bail!("underpin: requests failed");
        }
        Figures::new(figure("rps")?, None, [figure("p50")?, figure("p90")?, figure("p99")?])
    }

    fn ab(&self, url: &str, requests: u32) -> anyhow::Result<Figures> {
        let ab::Figures { rate, p50, p90, p99 } = ab::run(&["-k"], url, CONNECTIONS, requests, &self.folder)?;
        // It is given a number of requests, not a time.
        Figures::new(rate, Some(f64::from(requests)), [p50, p90, p99])
    }

    /// Our generator at a fixed rate: the rate that it kept, and the median answer time in seconds.
    fn open(&self, url: &str, rate: u32) -> anyhow::Result<(u32, Figures)> {
        let (load, text, duration) = (format!("GET {url}"), rate.to_string(), format!("{SECONDS}s"));
        let options = ["--load", &load, "--rate", &text, "--load-threads", "1", "--duration", &duration];
        let document =
            self.underpin.measure(&[&options[..], &["-r", "1", "--memory-runs", "0"]].concat(), &[], &self.folder)?;
        let figure = |metric: &str| underpin_bench::median(&document, 0, metric);
        Ok((rate, Figures::new(figure("rps")?, None, [figure("p50")?, figure("p90")?, figure("p99")?])?))
    }
}

fn wrk(url: &str) -> anyhow::Result<Figures> {
    let output =
        output("wrk", &["-t", "1", "-c", &CONNECTIONS.to_string(), "-d", &format!("{SECONDS}s"), "--latency", url])?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    if text.contains("Non-2xx") || text.contains("Socket errors") {
        bail!("wrk: requests failed: {text}");
    }
    let share = |percent: &str| {
        let line = text.lines().find_map(|line| line.trim().strip_prefix(percent));
        line.and_then(|text| wrk_time(text.trim())).context("wrk printed no percentiles")
    };
    let rate = number(&text, "Requests/sec:")?;
    Figures::new(rate, None, [share("50%")?, share("90%")?, share("99%")?])
}

/// `175.00us`, `4.40ms`, `1.02s`, in seconds.
fn wrk_time(text: &str) -> Option<f64> {
    let (number, scale) = [("us", 1e-6), ("ms", 1e-3), ("s", 1.0)]
        .into_iter()
        .find_map(|(unit, scale)| Some((text.strip_suffix(unit)?, scale)))?;
    number.parse::<f64>().ok().map(|number| number * scale)
}

fn output(program: &str, args: &[&str]) -> anyhow::Result<Output> {
    let output = Command::new(program).args(args).stdin(Stdio::null()).output();
    let output = output.with_context(|| format!("cannot start {program}"))?;
    if !output.status.success() {
        bail!("{program} failed: {}", String::from_utf8_lossy(&output.stderr));
    }
    Ok(output)
}

/// Processor time of every command waited for so far.
fn processor() -> anyhow::Result<Duration> {
    let usage = getrusage(UsageWho::RUSAGE_CHILDREN)?;
    let microseconds = usage.user_time().num_microseconds() + usage.system_time().num_microseconds();
    Ok(Duration::from_micros(u64::try_from(microseconds)?))
}

/// A server of one process with one small file.
struct Nginx {
    child: Child,
    port: u16,
}

impl Nginx {
    fn start(folder: &Path) -> anyhow::Result<Nginx> {
        let port = TcpListener::bind(("127.0.0.1", 0))?.local_addr()?.port();
        std::fs::write(folder.join("index.html"), "x".repeat(BYTES))?;
        let config = folder.join("nginx.conf");
        std::fs::write(&config, configuration(folder, port))?;
        let mut command = Command::new("nginx");
        command.arg("-c").arg(&config).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        let mut nginx = Nginx { child: command.spawn().context("cannot start nginx")?, port };
        while TcpStream::connect(("127.0.0.1", port)).is_err() {
            if let Some(status) = nginx.child.try_wait()? {
                bail!("nginx ended: {status}");
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        Ok(nginx)
    }

    fn url(&self, path: &str) -> String {
        format!("http://127.0.0.1:{}/{path}", self.port)
    }
}

impl Drop for Nginx {
    fn drop(&mut self) {
        let pid = i32::try_from(self.child.id()).unwrap_or(0);
        // SIGTERM ends its worker too. If it is gone already there is nothing to end.
        let _ = nix::sys::signal::kill(nix::unistd::Pid::from_raw(pid), nix::sys::signal::Signal::SIGTERM);
        let _ = self.child.wait();
    }
}

fn configuration(folder: &Path, port: u16) -> String {
    let folder = folder.display();
    let temporary =
        ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"].map(|name| format!("{name}_temp_path {folder};"));
    format!(
        "worker_processes 1; daemon off; pid {folder}/pid; error_log {folder}/error.log crit;\n\
         events {{ worker_connections 1024; }}\n\
         http {{ access_log off; keepalive_requests 1000000000; open_file_cache max=10; {}\n\
         limit_req_zone $server_port zone=all:1m rate={PACED}r/s;\n\
         server {{ listen 127.0.0.1:{port}; root {folder};\n\
         location /paced {{ limit_req zone=all burst=1000; alias {folder}/index.html; }} }} }}\n",
        temporary.join(" ")
    )
}

/// A figure of every run of a generator.
type Of = fn(&Figures) -> f64;

const COLUMNS: [(&str, Of, f64, usize); 5] = [
    ("requests/s", |figures| figures.rate, 1.0, 0),
    ("p50, ms", |figures| figures.p50, 1e3, 3),
    ("p90, ms", |figures| figures.p90, 1e3, 3),
    ("p99, ms", |figures| figures.p99, 1e3, 3),
    ("processor time per request, µs", |figures| figures.cost, 1e6, 2),
];

fn sample(runs: &[Figures], of: Of) -> Sample {
    Sample::new(runs.iter().map(of).collect())
}

fn page(paced: &[Vec<Figures>], free: &[Vec<Figures>], (asked, open): (u32, Figures)) -> String {
    let mut text = table::machine("The load generator beside wrk and ab", "cargo xtask bench load");
    let _ = writeln!(
        text,
        "One nginx with one worker and a file of {BYTES} bytes on the same machine; {CONNECTIONS} connections, kept \
         alive, one thread for each generator, {SECONDS} s a run. Runs of all generators interleave (ABBA); medians, with 95 % \
         bootstrap intervals. wrk adds to its percentiles the requests that it assumes were delayed (its correction \
         for coordinated omission), so where response times vary its p90 and p99 are not those of the responses \
         counted; ab's are."
    );
    text += &scenario(&format!("A server limited to {PACED} requests/s"), paced);
    text += &scenario("A server that answers as fast as it can", free);
    let _ = writeln!(
        text,
        "\nAt a fixed rate of {asked} requests/s (open loop, response times from when a request was due): {:.0} \
         responses/s, p50 {:.3} ms, p99 {:.3} ms.",
        open.rate,
        open.p50 * 1e3,
        open.p99 * 1e3
    );
    text + "\n## Goals\n" + &table::goals(&goals(paced, free))
}

fn scenario(title: &str, all: &[Vec<Figures>]) -> String {
    let mut text = format!("\n## {title}\n\n| figure | underpin | wrk | ab | underpin / wrk | underpin / ab |\n");
    text += "| --- | --- | --- | --- | --- | --- |\n";
    for (name, of, scale, digits) in COLUMNS {
        let samples: Vec<Sample> = all.iter().map(|runs| sample(runs, of)).collect();
        let _ = write!(text, "| {name} |");
        for sample in &samples {
            let Estimate { value, low, high } = sample.median();
            let [value, low, high] = [value, low, high].map(|figure| figure * scale);
            let _ = write!(text, " {value:.digits$} ({low:.digits$} to {high:.digits$}) |");
        }
        for other in &samples[1..] {
            let Estimate { value, low, high } = samples[0].ratio(other);
            let _ = write!(text, " {value:.3} ({low:.3} to {high:.3}) |");
        }
        text.push('\n');
    }
    text
}

fn goals(paced: &[Vec<Figures>], free: &[Vec<Figures>]) -> Vec<Goal<'static>> {
    let ratio = |all: &[Vec<Figures>], peer: usize, of: Of| sample(&all[0], of).ratio(&sample(&all[peer], of));
    let mut goals = Vec::new();
    for (peer, texts) in [
        (1, ["requests/s at least 0.95 of wrk's", "requests/s at most 1.05 of wrk's"]),
        (2, ["requests/s at least 0.95 of ab's", "requests/s at most 1.05 of ab's"]),
    ] {
        let found = ratio(paced, peer, |figures| figures.rate);
        goals.push(Goal { text: texts[0], ratio: found, limit: Limit::AtLeast(0.95) });
        goals.push(Goal { text: texts[1], ratio: found, limit: Limit::AtMost(1.05) });
    }
    let times: [(&str, &str, usize, Of); 6] = [
        ("p50 at least 0.95 of wrk's", "p50 at most 1.05 of wrk's", 1, |figures| figures.p50),
        ("p50 at least 0.95 of ab's", "p50 at most 1.05 of ab's", 2, |figures| figures.p50),
        ("p90 at least 0.95 of wrk's", "p90 at most 1.05 of wrk's", 1, |figures| figures.p90),
        ("p90 at least 0.95 of ab's", "p90 at most 1.05 of ab's", 2, |figures| figures.p90),
        ("p99 at least 0.95 of wrk's", "p99 at most 1.05 of wrk's", 1, |figures| figures.p99),
        ("p99 at least 0.95 of ab's", "p99 at most 1.05 of ab's", 2, |figures| figures.p99),
    ];
    for (least, most, peer, of) in times {
        let found = ratio(paced, peer, of);
        goals.push(Goal { text: least, ratio: found, limit: Limit::AtLeast(0.95) });
        goals.push(Goal { text: most, ratio: found, limit: Limit::AtMost(1.05) });
    }
    let most = ratio(free, 1, |figures| figures.rate);
    goals.push(Goal {
        text: "as fast as it can: requests/s at least 0.95 of wrk's",
        ratio: most,
        limit: Limit::AtLeast(0.95),
    });
    let capacity = sample(&free[0], |figures| 1.0 / (figures.cost * ENOUGH)).median();
    goals.push(Goal {
        text: "50,000 requests/s take less than one processor (processors left over, as a factor)",
        ratio: capacity,
        limit: Limit::AtLeast(1.0),
    });
    goals
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_of_wrk_have_units() {
        assert_eq!(wrk_time("175.00us"), Some(175.00 * 1e-6));
        assert_eq!(wrk_time("4.40ms"), Some(4.40 * 1e-3));
        assert_eq!(wrk_time("1.02s"), Some(1.02));
        assert_eq!(wrk_time("1.02"), None);
    }
}
