//! Counters, gauges and histograms that the server, the interpreters and Ruby applications share, and their text in
//! Prometheus's format.
//!
//! Every metric is a few atomics behind an `Arc`: changing one takes no lock. The registry is locked when a metric is
//! created or the page is rendered. The number of metrics is bounded, since applications create them too.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// The media type of [`Registry::render`]: Prometheus's text format 0.0.4 ("Exposition formats").
pub const CONTENT_TYPE: &str = "text/plain; version=0.0.4; charset=utf-8";

/// Upper bounds of the buckets for durations, in seconds: from 100 microseconds to 10 seconds.
pub const SECONDS: [f64; 12] = [0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.05, 0.1, 0.5, 1.0, 10.0];

/// A number that only grows.
#[derive(Debug, Default)]
pub struct Counter(AtomicU64);

impl Counter {
    /// Its value.
    #[must_use]
    pub fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }

    /// One more.
    pub fn inc(&self) {
        self.add(1);
    }

    /// `n` more.
    pub fn add(&self, n: u64) {
        self.0.fetch_add(n, Ordering::Relaxed);
    }
}

/// A number that goes up and down.
#[derive(Debug, Default)]
pub struct Gauge(AtomicU64);

impl Gauge {
    /// Its value.
    #[must_use]
    pub fn get(&self) -> f64 {
        f64::from_bits(self.0.load(Ordering::Relaxed))
    }

    /// Sets it.
    pub fn set(&self, value: f64) {
        self.0.store(value.to_bits(), Ordering::Relaxed);
    }

    /// Adds to it; a negative number subtracts.
    pub fn add(&self, change: f64) {
        add_float(&self.0, change);
    }
}

/// How many values fell into each range.
#[derive(Debug)]
pub struct Histogram {
    bounds: Box<[f64]>,
    /// One for each bound and one above all of them; each counts its own range only.
    counts: Box<[AtomicU64]>,
    sum: AtomicU64,
}

impl Histogram {
    fn new(bounds: &[f64]) -> Histogram {
        let counts = (0..=bounds.len()).map(|_| AtomicU64::new(0)).collect();
        Histogram { bounds: bounds.into(), counts, sum: AtomicU64::new(0.0_f64.to_bits()) }
    }

    /// Counts one value.
    pub fn observe(&self, value: f64) {
        let range = self.bounds.iter().position(|bound| value <= *bound).unwrap_or(self.bounds.len());
        self.counts[range].fetch_add(1, Ordering::Relaxed);
        add_float(&self.sum, value);
    }

    /// How many values it has counted.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.counts.iter().map(|count| count.load(Ordering::Relaxed)).sum()
    }

    /// The sum of all values.
    #[must_use]
    pub fn sum(&self) -> f64 {
        f64::from_bits(self.sum.load(Ordering::Relaxed))
    }
}

fn add_float(cell: &AtomicU64, change: f64) {
    let mut old = cell.load(Ordering::Relaxed);
    loop {
        let new = (f64::from_bits(old) + change).to_bits();
        match cell.compare_exchange_weak(old, new, Ordering::Relaxed, Ordering::Relaxed) {
            Ok(_) => return,
            Err(now) => old = now,
        }
    }
}

/// Why a metric cannot be created.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum MetricError {
    /// Prometheus allows letters, digits, `_` and `:` in a name, and no digit first.
    #[error("invalid metric name `{0}`: expected letters, digits, `_` and `:`, and no digit first")]
    Name(String),
    /// A metric of another kind has the name.
    #[error("there is a metric `{0}` of another kind")]
    Kind(String),
    /// Too many metrics.
    #[error("there are {0} metrics already, which is the limit")]
    Full(usize),
}

type Reading = Box<dyn Fn() -> f64 + Send + Sync>;

enum Metric {
    Counter(Arc<Counter>),
    Gauge(Arc<Gauge>),
    Histogram(Arc<Histogram>),
    /// Read from elsewhere when the page is rendered.
    Reading(Reading),
}

