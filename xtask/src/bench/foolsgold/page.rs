//! The page of the comparison: its tables, memory and starts, and the goals.

use super::super::ab::Figures;
use super::super::stats::{Estimate, Sample};
use super::super::table::{self, Goal, Limit};
use super::contender::{Contender, GLIBC, Page, STATIC, Server};
use super::{CONNECTIONS, STARTS, Series, Weight};
use std::fmt::Write;

/// A figure of every run.
type Of = fn(&Figures) -> f64;
const RATE: Of = |figures| figures.rate;
const P90: Of = |figures| figures.p90;
const P99: Of = |figures| figures.p99;

/// Every figure by its contender.
struct All<'a> {
    contenders: &'a [Contender],
    series: &'a [Series],
    weights: &'a [Weight],
}

/// The page.
pub fn page(contenders: &[Contender], series: &[Series], weights: &[Weight]) -> String {
    let all = All { contenders, series, weights };
    let mut text = table::machine("foolsgold beside Thin, Puma and h2o", "cargo xtask bench foolsgold");
    let _ = writeln!(
        text,
        "One application, foolsgold's demonstration: a page of 1 KB from a template, a request id and a counter. Thin 1.8 \
         (`--threaded --threadpool-size 16`) and Puma (`-t 16:16`) run it in CRuby with Debian's packages, h2o in its \
         mruby handler (2 threads): the same config.ru, middlewares and map, with a counter for each thread. Page \
         alone is a single lambda without any of that, in both. foolsgold runs with its defaults. `ab -c N -n 10000 \
         -l` on the same machine, without keep-alive; warm-up first; {} rounds over all servers, each in a new random \
         order; no request failed. Medians, with 95 % bootstrap intervals; ratios are of runs of the same round. \
         Server and ab share the processors, so requests/s have a ceiling, which the page without Ruby shows. \
         `--fresh` gets 1,000 requests a run.",
        series.first().map_or(0, |series| series.processor.len())
    );
    for (at, connections) in CONNECTIONS.iter().enumerate() {
        text += &all.load(at, *connections);
    }
    text += &all.costs();
    text += &all.weights();
    text += "\n## Goals\n";
    text += &all.goals();
    text
}

impl All<'_> {
    fn of(&self, server: Server, page: Page) -> Option<&Series> {
        let at = self.contenders.iter().position(|one| one.server == server && one.page == page)?;
        self.series.get(at)
    }

    /// The table for one number of connections.
    fn load(&self, at: usize, connections: u32) -> String {
        let mut text = format!(
            "\n## {connections} connections\n\n| server | p99, ms | p90, ms | requests/s | of Thin's |\n\
             | --- | --- | --- | --- | --- |\n"
        );
        let thin = self.of(Server::Thin, Page::Gold).map(|series| sample(series, at, RATE));
        for (contender, series) in self.contenders.iter().zip(self.series) {
            let rate = sample(series, at, RATE);
            let ratio = thin.as_ref().map_or_else(String::new, |thin| interval(rate.ratio(thin), 1.0, 2));
            // Writing to a string cannot fail.
            let _ = writeln!(
                text,
                "| {} | {} | {} | {} | {ratio} |",
                contender.name(),
                interval(sample(series, at, P99).median(), 1e3, 2),
                interval(sample(series, at, P90).median(), 1e3, 2),
                interval(rate.median(), 1.0, 0),
            );
        }
        text
    }

    fn costs(&self) -> String {
        let mut text =
            "\n## Processor time of the server for each request\n\n| server | µs | of Thin's |\n| --- | --- | --- |\n"
                .to_owned();
        let thin = self.of(Server::Thin, Page::Gold).map(processor);
        for (contender, series) in self.contenders.iter().zip(self.series) {
            let cost = processor(series);
            let ratio = thin.as_ref().map_or_else(String::new, |thin| interval(cost.ratio(thin), 1.0, 3));
            let _ = writeln!(text, "| {} | {} | {ratio} |", contender.name(), interval(cost.median(), 1e6, 1));
        }
        text + "\nUser and system time of all processes of the server, from /proc, over both loads.\n"
    }

    fn weights(&self) -> String {
        let mut text = format!(
            "\n## Start and memory\n\n| server | first answer after, ms ({STARTS} starts) | PSS when warm, MB | at the end, MB |\n\
             | --- | --- | --- | --- |\n"
        );
        for weight in self.weights {
            let _ = writeln!(
                text,
                "| {} | {} | {:.1} | {:.1} |",
                weight.server.name(),
                interval(weight.starts.median(), 1e3, 1),
                weight.warm / 1e6,
                weight.end / 1e6
            );
        }
        text + "\nFrom the start of the process to the end of its first page; memory after the warm-up and after the last round. \
                1 MB is 1,000,000 bytes.\n"
    }

    fn goals(&self) -> String {
        let mut goals = Vec::new();
        let mut goal = |text, ratio: Option<Estimate>, limit| {
            goals.extend(ratio.map(|ratio| Goal { text, ratio, limit }));
        };
        let rate = |a, b, at| self.ratio(a, b, |series| sample(series, at, RATE));
        let p99 = |a, b, at| self.ratio(a, b, |series| sample(series, at, P99));
        let cost = |a, b| self.ratio(a, b, processor);
        let (ours, glibc) = ((STATIC, Page::Prefork), (GLIBC, Page::Prefork));
        let (thin, h2o) = ((Server::Thin, Page::Gold), (Server::H2o, Page::Gold));
        let better = self.cheaper_of((Server::Puma, Page::Gold), thin);
        goal(
            "prefork with glibc, requests/s over Thin's (c=16): at least 3.5",
            rate(glibc, thin, 0),
            Limit::AtLeast(3.5),
        );
        goal("prefork in the static file, the same: at least 2.8", rate(ours, thin, 0), Limit::AtLeast(2.8));
        goal(
            "prefork with glibc, CPU per request over the better of Thin and Puma: at most 0.25",
            cost(glibc, better),
            Limit::AtMost(0.25),
        );
        goal("prefork in the static file, the same: at most 0.25", cost(ours, better), Limit::AtMost(0.25));
        goal(
            "shared nothing, requests/s over prefork, static file (c=16): at least 0.95",
            rate((STATIC, Page::Gold), ours, 0),
            Limit::AtLeast(0.95),
        );
        goal("the same with glibc: at least 0.95", rate((GLIBC, Page::Gold), glibc, 0), Limit::AtLeast(0.95));
        goal(
            "prefork in the static file, p99 over Thin's (c=16): at most 0.25",
            p99(ours, thin, 0),
            Limit::AtMost(0.25),
        );
        goal("the same at c=64: at most 0.25", p99(ours, thin, 1), Limit::AtMost(0.25));
        goal(
            "static file, requests/s over h2o's mruby handler (c=16): at least 1.5",
            rate(ours, h2o, 0),
            Limit::AtLeast(1.5),
        );
        goal("static file, CPU per request over the glibc build's: at most 1.2", cost(ours, glibc), Limit::AtMost(1.2));
        if let Some(weight) = self.weights.iter().find(|weight| weight.server == STATIC) {
            let Estimate { value, low, high } = weight.starts.median();
            let start = Estimate { value: value * 1e3, low: low * 1e3, high: high * 1e3 };
            goal("static file, first answer after start, ms: at most 10", Some(start), Limit::AtMost(10.0));
            goal(
                "static file, PSS when warm, MB: at most 8",
                Some(Estimate::exact(weight.warm / 1e6)),
                Limit::AtMost(8.0),
            );
        }
        table::goals(&goals) + "\nMemory over millions of requests in each mode: `foolsgold-soak.md`.\n"
    }

    fn ratio(&self, a: (Server, Page), b: (Server, Page), of: impl Fn(&Series) -> Sample) -> Option<Estimate> {
        Some(of(self.of(a.0, a.1)?).ratio(&of(self.of(b.0, b.1)?)))
    }

    fn cheaper_of(&self, a: (Server, Page), b: (Server, Page)) -> (Server, Page) {
        let cost = |(server, page)| self.of(server, page).map_or(f64::NAN, |series| processor(series).median().value);
        if cost(a) < cost(b) { a } else { b }
    }
}

