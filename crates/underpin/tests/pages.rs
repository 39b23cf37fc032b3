//! The HTML pages as a browser shows them: dark and light, wide and narrow, without a network.

mod common;

use common::underpin;
use serde_json::Value;
use std::path::{Path, PathBuf};
use underpin_test_support::{Browser, Fixture, Look, Output, need};

/// Finds errors of the layout: text that leaves its picture or overlaps other text, a page wider than its window.
const AUDIT: &str = r"(() => {
  const found = [];
  if (document.documentElement.scrollWidth > innerWidth) found.push('the page is wider than the window');
  for (const svg of document.querySelectorAll('svg')) {
    const frame = svg.getBoundingClientRect(), name = svg.getAttribute('aria-label');
    const gap = 1.5 * frame.width / svg.viewBox.baseVal.width;
    const boxes = [...svg.querySelectorAll('text')].map((text) => [text.textContent, text.getBoundingClientRect()]);
    for (const [words, box] of boxes)
      if (box.left < frame.left - 1 || box.right > frame.right + 1 || box.top < frame.top - 1 || box.bottom > frame.bottom + 1)
        found.push(`${name}: ${words} leaves the picture`);
    boxes.forEach(([one, a], index) => boxes.slice(index + 1).forEach(([other, b]) => {
      if (a.left + gap < b.right && b.left + gap < a.right && a.top + gap < b.bottom && b.top + gap < a.bottom)
        found.push(`${name}: ${one} covers ${other}`);
    }));
  }
  return found;
})()";

/// Finds what a reader of a narrow window cannot see or read: boxes cut without a mark, text below 11 pixels, a command
/// that leaves its box, an axis that starts above zero without saying so.
const NARROW: &str = r"(() => {
  const found = [];
  const hinted = (element) => element.matches('.scroll') && getComputedStyle(element).backgroundImage.split('gradient').length > 4;
  for (const element of document.body.querySelectorAll('*')) {
    if (element.closest('svg') && element.tagName !== 'svg' && element.tagName !== 'text') continue;
    const style = getComputedStyle(element), box = element.getBoundingClientRect();
    if (!box.width || ['SCRIPT', 'BODY'].includes(element.tagName)) continue;
    const name = `${element.tagName}.${element.className.baseVal ?? element.className} ${element.textContent.slice(0, 30)}`;
    if (element.scrollWidth > element.clientWidth + 1 && style.overflowX !== 'visible' && !hinted(element)) found.push(`${name}: cut without a mark`);
    if (box.right > innerWidth + 1 && !element.closest('.scroll')) found.push(`${name}: beyond the window`);
    if (element.tagName === 'PRE' && element.scrollWidth > element.clientWidth) found.push(`${name}: a command is cut`);
    if (element.tagName === 'text') {
      const svg = element.closest('svg'), scale = svg.getBoundingClientRect().width / svg.viewBox.baseVal.width;
      const size = parseFloat(style.fontSize) * scale;
      if (size < 10.95) found.push(`${name}: ${size.toFixed(1)} px`);
    } else if (parseFloat(style.fontSize) < 11) found.push(`${name}: ${style.fontSize}`);
  }
  for (const box of document.querySelectorAll('.scroll')) {
    const table = box.querySelector('table');
    if (!table || box.scrollWidth <= box.clientWidth) continue;
    const before = table.rows[1].cells[0].getBoundingClientRect().left;
    box.scrollLeft = 1000;
    if (Math.abs(table.rows[1].cells[0].getBoundingClientRect().left - before) > 1) found.push('the first column scrolls away');
    box.scrollLeft = 0;
  }
  for (const figure of document.querySelectorAll('figure')) {
    const words = [...figure.querySelectorAll('svg.plot text.axis')].map((text) => text.textContent);
    const said = figure.textContent.includes('does not start at 0') || figure.textContent.includes('Axes without a 0') || figure.textContent.includes('logarithmic');
    if (words.length && !said && !words.some((one) => /^0( %)?$/.test(one))) found.push(`${figure.textContent.slice(0, 40)}: no zero`);
  }
  return found;
})()";

