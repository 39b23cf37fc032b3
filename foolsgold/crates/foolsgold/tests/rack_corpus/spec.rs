//! The files of the corpus: one Ruby application each, with its requests in comments at the top.
//!
//! `#> METHOD TARGET` is a request, `#+ Name: value` a header field of it, `#= text` its body and `#* N text` a body of
//! N times that text. In `rack3`, `#< STATUS` (or `#< broken`: cut off), `#- name: value` and `#: text` are the answer
//! that the specification asks for. `#~` lists what is not compared: `body`, `fields`, `field NAME`, `broken` (the
//! first answer is cut off), `thin` (that server cannot be asked this). In texts `\r`, `\n`, `\\` and `\xNN` are
//! escapes.

use std::fs;
use std::path::{Path, PathBuf};

/// One application and its requests.
#[derive(Debug)]
pub struct Case {
    /// Name without `.ru`.
    pub name: String,
    /// Its path.
    pub path: PathBuf,
    /// In order.
    pub requests: Vec<Request>,
    /// What is not compared.
    pub loose: Loose,
}

/// What is not compared.
#[derive(Debug, Default)]
pub struct Loose {
    /// Bodies.
    pub body: bool,
    /// Every field.
    pub fields: bool,
    /// These fields.
    pub names: Vec<String>,
    /// The first answer ends early.
    pub broken: bool,
    /// Thin is not asked.
    pub not_thin: bool,
}

/// One request.
#[derive(Debug, Default)]
pub struct Request {
    pub method: String,
    pub target: String,
    pub fields: Vec<(String, String)>,
    pub body: Option<Vec<u8>>,
    /// The expected answer, if the specification defines one.
    pub expected: Option<Expected>,
}

/// The answer that the specification asks for.
#[derive(Debug, Default)]
pub struct Expected {
    /// The answer is cut off at any point: nothing else in it is compared.
    pub broken: bool,
    pub status: u16,
    pub fields: Vec<(String, String)>,
    pub body: Vec<u8>,
}

/// Every application in a folder, by name.
pub fn all(folder: &Path) -> Vec<Case> {
    let mut cases: Vec<Case> = fs::read_dir(folder)
        .unwrap_or_else(|error| panic!("{}: {error}", folder.display()))
        .map(|entry| entry.expect("an entry of the folder").path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "ru"))
        .map(|path| parse(&path))
        .collect();
    cases.sort_by(|a, b| a.name.cmp(&b.name));
    cases
}

fn parse(path: &Path) -> Case {
    let text = fs::read_to_string(path).expect("a file of the corpus");
    let name = path.file_stem().and_then(|name| name.to_str()).expect("a name").to_owned();
    let mut case = Case { name, path: path.to_owned(), requests: Vec::new(), loose: Loose::default() };
    for line in text.lines().take_while(|line| line.starts_with('#')) {
        let Some((mark, rest)) = line.split_at_checked(3) else { continue };
        if mark == "#> " {
            let (method, target) = rest.split_once(' ').expect("a method and a target");
            let (method, target) = (method.to_owned(), target.to_owned());
            case.requests.push(Request { method, target, ..Request::default() });
        } else if mark == "#~ " {
            loosen(&mut case.loose, rest);
        } else if let Some(request) = case.requests.last_mut() {
            detail(request, mark, rest);
        }
    }
    assert!(!case.requests.is_empty(), "{}: no requests", path.display());
    case
}

fn loosen(loose: &mut Loose, what: &str) {
    match what {
        "body" => loose.body = true,
        "fields" => loose.fields = true,
        "broken" => loose.broken = true,
        "thin" => loose.not_thin = true,
        other => loose.names.push(other.strip_prefix("field ").expect("`field NAME`").to_owned()),
    }
}

fn detail(request: &mut Request, mark: &str, rest: &str) {
    let field = || {
        let (name, value) = rest.split_once(": ").expect("`Name: value`");
        (name.to_owned(), value.to_owned())
    };
    match mark {
        "#+ " => request.fields.push(field()),
        "#= " => request.body = Some(unescaped(rest)),
        "#* " => {
            let (count, text) = rest.split_once(' ').expect("`#* N text`");
            request.body = Some(unescaped(text).repeat(count.parse().expect("a number")));
        }
        "#< " if rest == "broken" => request.expected.get_or_insert_default().broken = true,
        "#< " => request.expected.get_or_insert_default().status = rest.parse().expect("a status"),
        "#- " => request.expected.get_or_insert_default().fields.push(field()),
        "#: " => request.expected.get_or_insert_default().body = unescaped(rest),
        _ => {}
    }
}

fn unescaped(text: &str) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        if byte != b'\\' {
            bytes.push(byte);
            continue;
        }
        bytes.push(match rest.next() {
            Some(b'n') => b'\n',
            Some(b'r') => b'\r',
            Some(b'x') => {
                let digits = [rest.next().expect("a digit"), rest.next().expect("a digit")];
                u8::from_str_radix(str::from_utf8(&digits).expect("digits"), 16).expect("two digits")
            }
            Some(other) => other,
            None => b'\\',
        });
    }
    bytes
}