fn sample(series: &Series, at: usize, of: Of) -> Sample {
    Sample::new(series.loads[at].iter().map(of).collect())
}

fn processor(series: &Series) -> Sample {
    Sample::new(series.processor.clone())
}

/// A figure with its interval, scaled.
pub fn interval(estimate: Estimate, scale: f64, digits: usize) -> String {
    let Estimate { value, low, high } = estimate;
    format!("{:.digits$} ({:.digits$} to {:.digits$})", value * scale, low * scale, high * scale)
}

#[cfg(test)]
mod tests {
    use super::super::contender::ALL;
    use super::*;

    /// Each contender with its own rate and cost; answer times follow from the rate.
    fn series(rate: f64, cost: f64) -> Series {
        let figures = Figures { rate, p50: 0.5 / rate, p90: 1.0 / rate, p99: 2.0 / rate };
        Series { loads: [vec![figures; 4], vec![figures; 4]], processor: vec![cost; 4] }
    }

    #[test]
    fn goals_compare_the_contenders_that_they_name() {
        let all: Vec<Series> = ALL
            .iter()
            .map(|one| match (one.server, one.page) {
                (Server::Thin, _) => series(1000.0, 100e-6),
                (Server::Puma, _) => series(900.0, 80e-6),
                (Server::H2o, _) => series(2500.0, 50e-6),
                (STATIC, Page::Prefork) => series(4000.0, 24e-6),
                (GLIBC, Page::Prefork) => series(5000.0, 18e-6),
                _ => series(4900.0, 20e-6),
            })
            .collect();
        let weights = [Weight { server: STATIC, starts: Sample::new(vec![0.007; 7]), warm: 9e6, end: 9e6 }];
        let text = page(&ALL, &all, &weights);
        for line in [
            "requests/s over Thin's (c=16): at least 3.5 | 5 | met |",
            "the same: at least 2.8 | 4 | met |",
            "over the better of Thin and Puma: at most 0.25 | 0.2250 | met |",
            "static file, the same: at most 0.25 | 0.3000 | **missed** |",
            "the same with glibc: at least 0.95 | 0.9800 | met |",
            "p99 over Thin's (c=16): at most 0.25 | 0.2500 | met |",
            "over h2o's mruby handler (c=16): at least 1.5 | 1.6000 | met |",
            "over the glibc build's: at most 1.2 | 1.3333 | **missed** |",
            "PSS when warm, MB: at most 8 | 9 | **missed** |",
        ] {
            assert!(text.contains(line), "{line}\n{text}");
        }
    }
}