/// The least contrast (WCAG 2) of a page's text with what is behind it.
const CONTRAST: &str = r"(() => {
  const parse = (colour) => colour.match(/[\d.]+/g).map(Number);
  const light = ([r, g, b]) => [r, g, b].map((c) => c / 255).map((c) => c <= .03928 ? c / 12.92 : ((c + .055) / 1.055) ** 2.4)
    .reduce((sum, c, index) => sum + c * [.2126, .7152, .0722][index], 0);
  const ground = light(parse(getComputedStyle(document.body).backgroundColor));
  let least = 21;
  for (const element of document.querySelectorAll('p, li, td, th, h1, h2, h3, span, svg text')) {
    if (!element.textContent.trim()) continue;
    const style = getComputedStyle(element);
    const words = light(parse(element instanceof SVGElement ? style.fill : style.color));
    least = Math.min(least, (Math.max(words, ground) + .05) / (Math.min(words, ground) + .05));
  }
  return least;
})()";

/// Runs it in a folder of its own, and returns the page that it wrote.
fn page(dir: &Fixture, name: &str, verb: &str, args: &[&str]) -> PathBuf {
    let path = dir.join(format!("{name}.html"));
    let export = ["--export-html", path.to_str().expect("UTF-8")];
    let output = Output::of(underpin([&[verb], &export[..], args].concat()).current_dir(dir.path()));
    assert!(path.is_file(), "{verb} {args:?}: {}", output.stderr);
    path
}

/// Checks a page in every way that readers view it.
fn look_at(browser: &mut Browser, path: &Path) {
    for (width, dark) in [(1400, false), (1400, true), (1000, false), (400, false), (400, true)] {
        let look = Look { width, dark };
        browser.open(path, look);
        let at = path.display();
        assert_eq!(browser.complaints(), [] as [String; 0], "{at} {look:?}");
        assert_eq!(browser.requests(), [format!("file://{at}")], "the page asks for nothing");
        assert_eq!(browser.evaluate(AUDIT), Value::Array(Vec::new()), "{at} {look:?}");
        if width == 400 {
            assert_eq!(browser.evaluate("innerWidth"), 400);
            assert_eq!(browser.evaluate(NARROW), Value::Array(Vec::new()), "{at} {look:?}");
        }
        let contrast = browser.evaluate(CONTRAST).as_f64().expect("a figure");
        assert!(contrast >= 4.5, "{at} {look:?}: contrast {contrast}");
        let ground = browser.evaluate("getComputedStyle(document.body).backgroundColor.match(/\\d+/g).map(Number)[0]");
        assert_eq!(ground.as_u64().expect("a colour") < 128, dark, "{at} {look:?}");
    }
}

/// The document that a page contains; a browser can read it too.
fn embedded(browser: &mut Browser) -> Value {
    let text = browser.evaluate("document.getElementById('document').textContent");
    assert_eq!(
        browser.evaluate("JSON.parse(document.getElementById('document').textContent).schema"),
        "underpin.bench/1"
    );
    serde_json::from_str(text.as_str().expect("text")).expect("a document")
}

#[test]
fn comparisons_of_every_shape_are_laid_out() {
    need!("chromium");
    let dir = Fixture::new();
    let long = "sleep 0.53 memory=61 'a name that is so long that it ends beyond the edge of any narrow picture of it'";
    let shapes: [(&str, &[&str]); 10] = [
        ("one", &["-r", "14", "sleep 0.5 memory=30"]),
        ("single-run", &["-r", "1", "--memory-runs", "1", "sleep 0.5 memory=30"]),
        ("two", &["-r", "20", "--aa", "sleep 0.5 memory=300", "sleep 0.54 memory=60"]),
        (
            "nine",
            &[
                "-r",
                "20",
                "sleep 0.5 memory=300",
                "sleep 0.51 memory=299",
                "sleep 0.52 memory=62",
                long,
                "sleep 0.54 memory=60",
                "sleep 0.55 memory=59 noise=0.5",
                "sleep 0.7 memory=400",
                "sleep 0.56 memory=61",
                "sleep 0.57 memory=61",
            ],
        ),
        ("many-runs", &["-r", "2000", "sleep 0.005 noise=0.4", "sleep 0.0052 noise=1.5"]),
        (
            "served",
            &[
                "--load",
                "GET http://127.0.0.1:{PORT}/",
                "--serve",
                "serve 4000 memory=300",
                "--serve",
                "serve 4400 memory=120 noise=0.01",
                "--serve",
                "serve 4010 memory=130 errors=400",
            ],
        ),
        ("no-memory", &["-r", "12", "--memory-runs", "0", "sleep 0.5", "sleep 0.6"]),
        ("small", &["-r", "12", "sleep 0.3 memory=0.01171875", "sleep 0.3 memory=1.1"]),
        ("equal", &["-r", "12", "sleep 0.5 noise=0", "sleep 0.5 noise=0"]),
        ("wide", &["-r", "20", "sleep 0.0001 memory=1", "sleep 0.1 memory=0.02", "sleep 90 memory=90000 noise=3"]),
    ];
    let mut browser = Browser::start();
    for (name, args) in shapes {
        let path = page(&dir, name, "bench", &[&["--debug-mode", "--save", name], args].concat());
        look_at(&mut browser, &path);
        let kept = Output::of(underpin(["report", name, "--json"]).current_dir(dir.path()));
        let document: Value = serde_json::from_str(&kept.stdout).expect("a document");
        assert!(embedded(&mut browser) == document, "{name}: the page holds every run");
    }
}