impl Metric {
    fn kind(&self) -> &'static str {
        match self {
            Metric::Counter(_) => "counter",
            Metric::Gauge(_) | Metric::Reading(_) => "gauge",
            Metric::Histogram(_) => "histogram",
        }
    }
}

struct Family {
    help: String,
    /// By their labels as printed, without braces; the empty string for no labels.
    series: BTreeMap<String, Metric>,
}

/// All metrics by name.
pub struct Registry {
    families: Mutex<BTreeMap<String, Family>>,
    limit: usize,
}

impl std::fmt::Debug for Registry {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Registry").field("limit", &self.limit).finish_non_exhaustive()
    }
}

impl Registry {
    /// An empty registry for at most `limit` series.
    #[must_use]
    pub fn new(limit: usize) -> Registry {
        Registry { families: Mutex::default(), limit }
    }

    /// The counter of that name, created if missing.
    ///
    /// # Errors
    /// If the name is invalid or belongs to another kind of metric, or there are too many metrics.
    pub fn counter(&self, name: &str, help: &str, labels: &[(&str, &str)]) -> Result<Arc<Counter>, MetricError> {
        self.series(name, help, labels, |found| match found {
            None => Some(Metric::Counter(Arc::default())),
            Some(Metric::Counter(counter)) => Some(Metric::Counter(Arc::clone(counter))),
            Some(_) => None,
        })
        .map(|metric| match metric {
            Metric::Counter(counter) => counter,
            _ => Arc::default(),
        })
    }

    /// The gauge of that name, created if missing.
    ///
    /// # Errors
    /// As [`Registry::counter`].
    pub fn gauge(&self, name: &str, help: &str, labels: &[(&str, &str)]) -> Result<Arc<Gauge>, MetricError> {
        self.series(name, help, labels, |found| match found {
            None => Some(Metric::Gauge(Arc::default())),
            Some(Metric::Gauge(gauge)) => Some(Metric::Gauge(Arc::clone(gauge))),
            Some(_) => None,
        })
        .map(|metric| match metric {
            Metric::Gauge(gauge) => gauge,
            _ => Arc::default(),
        })
    }

    /// The histogram of that name, created with these upper bounds (ascending) if missing.
    ///
    /// # Errors
    /// As [`Registry::counter`].
    pub fn histogram(
        &self,
        name: &str,
        help: &str,
        labels: &[(&str, &str)],
        bounds: &[f64],
    ) -> Result<Arc<Histogram>, MetricError> {
        self.series(name, help, labels, |found| match found {
            None => Some(Metric::Histogram(Arc::new(Histogram::new(bounds)))),
            Some(Metric::Histogram(histogram)) => Some(Metric::Histogram(Arc::clone(histogram))),
            Some(_) => None,
        })
        .map(|metric| match metric {
            Metric::Histogram(histogram) => histogram,
            _ => Arc::new(Histogram::new(bounds)),
        })
    }

    /// A gauge whose value is read when the page is rendered. A second one of the same name replaces the first.
    ///
    /// # Errors
    /// As [`Registry::counter`]; a gauge that is set counts as another kind.
    pub fn reading(
        &self,
        name: &str,
        help: &str,
        read: impl Fn() -> f64 + Send + Sync + 'static,
    ) -> Result<(), MetricError> {
        check_name(name)?;
        let mut families = self.families.lock().unwrap_or_else(PoisonError::into_inner);
        match families.get(name) {
            Some(family) if family.series.values().any(|other| !matches!(other, Metric::Reading(_))) => {
                return Err(MetricError::Kind(name.to_owned()));
            }
            Some(_) => {}
            None => self.has_room(&families)?,
        }
        let family = families.entry(name.to_owned());
        let family = family.or_insert_with(|| Family { help: help.to_owned(), series: BTreeMap::new() });
        family.series.insert(String::new(), Metric::Reading(Box::new(read)));
        Ok(())
    }

