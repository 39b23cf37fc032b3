//! The same config.ru files under Thin, Puma and foolsgold: status, fields and body must be the same.
//!
//! Thin and Puma (Debian's, with CRuby and Rack 2.2) are the oracles. Where they differ from each other, foolsgold has
//! to agree with one of them. Intended differences are in one table, with the reason, and must really occur. What only
//! Rack 3 has is in `corpus/rack3`, with the answers that its specification asks for.

#[path = "../child/mod.rs"]
mod child;
mod client;
mod inside;
mod server;
mod spec;
#[path = "../../../foolsgold-ruby/tests/support/mod.rs"]
mod support;

use client::{Answer, ask};
use foolsgold_core::work::Mode;
use server::{Kind, Server};
use spec::{Case, Loose};
use std::path::PathBuf;
use std::sync::OnceLock;
use underpin_test_support::need;

/// Where foolsgold differs from both, and why: file, number of the request, reason.
const BY_DESIGN: &[(&str, usize, &str)] = &[];

/// Header fields set by a server and its connections.
const OF_THE_SERVER: [&str; 6] =
    ["date", "server", "connection", "transfer-encoding", "keep-alive", "x-content-type-options"];

fn corpus(folder: &str) -> Vec<Case> {
    spec::all(&PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/corpus")).join(folder))
}

/// The answers of one server, for each case and request; `None` if it is not asked.
type Answers = Vec<Vec<Option<Answer>>>;

fn answers(kind: Kind, cases: &[Case]) -> Answers {
    let server = Server::start(kind, cases);
    let one = |case: &Case| {
        let asked = kind != Kind::Thin || !case.loose.not_thin;
        let answer = |request| {
            asked.then(|| ask(server.address, &case.name, request).unwrap_or_else(|error| panic!("{kind:?}: {error}")))
        };
        case.requests.iter().map(answer).collect()
    };
    cases.iter().map(one).collect()
}

/// The oracles are asked once for all tests.
fn oracles() -> &'static (Vec<Case>, Answers, Answers) {
    static ORACLES: OnceLock<(Vec<Case>, Answers, Answers)> = OnceLock::new();
    ORACLES.get_or_init(|| {
        let cases = corpus("");
        let thin = answers(Kind::Thin, &cases);
        let puma = answers(Kind::Puma, &cases);
        (cases, thin, puma)
    })
}

/// An answer without the parts that are not compared.
fn compared(answer: &Answer, loose: &Loose, number: usize) -> Answer {
    let broken = loose.broken && number == 0;
    let mut answer = answer.clone();
    answer.fields.retain(|(name, _)| {
        !loose.fields
            && !loose.names.contains(name)
            && !OF_THE_SERVER.contains(&name.as_str())
            // Whether it is sent depends on the kind of body.
            && name != "content-length"
    });
    for (name, value) in &mut answer.fields {
        // Rack 3 writes the names of cookie attributes in lower case.
        if name == "set-cookie"
            && let Some(attributes) = value.find(';')
        {
            value[attributes..].make_ascii_lowercase();
        }
    }
    // Fields with the same name keep their order.
    answer.fields.sort_by(|(a, _), (b, _)| a.cmp(b));
    if loose.body || broken {
        answer.body.clear();
    }
    if broken {
        (answer.whole, answer.status) = (true, 0);
        answer.fields.clear();
    }
    answer
}

fn shown(answer: &Answer) -> String {
    let fields: Vec<String> = answer.fields.iter().map(|(name, value)| format!("{name}: {value}")).collect();
    let body = answer.body[..answer.body.len().min(600)].escape_ascii();
    format!("{} [{}] whole={} {} bytes: {body}", answer.status, fields.join(", "), answer.whole, answer.body.len())
}

/// What differs from both oracles, as (case, request, sentence).
fn differences(cases: &[Case], what: &str, found: &Answers, oracles: &[&Answers]) -> Vec<(String, usize, String)> {
    let mut differing = Vec::new();
    for (at, case) in cases.iter().enumerate() {
        for (number, answer) in found[at].iter().enumerate() {
            let Some(answer) = answer else { continue };
            let ours = compared(answer, &case.loose, number);
            let theirs: Vec<Answer> = oracles
                .iter()
                .filter_map(|oracle| oracle[at][number].as_ref())
                .map(|answer| compared(answer, &case.loose, number))
                .collect();
            if theirs.contains(&ours) || theirs.is_empty() {
                continue;
            }
            let request = &case.requests[number];
            let theirs: Vec<String> = theirs.iter().map(shown).collect();
            let sentence = format!(
                "{} {}\n  {what}: {}\n  oracles: {}",
                request.method,
                request.target,
                shown(&ours),
                theirs.join("\n           ")
            );
            differing.push((case.name.clone(), number, sentence));
        }
    }
    differing
}

