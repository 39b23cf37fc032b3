//! The floors of a program: the oldest version of each library family that it accepts, and what forces it.
//!
//! A floor covers all files of a family: `GLIBC_2.29` required of `libm.so.6` counts as much as one required of
//! `libc.so.6`. Names without a number are kept separately as markers, since they cannot be ordered.

use super::subject::{Carried, NeededSymbol, NeededVersion, ObjectFacts, Subject};
use super::version::{Number, VersionName};
use bstr::BString;
use serde::Serialize;
use std::collections::BTreeMap;

/// All floors of a program and of what is shipped with it.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Floors {
    /// One for each family of numbered versions, glibc first, then by name.
    pub versions: Vec<VersionFloor>,
    /// Needs that have a name but no number, and relocation formats that act like one.
    pub hidden: Vec<HiddenFloor>,
    /// The oldest kernel named by an ABI note, and the objects that name it.
    pub kernel: Option<KernelFloor>,
    /// The x86-64 level that a property note asks for.
    pub cpu: Option<CpuFloor>,
}

/// The floor of one family, such as `GLIBC` or `GLIBCXX`.
#[derive(Clone, Debug, Serialize)]
pub struct VersionFloor {
    /// The prefix of the versions: `GLIBC`, `GLIBCXX`, `CXXABI`, `GCC`, `OPENSSL`.
    pub family: String,
    /// The library under the name that people know.
    pub library: Library,
    /// The oldest version that is accepted: the highest asked for by number, or the release that first defines a marker.
    pub floor: Number,
    /// The highest version that a strong symbol asks for: what remains if weak needs were dropped. `None`: all are weak.
    pub strong_floor: Option<Number>,
    /// Every version asked for, newest first, with the symbols and objects behind it.
    pub steps: Vec<FloorStep>,
}

impl VersionFloor {
    /// Whether weak symbols alone determine the floor.
    #[must_use]
    pub fn held_by_weak(&self) -> bool {
        self.strong_floor.as_ref() != Some(&self.floor)
    }

    /// The steps above a version, newest first.
    pub fn above<'a>(&'a self, baseline: &'a Number) -> impl Iterator<Item = &'a FloorStep> {
        self.steps.iter().filter(move |step| step.version.number().is_some_and(|number| number > baseline))
    }
}

/// One version required of one file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct FloorStep {
    /// The version.
    pub version: VersionName,
    /// The file that must define it.
    pub file: BString,
    /// Every symbol behind it is weak. GNU ld marks no need weak, so the loader still refuses when it is missing.
    pub weak_only: bool,
    /// The loader itself accepts its absence: VER_FLG_WEAK is set in every object that requires it.
    pub optional: bool,
    /// The objects that require it, and for which symbols.
    pub demands: Vec<Demand>,
}

/// One object's share of a step.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Demand {
    /// The object.
    pub object: BString,
    /// Its symbols bound to that version, by name. Empty for a marker.
    pub symbols: Vec<NeededSymbol>,
}

/// The libraries whose versions people know by another name than the prefix.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Library {
    /// The GNU C library.
    Glibc,
    /// libstdc++ (`GLIBCXX`, `CXXABI`).
    Libstdcxx,
    /// libgcc_s (`GCC`).
    Libgcc,
    /// OpenSSL.
    Openssl,
    /// Any other.
    Other,
}

impl Library {
    fn of_family(family: &str) -> Library {
        match family {
            "GLIBC" => Library::Glibc,
            "GLIBCXX" | "CXXABI" | "CXXABI_TM" => Library::Libstdcxx,
            "GCC" => Library::Libgcc,
            "OPENSSL" => Library::Openssl,
            _ => Library::Other,
        }
    }
}

/// A need that a search for the highest number misses.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct HiddenFloor {
    /// What it is.
    pub kind: HiddenKind,
    /// The objects that have it.
    pub objects: Vec<BString>,
    /// The glibc that first accepts it, if there is one and it is known.
    pub glibc: Option<Number>,
}

