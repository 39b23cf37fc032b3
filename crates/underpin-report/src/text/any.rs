//! Every screen with arbitrary text from outside, on terminals of every width.
//!
//! The oracles are the two ways in which `unicode-width` counts: character by character, as older terminals do, and by
//! whole strings, as terminals do that know emoji made of several characters.

use super::*;
use crate::bytes::Raw;
use crate::document::SchemaTag;
use crate::document::bench::BenchDocument;
use crate::document::bind::{BindDocument, BindFile, BindName, BindOutcome, BindProgram, BindTotals, UnbindDocument};
use crate::document::bind::{CallsTotal, CostRecord, LateNames, SearchedName, Shape};
use crate::document::build::{BuildClaim, BuildDocument, BuildFact, BuildProgram, BuildStep};
use crate::document::bundle::{BundleDocument, BundleFile, BundleForm, BundleNotice, BundleNoticeKind, BundleRole};
use crate::document::check::CheckDocument;
use crate::document::storm::StormDocument;
use crate::document::suite::SuiteDocument;
use crate::document::survey::{StartUp, SurveyDocument};
use crate::document::tags::{ObstacleKind, ObstacleRecord, TagClaim, TagsDocument};
use crate::document::trace::TraceDocument;
use crate::document::tree::{CallComparison, TreeDocument};
use crate::document::verify::{LoaderAsked, VerifyDocument, VerifyFile, VerifyState};
use crate::layout::View;
use crate::styled::{Role, Text};
use crate::testing::{
    chosen_check, emulated_suite, lone_bench, prefix_closure, sample_bench, sample_check, sample_doctor, sample_storm,
    sample_suite, sample_trace, served_bench, wide_suite,
};
use proptest::prelude::*;
use std::sync::LazyLock;
use underpin_bench::{Analysis, BenchRecord, analyse};
use underpin_rewrite::plan::Reserve;
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

/// The narrowest terminal that the screens are laid out for.
const LEAST: usize = 40;

/// Text from outside, handed out in turn.
#[derive(Debug)]
struct Words {
    words: Vec<Vec<u8>>,
    next: usize,
}

impl Words {
    fn bytes(&mut self) -> Vec<u8> {
        self.next += 1;
        self.words[self.next % self.words.len()].clone()
    }

    fn raw(&mut self, raw: &mut Raw) {
        raw.0 = self.bytes().into();
    }

    fn text(&mut self, text: &mut String) {
        *text = String::from_utf8_lossy(&self.bytes()).into_owned();
    }

    fn raws<'a>(&mut self, raws: impl IntoIterator<Item = &'a mut Raw>) {
        raws.into_iter().for_each(|raw| self.raw(raw));
    }

    fn texts<'a>(&mut self, texts: impl IntoIterator<Item = &'a mut String>) {
        texts.into_iter().for_each(|text| self.text(text));
    }

    fn new_raw(&mut self) -> Raw {
        Raw(self.bytes().into())
    }

    fn new_text(&mut self) -> String {
        String::from_utf8_lossy(&self.bytes()).into_owned()
    }
}

/// Pieces that terminals and libraries count differently, that move neighbouring characters, or that are not text.
fn piece() -> impl Strategy<Value = Vec<u8>> {
    let known = [
        "❤️",
        "☁\u{fe0f}",
        "1\u{fe0f}\u{20e3}",
        "👨‍👩‍👧",
        "👍🏽",
        "🇩🇪",
        "🇩",
        "e\u{301}",
        "\u{301}",
        "\u{fe0f}",
        "\u{200d}",
        "日本語",
        "ｱ",
        "שלום",
        "لا",
        "\u{202e}",
        "\u{1b}[31m",
        "\r\n",
        "\t",
        "ก็",
        "각",
        "\u{1160}",
        "ﷺ",
        "…",
        "/",
        " ",
        "_",
        "libz.so.1",
        "\u{e0041}",
        "\u{feff}",
    ];
    prop_oneof![
        8 => prop::sample::select(known.map(|text| text.as_bytes().to_vec()).to_vec()),
        2 => any::<char>().prop_map(|ch| ch.to_string().into_bytes()),
        1 => prop::sample::select(vec![b"\xed\xa0\x80".to_vec(), b"\xff".to_vec(), b"\xf0\x9f".to_vec()]),
        1 => (1usize..60).prop_map(|count| vec![b'a'; count]),
        1 => (1usize..30).prop_map(|count| "❤️".repeat(count).into_bytes()),
    ]
}