    fn series(
        &self,
        name: &str,
        help: &str,
        labels: &[(&str, &str)],
        make: impl FnOnce(Option<&Metric>) -> Option<Metric>,
    ) -> Result<Metric, MetricError> {
        check_name(name)?;
        let labels = render_labels(labels);
        let mut families = self.families.lock().unwrap_or_else(PoisonError::into_inner);
        let known = families.get(name).and_then(|family| family.series.get(&labels));
        let is_new = known.is_none();
        let metric = make(known).ok_or_else(|| MetricError::Kind(name.to_owned()))?;
        if is_new {
            let other_kind = |family: &Family| family.series.values().any(|other| other.kind() != metric.kind());
            if families.get(name).is_some_and(other_kind) {
                return Err(MetricError::Kind(name.to_owned()));
            }
            self.has_room(&families)?;
            let shared = match &metric {
                Metric::Counter(counter) => Metric::Counter(Arc::clone(counter)),
                Metric::Gauge(gauge) => Metric::Gauge(Arc::clone(gauge)),
                Metric::Histogram(histogram) => Metric::Histogram(Arc::clone(histogram)),
                Metric::Reading(_) => return Err(MetricError::Kind(name.to_owned())),
            };
            let family = families.entry(name.to_owned());
            let family = family.or_insert_with(|| Family { help: help.to_owned(), series: BTreeMap::new() });
            family.series.insert(labels, shared);
        }
        Ok(metric)
    }

    /// Fails if there is no room for another series.
    fn has_room(&self, families: &BTreeMap<String, Family>) -> Result<(), MetricError> {
        let series = families.values().map(|family| family.series.len()).sum::<usize>();
        if series < self.limit { Ok(()) } else { Err(MetricError::Full(self.limit)) }
    }

    /// Every metric in Prometheus's text format 0.0.4, sorted by name.
    #[must_use]
    pub fn render(&self) -> String {
        let families = self.families.lock().unwrap_or_else(PoisonError::into_inner);
        let mut page = String::with_capacity(4096);
        for (name, family) in families.iter() {
            let Some(kind) = family.series.values().next().map(Metric::kind) else { continue };
            let help = family.help.replace('\\', "\\\\").replace('\n', "\\n");
            let _ = writeln!(page, "# HELP {name} {help}\n# TYPE {name} {kind}");
            for (labels, metric) in &family.series {
                match metric {
                    Metric::Counter(counter) => line(&mut page, name, labels, &counter.get().to_string()),
                    Metric::Gauge(gauge) => line(&mut page, name, labels, &number(gauge.get())),
                    Metric::Reading(read) => line(&mut page, name, labels, &number(read())),
                    Metric::Histogram(histogram) => histogram_lines(&mut page, name, labels, histogram),
                }
            }
        }
        page
    }
}

fn histogram_lines(page: &mut String, name: &str, labels: &str, histogram: &Histogram) {
    let comma = if labels.is_empty() { "" } else { "," };
    let mut below = 0;
    let bounds = histogram.bounds.iter().copied().chain([f64::INFINITY]);
    for (bound, count) in bounds.zip(&histogram.counts) {
        below += count.load(Ordering::Relaxed);
        let labels = format!("{labels}{comma}le=\"{}\"", number(bound));
        line(page, &format!("{name}_bucket"), &labels, &below.to_string());
    }
    line(page, &format!("{name}_sum"), labels, &number(histogram.sum()));
    line(page, &format!("{name}_count"), labels, &below.to_string());
}

fn line(page: &mut String, name: &str, labels: &str, value: &str) {
    let _ =
        if labels.is_empty() { writeln!(page, "{name} {value}") } else { writeln!(page, "{name}{{{labels}}} {value}") };
}