/// The kinds of hidden need.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case", tag = "kind")]
pub enum HiddenKind {
    /// A marker that the loader looks for like a version.
    Marker {
        /// The version name.
        version: VersionName,
        /// The file that must define it.
        file: BString,
    },
    /// DT_RELR relocations without `GLIBC_ABI_DT_RELR`: glibc 2.36 and later refuse, older ones do not relocate and
    /// the program crashes (glibc `elf/dl-version.c`).
    RelrWithoutMarker,
    /// DT_RELR relocations in an object for musl, which applies them since 1.2.4.
    RelrOnMusl,
    /// `GLIBC_PRIVATE`: symbols without any promise, tied to the glibc build that the object was linked against.
    Private,
}

impl HiddenKind {
    /// Whether glibc has to meet it.
    #[must_use]
    pub fn is_asked_of_glibc(&self) -> bool {
        match self {
            HiddenKind::Marker { version, .. } => version.family() == "GLIBC",
            HiddenKind::RelrWithoutMarker | HiddenKind::Private => true,
            HiddenKind::RelrOnMusl => false,
        }
    }
}

/// The kernel floor.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct KernelFloor {
    /// The oldest kernel version accepted.
    pub floor: Number,
    /// The objects whose note says so.
    pub objects: Vec<BString>,
}

/// The processor floor.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct CpuFloor {
    /// The highest level needed.
    pub level: underpin_elf::IsaLevel,
    /// The objects whose note says so.
    pub objects: Vec<BString>,
}

/// Collects the floors of all objects of a subject. A need met by an object that is shipped along is not a floor: the
/// target does not have to meet it.
#[must_use]
pub fn floors(subject: &Subject) -> Floors {
    let carried = subject.carried();
    let steps = collect_steps(subject, &carried);
    let (mut numbered, mut markers): (BTreeMap<String, Vec<FloorStep>>, Vec<FloorStep>) = Default::default();
    for step in steps {
        match step.version.number() {
            Some(_) => numbered.entry(step.version.family().to_owned()).or_default().push(step),
            None => markers.push(step),
        }
    }
    let mut versions: Vec<_> =
        numbered.into_iter().filter_map(|(family, steps)| version_floor(family, steps)).collect();
    versions.sort_by_key(|floor| (floor.library != Library::Glibc, floor.family.clone()));
    let mut hidden: Vec<_> = markers.into_iter().map(hidden_from_marker).collect();
    hidden.extend(relr_floors(subject));
    hidden.sort_by(|a, b| a.kind.cmp(&b.kind));
    raise_by_markers(&mut versions, &hidden);
    Floors { versions, hidden, kernel: kernel_floor(subject), cpu: cpu_floor(subject) }
}

/// A marker such as `GLIBC_ABI_DT_RELR` has no number, and yet only a glibc from some release on defines it.
fn raise_by_markers(versions: &mut [VersionFloor], hidden: &[HiddenFloor]) {
    let Some(since) = hidden.iter().filter_map(|hidden| hidden.glibc.as_ref()).max() else { return };
    if let Some(floor) = versions.iter_mut().find(|floor| floor.library == Library::Glibc) {
        floor.floor = floor.floor.clone().max(since.clone());
        floor.strong_floor = floor.strong_floor.clone().max(Some(since.clone()));
    }
}

/// All version needs of all objects, merged by file and version.
fn collect_steps(subject: &Subject, carried: &Carried<'_>) -> Vec<FloorStep> {
    let mut merged: BTreeMap<(VersionName, BString), FloorStep> = BTreeMap::new();
    for object in subject.objects() {
        for need in &object.version_needs {
            if !carried.has(&need.file) {
                add_need(&mut merged, object, need);
            }
        }
    }
    merged.into_values().collect()
}