fn words() -> impl Strategy<Value = Words> {
    let word = prop::collection::vec(piece(), 0..12).prop_map(|pieces| pieces.concat());
    prop::collection::vec(word, 1..12).prop_map(|words| Words { words, next: 0 })
}

/// Checks that no line is wider than the terminal, however it counts; commands are kept whole on their lines.
fn assert_fits(name: &str, text: &Text, columns: usize) {
    let columns = columns.max(LEAST);
    for line in text.lines().iter().filter(|line| !line.spans().iter().any(|span| span.role() == Role::Command)) {
        let shown = line.to_string();
        let by_characters: usize = shown.chars().filter_map(UnicodeWidthChar::width).sum();
        let widest = shown.width().max(by_characters);
        assert!(widest <= columns, "{name}: {widest} columns on a terminal of {columns}: {shown:?}");
        assert!(!shown.chars().any(char::is_control), "{name}: {shown:?}");
    }
}

/// Checks a screen at every level of detail.
fn assert_screen(name: &str, columns: usize, screen: impl Fn(&View) -> Text) {
    for verbosity in 0..3 {
        assert_fits(name, &screen(&View::columns(columns).verbose(verbosity)), columns);
    }
}

fn tree_of(words: &mut Words) -> TreeDocument {
    let mut document = TreeDocument::new(&prefix_closure());
    words.raw(&mut document.program);
    words.raw(&mut document.loader.path);
    words.texts(&mut document.loader.version);
    for object in &mut document.objects {
        words.raw(&mut object.path);
        words.raws(
            object.names.iter_mut().chain(&mut object.soname).chain(&mut object.rpath).chain(&mut object.runpath),
        );
    }
    words.raws(document.searches.iter_mut().flat_map(|search| &mut search.directories).map(|one| &mut one.path));
    for edge in &mut document.edges {
        words.raw(&mut edge.name);
        words.texts(&mut edge.reason);
        words.texts(edge.why.iter_mut().map(|why| &mut why.text));
        for tried in &mut edge.tries {
            words.raw(&mut tried.path);
            words.text(&mut tried.text);
            words.text(&mut tried.source.text);
        }
    }
    words.texts(document.findings.iter_mut().map(|finding| &mut finding.message));
    words.texts(document.calls.counts.iter_mut().map(|count| &mut count.name));
    document
}

fn trace_of(words: &mut Words) -> TraceDocument {
    let sample = sample_trace();
    let mut document = TraceDocument::new(&sample).with_events(&sample);
    words.raws(&mut document.command);
    words.raw(&mut document.program);
    words.texts(document.syscalls.iter_mut().map(|call| &mut call.name));
    let mut lookups = Vec::new();
    for library in &mut document.libraries {
        words.raws([&mut library.name, &mut library.path]);
        lookups.extend(&mut library.failed);
    }
    for library in &mut document.missing {
        words.raw(&mut library.name);
        lookups.extend(&mut library.failed);
    }
    for lookup in lookups {
        words.raw(&mut lookup.path);
        words.texts([&mut lookup.call, &mut lookup.error]);
    }
    words.raws(document.directories.iter_mut().map(|one| &mut one.directory));
    for event in document.events.iter_mut().flatten() {
        words.text(&mut event.call);
        words.raws(&mut event.path);
        words.texts(&mut event.error);
    }
    words.texts(&mut document.notes);
    words.texts(document.advice.iter_mut().map(|advice| &mut advice.message));
    document
}