fn number(value: f64) -> String {
    match value {
        _ if value.is_nan() => "NaN".to_owned(),
        f64::INFINITY => "+Inf".to_owned(),
        f64::NEG_INFINITY => "-Inf".to_owned(),
        _ => value.to_string(),
    }
}

fn render_labels(labels: &[(&str, &str)]) -> String {
    let mut text = String::new();
    for (name, value) in labels {
        let value = value.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n");
        let comma = if text.is_empty() { "" } else { "," };
        let _ = write!(text, "{comma}{name}=\"{value}\"");
    }
    text
}

fn check_name(name: &str) -> Result<(), MetricError> {
    let letter = |c: char| c.is_ascii_alphabetic() || c == '_' || c == ':';
    let mut chars = name.chars();
    let good = chars.next().is_some_and(letter) && chars.all(|c| letter(c) || c.is_ascii_digit());
    if good && name.len() <= 200 { Ok(()) } else { Err(MetricError::Name(name.to_owned())) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_has_help_type_and_every_series() {
        let registry = Registry::new(100);
        registry.counter("b_total", "Second.", &[("status", "2xx")]).unwrap().add(3);
        registry.counter("b_total", "Second.", &[("status", "5\"xx")]).unwrap().inc();
        registry.gauge("a", "A \\ first\nline.", &[]).unwrap().set(1.5);
        let histogram = registry.histogram("c_seconds", "Third.", &[], &[0.1, 1.0]).unwrap();
        for value in [0.05, 0.1, 0.5, 7.0] {
            histogram.observe(value);
        }
        let expected = "# HELP a A \\\\ first\\nline.\n# TYPE a gauge\na 1.5\n\
            # HELP b_total Second.\n# TYPE b_total counter\nb_total{status=\"2xx\"} 3\nb_total{status=\"5\\\"xx\"} 1\n\
            # HELP c_seconds Third.\n# TYPE c_seconds histogram\nc_seconds_bucket{le=\"0.1\"} 2\n\
            c_seconds_bucket{le=\"1\"} 3\nc_seconds_bucket{le=\"+Inf\"} 4\nc_seconds_sum 7.65\nc_seconds_count 4\n";
        assert_eq!(registry.render(), expected);
    }

    #[test]
    fn the_same_name_is_the_same_metric() {
        let registry = Registry::new(10);
        registry.counter("x", "", &[]).unwrap().inc();
        assert_eq!(registry.counter("x", "other words", &[]).unwrap().get(), 1);
    }

    #[test]
    fn bad_names_other_kinds_and_too_many_are_refused() {
        let registry = Registry::new(2);
        assert_eq!(registry.counter("1x", "", &[]).unwrap_err(), MetricError::Name("1x".into()));
        assert!(registry.counter("", "", &[]).is_err());
        registry.counter("x", "", &[]).unwrap();
        assert_eq!(registry.gauge("x", "", &[]).unwrap_err(), MetricError::Kind("x".into()));
        assert_eq!(registry.gauge("x", "", &[("a", "b")]).unwrap_err(), MetricError::Kind("x".into()));
        registry.gauge("y", "", &[]).unwrap();
        assert_eq!(registry.gauge("z", "", &[]).unwrap_err(), MetricError::Full(2));
        assert_eq!(registry.reading("z", "", || 1.0).unwrap_err(), MetricError::Full(2));
        for taken in ["x", "y"] {
            assert_eq!(registry.reading(taken, "", || 1.0).unwrap_err(), MetricError::Kind(taken.into()));
        }
    }

    #[test]
    fn changes_from_many_threads_are_all_counted() {
        let registry = Registry::new(10);
        let (counter, gauge) = (registry.counter("c", "", &[]).unwrap(), registry.gauge("g", "", &[]).unwrap());
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    for _ in 0..1000 {
                        counter.inc();
                        gauge.add(0.5);
                    }
                });
            }
        });
        assert_eq!((counter.get(), gauge.get()), (4000, 2000.0));
    }
}
