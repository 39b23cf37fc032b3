//! A comparison of twins, put together by hand.

use super::sample_suite;
use crate::document::SchemaTag;
use crate::document::image_compare::{ComparedImage, ImageCompareDocument, PackageDifference, PackageOf};
use crate::document::image_size::{ImagePart, ImagePartKind, ImageShipped, ImageSizeDocument, ImageSizes};
use crate::document::suite::SuiteDocument;
use underpin_bench::{Change, Interval};
use underpin_suite::{Guest, GuestCell, GuestFigure, GuestFigureName, Repeats, Unsteady};

fn sizes(folder: &str, libc: u64, busybox: u64) -> ImageSizes {
    let part = |kind, name: &str, version: &str, bytes| ImagePart {
        kind,
        name: name.to_owned(),
        version: Some(version.to_owned()),
        files: 1,
        bytes,
    };
    let mut parts = vec![
        part(ImagePartKind::Kernel, "linux-image-6.12.57-cloud-arm64", "6.12.57-1", 30_000_000),
        part(ImagePartKind::Recipe, "busybox", "1:1.37.0-6", busybox),
    ];
    if libc > 0 {
        parts.push(part(ImagePartKind::CLibrary, "glibc", "2.41-12", libc));
    }
    let shipped =
        vec![ImageShipped { file: "vmlinuz".to_owned(), bytes: 30_000_000, gzip_bytes: Some(10_000_000 + libc / 2) }];
    ImageSizes::new(folder.into(), "qemu-aarch64".to_owned(), parts, shipped)
}

/// musl beside glibc, as the rows of the sample suite have them.
pub(crate) fn sample_image_compare() -> ImageCompareDocument {
    let exact = |estimate: f64| Interval { estimate, low: estimate, high: estimate, confidence: 0.95 };
    let figure = |name: GuestFigureName, glibc: f64, musl: f64, half: f64| {
        let ratio = musl / glibc;
        let ratio = Interval { low: ratio - half, high: ratio + half, ..exact(ratio) };
        let verdict = if ratio.high < 1.0 { Change::Less } else { Change::Undecided };
        let reference = GuestCell { median: exact(glibc), boots: 9, ratio: None, verdict: None };
        let other = GuestCell { median: exact(musl), boots: 9, ratio: Some(ratio), verdict: Some(verdict) };
        GuestFigure { name, unit: name.unit(), cells: vec![Some(reference), Some(other)] }
    };
    let guest =
        Guest { machine: "qemu-aarch64".to_owned(), emulator: "QEMU 7.2 (tcg)".to_owned(), counts_instructions: true };
    let mut summary = sample_suite().summary;
    summary.guest = Some(guest.clone());
    let image = |build: &str, packages| ComparedImage {
        build: build.to_owned(),
        libc: build.to_owned(),
        folder: build.into(),
        kernel: "linux-image-6.12.57-cloud-arm64 6.12.57-1".to_owned(),
        packages,
    };
    let of = |version: &str, changes: &[&str]| {
        let changed_by = changes.iter().map(|change| (*change).to_owned()).collect();
        Some(PackageOf { version: version.to_owned(), changed_by })
    };
    let patched = of("6.15.0-1", &["layers/musl/iproute2/append.toml", "layers/musl/iproute2/musl.patch"]);
    ImageCompareDocument {
        schema: SchemaTag::new(),
        target: "qemu-aarch64".to_owned(),
        guest,
        memory_mib: 512,
        boots: 9,
        images: vec![image("glibc", 3), image("musl", 2)],
        differences: vec![
            PackageDifference { name: "glibc".to_owned(), images: vec![of("2.41-12", &[]), None] },
            PackageDifference { name: "iproute2".to_owned(), images: vec![of("6.15.0-1", &[]), patched] },
        ],
        sizes: vec![ImageSizeDocument::new(sizes("musl", 0, 1_100_000), Some(sizes("glibc", 2_100_000, 1_000_000)))],
        figures: vec![
            figure(GuestFigureName::FirstResult, 3.412, 3.391, 0.04),
            figure(GuestFigureName::Boot, 0.912, 0.894, 0.001),
            figure(GuestFigureName::EmptyProcess, 412e-6, 201e-6, 0.001),
            figure(GuestFigureName::UsedMemory, 31e6, 28e6, 0.0),
        ],
        repeats: vec![Repeats {
            build: 0,
            boots: 9,
            rows: 31,
            steady: 30,
            typical: 0.0013,
            most: 0.061,
            most_row: "malloc-thread-stress".to_owned(),
            unsteady: vec![Unsteady { row: "malloc-thread-stress".to_owned(), share: 0.061 }],
        }],
        suite: SuiteDocument::new(summary),
    }
}