fn check_of(words: &mut Words, mut document: CheckDocument) -> CheckDocument {
    words.raw(&mut document.program);
    words.raws(&mut document.companions);
    let file = &mut document.file;
    words.texts([&mut file.machine, &mut file.linkage]);
    words.raws(&mut file.interpreter);
    words.texts(file.languages.iter_mut().map(|part| &mut part.name));
    words.texts(file.hardening.iter_mut().map(|fact| &mut fact.text));
    words.texts(&mut file.allocator.name);
    if let Some(libc) = &mut file.libc {
        words.text(&mut libc.name);
        words.raws(&mut libc.version);
    }
    let above = document.limit.iter_mut().flat_map(|limit| &mut limit.above);
    for step in document.floors.iter_mut().flat_map(|floor| &mut floor.steps).chain(above) {
        words.text(&mut step.version);
        for demand in &mut step.demands {
            words.raw(&mut demand.object);
            words.raws(demand.symbols.iter_mut().map(|symbol| &mut symbol.name));
            words.texts(demand.symbols.iter_mut().filter_map(|symbol| symbol.demangled.as_mut()));
        }
    }
    words.texts(document.floors.iter_mut().flat_map(|floor| [&mut floor.library, &mut floor.version]));
    words.texts(document.hidden.iter_mut().map(|hidden| &mut hidden.message));
    for system in &mut document.systems {
        words.texts([&mut system.id, &mut system.name]);
        words.texts(system.lacks.iter_mut().chain(&mut system.doubts).chain(&mut system.notes));
        words.texts(system.reasons.iter_mut().map(|reason| &mut reason.message));
        words.texts(system.reasons.iter_mut().flat_map(|reason| reason.version.iter_mut().chain(&mut reason.newest)));
        words.raws(system.install.iter_mut().map(|item| &mut item.soname));
    }
    words.texts(document.advice.iter_mut().map(|advice| &mut advice.message));
    document
}

fn tags_of(words: &mut Words) -> TagsDocument {
    let kinds = [ObstacleKind::Library, ObstacleKind::Version, ObstacleKind::Forbidden, ObstacleKind::Processor];
    let mut obstacle = |kind| ObstacleRecord {
        object: words.new_raw(),
        kind,
        what: words.new_raw(),
        library: (kind != ObstacleKind::Library).then(|| words.new_raw()),
        symbols: (0..4).map(|_| words.new_raw()).collect(),
    };
    let obstacles = kinds.map(&mut obstacle).to_vec();
    let claim = TagClaim { tag: words.new_text(), earned: None };
    TagsDocument {
        schema: SchemaTag::new(),
        set: words.new_raw(),
        objects: 3,
        libc: Some(words.new_text()),
        platform: words.new_text(),
        tag: words.new_text(),
        alias: Some(words.new_text()),
        claims: vec![TagClaim { earned: Some(false), ..claim.clone() }, claim],
        ruled_out: Some(words.new_text()),
        obstacles,
        notes: vec![words.new_text()],
        tags_date: words.new_text(),
        tags_source: words.new_text(),
        passed: false,
    }
}

fn bench_of(words: &mut Words, (mut record, _): (BenchRecord, Analysis)) -> BenchDocument {
    for (index, variant) in record.header.variants.iter_mut().enumerate() {
        words.text(&mut variant.name);
        // Names are unique.
        variant.name.push_str(&index.to_string());
        words.texts(&mut variant.command);
    }
    let machine = &mut record.header.machine;
    words.texts([&mut machine.processor, &mut machine.kernel, &mut machine.system]);
    words.texts(record.header.load.iter_mut().map(|load| &mut load.request));
    let mut earlier = record.clone();
    words.text(&mut earlier.header.machine.processor);
    let gate = "wall<+3%,rss<+5%".parse().expect("a gate");
    let mut analysis = analyse(&record);
    words.texts(analysis.missing.iter_mut().map(|missing| &mut missing.reason));
    let analysis = analysis.with_baseline(&words.new_text(), &earlier, &record);
    BenchDocument::new(analysis.with_gate(&gate, Some(&earlier), &record))
}

fn suite_of(words: &mut Words, mut document: SuiteDocument) -> SuiteDocument {
    let summary = &mut document.summary;
    for (index, build) in summary.builds.iter_mut().enumerate() {
        words.texts([&mut build.name, &mut build.description]);
        // Names are unique.
        build.name.push_str(&index.to_string());
        words.texts(&mut build.emulator);
    }
    words.texts([&mut summary.machine.processor, &mut summary.machine.kernel, &mut summary.machine.system]);
    for row in summary.suites.iter_mut().flat_map(|suite| &mut suite.rows) {
        words.texts([&mut row.row, &mut row.label, &mut row.group]);
        for cell in &mut row.cells {
            if let underpin_suite::Cell::Failed { reason } = cell {
                words.text(reason);
            }
        }
    }
    document
}