#[test]
fn failures_and_other_outcomes_of_real_runs_are_laid_out() {
    need!("chromium");
    let dir = Fixture::new();
    let mut browser = Browser::start();
    let args = ["-i", "-r", "4", "--memory-runs", "2", "sh -c 'sleep 0.02; exit 3'", "true", "sh -c 'kill $$'"];
    look_at(&mut browser, &page(&dir, "failures", "bench", &args));
    let args = ["-r", "12", "--save", "main", "--", "true"];
    page(&dir, "main", "bench", &args);
    let args = ["-r", "12", "--baseline", "main", "--gate", "wall<+3%,rss<-50%", "--", "true"];
    let path = page(&dir, "gate", "bench", &args);
    look_at(&mut browser, &path);
    let words = browser.evaluate("document.body.innerText");
    let words = words.as_str().expect("words");
    assert!(words.contains("Gate failed") && words.contains("Against the saved run main"), "{words}");
}

#[test]
fn a_key_lets_its_variant_stand_out_and_a_table_is_sorted() {
    need!("chromium");
    let dir = Fixture::new();
    let commands = ["sleep 0.5 memory=90", "sleep 0.3 memory=70", "sleep 0.4 memory=80", "sleep 0.2 memory=60"];
    let path = page(&dir, "keys", "bench", &[&["--debug-mode", "-r", "18"][..], &commands].concat());
    let mut browser = Browser::start();
    browser.open(&path, Look { width: 1400, dark: false });
    let strong = "[...document.querySelectorAll('.plot .v')].filter((one) => getComputedStyle(one).opacity === '1').every((one) => one.dataset.v === '1')";
    assert_eq!(browser.evaluate(strong), Value::Bool(false));
    browser.evaluate("document.querySelector('.key[data-v=\"1\"]').dispatchEvent(new KeyboardEvent('keydown', {key: 'Enter', bubbles: true}))");
    assert_eq!(browser.evaluate(strong), Value::Bool(true), "by the keyboard alone");
    browser.evaluate("document.querySelector('.key[data-v=\"1\"]').click()");
    assert_eq!(browser.evaluate(strong), Value::Bool(false), "once more sets it back");
    let names = "[...document.querySelectorAll('table.sortable tbody tr')].map((row) => row.cells[0].textContent)";
    browser.evaluate("document.querySelector('table.sortable th.num button').click()");
    browser.evaluate("document.querySelector('table.sortable th.num button').click()");
    let sorted = browser.evaluate(names);
    assert_eq!(sorted, serde_json::json!([commands[3], commands[1], commands[2], commands[0]]));
}

#[test]
fn pages_of_programs_are_laid_out() {
    need!("chromium", "emacs-gtk");
    let dir = Fixture::new();
    let mut browser = Browser::start();
    look_at(&mut browser, &page(&dir, "survey", "survey", &["/usr/bin/emacs-gtk", "--", "--version"]));
    look_at(&mut browser, &page(&dir, "trace", "trace", &["--", "/bin/sh", "-c", ":"]));
}