fn add_need(merged: &mut BTreeMap<(VersionName, BString), FloorStep>, object: &ObjectFacts, need: &NeededVersion) {
    let key = (need.version.clone(), need.file.clone());
    let step = merged.entry(key).or_insert_with(|| FloorStep {
        version: need.version.clone(),
        file: need.file.clone(),
        weak_only: true,
        optional: true,
        demands: Vec::new(),
    });
    step.weak_only &= need.weak_only();
    step.optional &= need.weak;
    let mut symbols = need.symbols.clone();
    symbols.sort();
    symbols.dedup();
    step.demands.push(Demand { object: object.name.clone(), symbols });
}

fn version_floor(family: String, mut steps: Vec<FloorStep>) -> Option<VersionFloor> {
    steps.sort_by(|a, b| b.version.cmp(&a.version).then_with(|| a.file.cmp(&b.file)));
    let number = |step: &FloorStep| step.version.number().cloned();
    let floor = steps.first().and_then(number)?;
    let strong_floor = steps.iter().find(|step| !step.weak_only && !step.optional).and_then(number);
    Some(VersionFloor { library: Library::of_family(&family), family, floor, strong_floor, steps })
}

/// The glibc release that first defined each marker (glibc's `Versions` files; 2.42 as seen in distribution images).
pub(super) fn marker_glibc(version: &str) -> Option<Number> {
    match version {
        "GLIBC_ABI_DT_RELR" => Some(Number::new(&[2, 36])),
        "GLIBC_ABI_GNU2_TLS" | "GLIBC_ABI_GNU_TLS" | "GLIBC_ABI_DT_X86_64_PLT" => Some(Number::new(&[2, 42])),
        _ => None,
    }
}

fn hidden_from_marker(step: FloorStep) -> HiddenFloor {
    let objects = step.demands.into_iter().map(|demand| demand.object).collect();
    if step.version.as_str() == "GLIBC_PRIVATE" {
        return HiddenFloor { kind: HiddenKind::Private, objects, glibc: None };
    }
    let glibc = marker_glibc(step.version.as_str());
    HiddenFloor { kind: HiddenKind::Marker { version: step.version, file: step.file }, objects, glibc }
}

/// glibc asks for the marker only of objects that have version needs and need `libc.so.*` directly.
fn relr_floors(subject: &Subject) -> Vec<HiddenFloor> {
    let relr = || subject.objects().filter(|object| object.relr && !object.needed.is_empty());
    let needs_glibc = |object: &&ObjectFacts| object.needed.iter().any(|name| name.starts_with(b"libc.so."));
    let marked =
        |object: &&ObjectFacts| object.version_needs.iter().any(|need| need.version.as_str() == "GLIBC_ABI_DT_RELR");
    let unmarked: Vec<_> = relr()
        .filter(needs_glibc)
        .filter(|object| !object.version_needs.is_empty() && !marked(object))
        .map(|object| object.name.clone())
        .collect();
    let musl: Vec<_> = relr()
        .filter(|_| subject.libc() == Some(super::platform::LibcFamily::Musl))
        .map(|object| object.name.clone())
        .collect();
    [(HiddenKind::RelrWithoutMarker, unmarked), (HiddenKind::RelrOnMusl, musl)]
        .into_iter()
        .filter(|(_, objects)| !objects.is_empty())
        .map(|(kind, objects)| HiddenFloor { kind, objects, glibc: None })
        .collect()
}

fn kernel_floor(subject: &Subject) -> Option<KernelFloor> {
    let floor = subject.objects().filter_map(|object| object.kernel.clone()).max()?;
    let objects = subject.objects().filter(|object| object.kernel.as_ref() == Some(&floor));
    Some(KernelFloor { objects: objects.map(|object| object.name.clone()).collect(), floor })
}

fn cpu_floor(subject: &Subject) -> Option<CpuFloor> {
    let level = subject.objects().filter_map(|object| object.x86_level).max()?;
    let objects = subject.objects().filter(|object| object.x86_level == Some(level));
    Some(CpuFloor { level, objects: objects.map(|object| object.name.clone()).collect() })
}