fn storm_of(words: &mut Words) -> StormDocument {
    let mut document = sample_storm();
    words.raw(&mut document.program);
    words.texts(&mut document.absent);
    words.texts(document.cases.iter_mut().map(|case| &mut case.name));
    let fs = &mut document.file_system;
    words.texts([&mut fs.title, &mut fs.client.found, &mut fs.client.absent]);
    words.raws(&mut fs.mounted_at);
    words.texts(fs.sources.iter_mut().flat_map(|source| [&mut source.covers, &mut source.text]));
    document
}

fn bind_file(words: &mut Words, outcome: BindOutcome) -> BindFile {
    let mut name = |becomes: bool| BindName {
        name: words.new_raw(),
        becomes: becomes.then(|| words.new_raw()),
        left_alone: (!becomes).then(|| words.new_text()),
        note: Some(words.new_text()),
    };
    let names = vec![name(true), name(false)];
    BindFile {
        path: words.new_raw(),
        outcome,
        reason: Some(words.new_text()),
        names,
        search_path: Some(words.new_raw()),
        placed: Vec::new(),
        cost: CostRecord::default(),
    }
}

fn bind_of(words: &mut Words) -> (BindDocument, UnbindDocument) {
    let outcomes = [BindOutcome::Bound, BindOutcome::Refused, BindOutcome::Failed, BindOutcome::Unbound];
    let files: Vec<BindFile> = outcomes.into_iter().map(|outcome| bind_file(words, outcome)).collect();
    let totals = BindTotals::of(&files);
    let opened_by = vec![words.new_raw(), words.new_raw()];
    let program = BindProgram {
        path: words.new_raw(),
        before: CallsTotal::default(),
        after: None,
        late: LateNames { opened_by, directories_before: 31, directories_after: 1 },
        searched: vec![SearchedName { name: words.new_raw(), lookups: 1234 }],
    };
    let unbind =
        UnbindDocument { schema: SchemaTag::new(), dry_run: false, keeps_times: false, files: files.clone(), totals };
    let bind = BindDocument {
        schema: SchemaTag::new(),
        dry_run: false,
        shape: Shape::PerObject,
        files,
        farms: Vec::new(),
        programs: vec![program],
        totals,
    };
    (bind, unbind)
}

fn bundle_of(words: &mut Words) -> BundleDocument {
    let file = |words: &mut Words, role| BundleFile {
        path: words.new_raw(),
        place: words.new_raw(),
        bytes: 12_345,
        role,
        by: Some(words.new_raw()),
        feature: Some(words.new_text()),
        members: vec![words.new_raw()],
    };
    let notice = BundleNotice {
        kind: BundleNoticeKind::Data,
        text: words.new_text(),
        names: vec![words.new_raw(), words.new_raw()],
        bytes: None,
    };
    BundleDocument {
        schema: SchemaTag::new(),
        program: words.new_raw(),
        form: BundleForm::Directory,
        dry_run: false,
        target: words.new_raw(),
        entry: Some(words.new_raw()),
        files: vec![file(words, BundleRole::Needed), file(words, BundleRole::Declared)],
        bytes: 24_690,
        notices: vec![notice],
        judged: None,
    }
}

fn build_of(words: &mut Words, dry_run: bool) -> BuildDocument {
    let keys = ["allocator", "libc", "toolchain"];
    let fact = |words: &mut Words, met| BuildFact {
        what: words.new_text(),
        asked: words.new_text(),
        found: words.new_text(),
        met,
    };
    let program = |words: &mut Words, confirmed| BuildProgram {
        name: words.new_text(),
        path: words.new_raw(),
        bytes: 12_345,
        debug_bytes: 6_789,
        confirmed,
        facts: vec![fact(words, true), fact(words, confirmed)],
    };
    let step = BuildStep { what: words.new_text(), command: words.new_text(), environment: vec![words.new_text()] };
    BuildDocument {
        schema: SchemaTag::new(),
        project: words.new_raw(),
        kind: words.new_text(),
        build: words.new_text(),
        processor: words.new_text(),
        toolchain: words.new_text(),
        dry_run,
        claims: keys.map(|key| BuildClaim { key: key.to_owned(), value: words.new_text() }).to_vec(),
        tools: words.new_raw(),
        steps: vec![step],
        remarks: vec![words.new_text()],
        programs: if dry_run { Vec::new() } else { vec![program(words, true), program(words, false)] },
    }
}