/// One interpreter in each mode, called without a server.
const MODES: [Mode; 3] = [Mode::SharedNothing, Mode::Prefork, Mode::Fresh];

/// The whole server in each mode.
const SERVERS: [Kind; 3] = [Kind::SharedNothing, Kind::Prefork, Kind::Fresh];

fn judge(what: &str, cases: &[Case], found: &Answers) {
    let (_, thin, puma) = oracles();
    let differing = differences(cases, what, found, &[thin, puma]);
    let known = |name: &str, number: usize| BY_DESIGN.iter().any(|(file, at, _)| *file == name && *at == number);
    let unknown: Vec<String> = differing
        .iter()
        .filter(|(name, number, _)| !known(name, *number))
        .map(|(name, number, sentence)| format!("{name} {number}: {sentence}"))
        .collect();
    assert!(unknown.is_empty(), "{} answers differ:\n{}", unknown.len(), unknown.join("\n"));
    for (file, at, reason) in BY_DESIGN {
        let real = differing.iter().any(|(name, number, _)| name == file && number == at);
        assert!(real, "{file} {at} is said to differ ({reason}) and does not");
    }
}

#[test]
fn interpreters_of_every_mode_answer_as_thin_and_puma_do() {
    need!("ruby", "thin", "puma");
    let (cases, ..) = oracles();
    for mode in MODES {
        judge(&format!("{mode:?}"), cases, &inside::answers(mode, cases));
    }
}

#[test]
fn servers_of_every_mode_answer_as_thin_and_puma_do() {
    need!("ruby", "thin", "puma");
    let (cases, ..) = oracles();
    for kind in SERVERS {
        judge(&format!("{kind:?}"), cases, &answers(kind, cases));
    }
}

#[test]
fn interpreters_and_servers_of_every_mode_answer_as_rack_3_says() {
    let cases = corpus("rack3");
    let inside = MODES.map(|mode| (format!("{mode:?} inside"), inside::answers(mode, &cases)));
    let servers = SERVERS.map(|kind| (format!("{kind:?}"), answers(kind, &cases)));
    for (what, found) in inside.into_iter().chain(servers) {
        let mut wrong = Vec::new();
        for (case, answers) in cases.iter().zip(&found) {
            for (request, answer) in case.requests.iter().zip(answers) {
                let expected =
                    request.expected.as_ref().unwrap_or_else(|| panic!("{}: nothing is expected", case.name));
                let Some(answer) = answer else { continue };
                let fields = expected.fields.iter().all(|field| answer.fields.contains(field));
                if expected.broken && !answer.whole {
                    continue;
                }
                if answer.status != expected.status || !fields || answer.body != expected.body {
                    let (body, status) = (expected.body.escape_ascii(), expected.status);
                    wrong.push(format!(
                        "{} {}: {}\n  expected {status} {body}",
                        case.name,
                        request.target,
                        shown(answer)
                    ));
                }
            }
        }
        assert!(wrong.is_empty(), "{what}: {}", wrong.join("\n"));
    }
}

#[test]
fn thin_and_puma_agree_on_most_of_the_corpus() {
    need!("ruby", "thin", "puma");
    let (cases, thin, puma) = oracles();
    let differing = differences(cases, "Puma", puma, &[thin]);
    let asked: usize = cases.iter().map(|case| case.requests.len()).sum();
    // An oracle that fails on much of the corpus would prove nothing.
    assert!(differing.len() * 20 < asked, "{} of {asked} differ: {differing:?}", differing.len());
    for (case, answers) in cases.iter().zip(puma).filter(|(case, _)| !case.loose.body && !case.loose.broken) {
        for answer in answers.iter().flatten() {
            assert!(answer.status != 500 || case.name == "catch_exception", "{}: {}", case.name, shown(answer));
        }
    }
}