fn verify_of(words: &mut Words) -> VerifyDocument {
    let file = VerifyFile {
        path: words.new_raw(),
        bound: true,
        state: VerifyState::BoundWithoutRecord,
        not_undoable: Some(words.new_text()),
        unrecorded: vec![words.new_raw()],
        fused: None,
        objects: 3,
        loader: LoaderAsked::ModelOnly,
        not_asked: Some(words.new_text()),
        differences: vec![words.new_text()],
        stale: vec![words.new_text()],
        symbols: None,
        comparison: None,
    };
    VerifyDocument::new(vec![file])
}

fn comparison_of(words: &mut Words) -> CallComparison {
    let document = TreeDocument::new(&prefix_closure());
    let mut comparison = CallComparison::new(&document.calls, document.calls.counts.clone());
    words.texts(comparison.rows.iter_mut().map(|row| &mut row.name));
    comparison
}

/// Made once: the analysis takes longer than the screens.
static SAMPLES: LazyLock<[(BenchRecord, Analysis); 3]> =
    LazyLock::new(|| [sample_bench(), lone_bench(), served_bench()]);

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn tree_screens_fit(mut words in words(), columns in 0usize..200) {
        let document = tree_of(&mut words);
        assert_screen("tree", columns, |view| tree(&document, view));
        assert_screen("paths", columns, |view| tree_paths(&document, view));
        for edge in &document.edges {
            assert_screen("why", columns, |view| tree_why(&document, edge.name.bytes(), view).unwrap_or_default());
        }
        let comparison = comparison_of(&mut words);
        assert_screen("calls", columns, |view| calls_comparison(&comparison, view));
    }

    #[test]
    fn trace_screens_fit(mut words in words(), columns in 0usize..200) {
        let document = trace_of(&mut words);
        assert_screen("trace", columns, |view| trace(&document, view));
    }

    #[test]
    fn check_doctor_and_survey_screens_fit(mut words in words(), columns in 0usize..200) {
        let document = check_of(&mut words, chosen_check());
        assert_screen("check", columns, |view| check(&document, view));
        let document = tags_of(&mut words);
        assert_screen("tags", columns, |view| tags(&document, view));
        let mut machine = sample_doctor();
        words.texts(machine.items.iter_mut().flat_map(|item| [&mut item.name, &mut item.value]));
        words.texts(machine.items.iter_mut().filter_map(|item| item.effect.as_mut()));
        assert_screen("doctor", columns, |view| doctor(&machine, view));
        let start_up = StartUp::Traced(Box::new(trace_of(&mut words)));
        let document = SurveyDocument::new(check_of(&mut words, sample_check()), tree_of(&mut words), start_up);
        assert_screen("survey", columns, |view| survey(&document, view));
    }

    #[test]
    fn bench_and_storm_screens_fit(mut words in words(), columns in 0usize..200) {
        for sample in SAMPLES.iter() {
            let document = bench_of(&mut words, sample.clone());
            assert_screen("bench", columns, |view| bench(&document, view));
        }
        let document = storm_of(&mut words);
        assert_screen("storm", columns, |view| storm(&document, view));
    }

    #[test]
    fn screens_of_suites_fit(mut words in words(), columns in 0usize..200) {
        for document in [sample_suite(), wide_suite(), emulated_suite()] {
            let document = suite_of(&mut words, document);
            assert_screen("suite", columns, |view| suite(&document, view));
        }
    }

    #[test]
    fn screens_of_changed_files_fit(mut words in words(), columns in 0usize..200) {
        let (bound, unbound) = bind_of(&mut words);
        assert_screen("bind", columns, |view| bind(&bound, view));
        assert_screen("unbind", columns, |view| unbind(&unbound, view));
        let reserves = [Reserve { path: words.bytes().into(), bytes: 10, dynamic_tags: 2, flags: vec![words.new_text()] }];
        assert_screen("reserve", columns, |view| reserve(&reserves, view));
        let document = bundle_of(&mut words);
        assert_screen("bundle", columns, |view| bundle(&document, view));
        for dry_run in [false, true] {
            let document = build_of(&mut words, dry_run);
            assert_screen("build", columns, |view| build(&document, view));
        }
        let document = verify_of(&mut words);
        assert_screen("verify", columns, |view| verify(&document, view));
    }
}
