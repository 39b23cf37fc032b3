//! `underpin.image-size/1`: the bytes of an image by package, and how they differ from another image's. The facts are gathered by
//! the caller.

use super::{Document, SchemaTag, Verb};
use crate::bytes::Raw;
use schemars::JsonSchema;
use serde::Serialize;

/// The document of `underpin image size`.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct ImageSizeDocument {
    /// Always `underpin.image-size/1`.
    pub schema: SchemaTag<ImageSizeDocument>,
    /// The image.
    #[serde(flatten)]
    pub image: ImageSizes,
    /// The image that it is compared with.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub against: Option<ImageSizes>,
    /// Every part of either image, the largest difference first; absent without another image.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub differences: Option<Vec<ImagePartDifference>>,
    /// `total_bytes` over that of the other image; absent without one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ratio: Option<f64>,
    /// The same for `system_bytes`; absent if the other has none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub system_ratio: Option<f64>,
    /// The same for `shipped_bytes`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub shipped_ratio: Option<f64>,
}

impl Document for ImageSizeDocument {
    const VERB: Verb = Verb::ImageSize;
}

/// The sizes of one image.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct ImageSizes {
    /// Its folder.
    pub folder: Raw,
    /// The machine.
    pub target: String,
    /// What it consists of, the largest first.
    pub parts: Vec<ImagePart>,
    /// Of the content of all files.
    pub total_bytes: u64,
    /// The same without the kernel, its modules and a board's firmware.
    pub system_bytes: u64,
    /// The files that are handed on, with what archives and file systems add.
    pub shipped: Vec<ImageShipped>,
    /// Of these files, with gzip where that is given.
    pub shipped_bytes: u64,
}

/// What a part of an image is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ImagePartKind {
    /// The kernel, with a device tree of its package.
    Kernel,
    /// The kernel's modules.
    Modules,
    /// A board's firmware.
    Firmware,
    /// The C library: loader and libraries.
    CLibrary,
    /// A package that was built from a recipe.
    Recipe,
    /// A package of the machine that built the image.
    Installed,
    /// Programs given by path, from no package that is known.
    Programs,
    /// What those programs need.
    Needed,
    /// Files that were added by name.
    Added,
    /// underpin's own.
    Underpin,
}

/// A part of an image.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct ImagePart {
    /// What it is.
    pub kind: ImagePartKind,
    /// The package, or what is meant.
    pub name: String,
    /// The package's version, if it is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    /// How many files and links.
    pub files: u64,
    /// Of their content.
    pub bytes: u64,
}

/// A file that is handed on.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct ImageShipped {
    /// Its name in the folder.
    pub file: String,
    /// Its size.
    pub bytes: u64,
    /// With gzip; absent for a kernel that is compressed already, as those for x86-64 are.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gzip_bytes: Option<u64>,
}

/// A part of two images.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct ImagePartDifference {
    /// What it is.
    pub kind: ImagePartKind,
    /// The package, or what is meant.
    pub name: String,
    /// Its bytes; absent if only the other image has it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bytes: Option<u64>,
    /// Its bytes in the other image; absent if that has none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub against_bytes: Option<u64>,
    /// What the image has more than the other; below zero if it has less.
    pub difference_bytes: i64,
    /// Its version, if it has one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    /// Its version in the other image.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub against_version: Option<String>,
}

impl ImageSizes {
    /// Adds up.
    #[must_use]
    pub fn new(folder: Raw, target: String, parts: Vec<ImagePart>, shipped: Vec<ImageShipped>) -> ImageSizes {
        use ImagePartKind::{Firmware, Kernel, Modules};
        let system = parts.iter().filter(|part| !matches!(part.kind, Kernel | Modules | Firmware));
        ImageSizes {
            total_bytes: parts.iter().map(|part| part.bytes).sum(),
            system_bytes: system.map(|part| part.bytes).sum(),
            shipped_bytes: shipped.iter().map(|file| file.gzip_bytes.unwrap_or(file.bytes)).sum(),
            folder,
            target,
            parts,
            shipped,
        }
    }
}

impl ImageSizeDocument {
    /// An image alone, or beside another.
    #[must_use]
    pub fn new(image: ImageSizes, against: Option<ImageSizes>) -> ImageSizeDocument {
        let ratio = |of: fn(&ImageSizes) -> u64| {
            let other = against.as_ref().map(of).filter(|other| *other > 0)?;
            Some(of(&image) as f64 / other as f64)
        };
        ImageSizeDocument {
            schema: SchemaTag::new(),
            differences: against.as_ref().map(|other| differences(&image.parts, &other.parts)),
            ratio: ratio(|sizes| sizes.total_bytes),
            system_ratio: ratio(|sizes| sizes.system_bytes),
            shipped_ratio: ratio(|sizes| sizes.shipped_bytes),
            image,
            against,
        }
    }
}

/// Parts of one kind and name, side by side.
fn differences(here: &[ImagePart], there: &[ImagePart]) -> Vec<ImagePartDifference> {
    let same = |a: &ImagePart, b: &ImagePart| a.kind == b.kind && a.name == b.name;
    let row = |here: Option<&ImagePart>, there: Option<&ImagePart>| {
        let part = here.or(there)?;
        let (bytes, against_bytes) = (here.map(|part| part.bytes), there.map(|part| part.bytes));
        let signed = |bytes: Option<u64>| i64::try_from(bytes.unwrap_or_default()).unwrap_or(i64::MAX);
        Some(ImagePartDifference {
            kind: part.kind,
            name: part.name.clone(),
            bytes,
            against_bytes,
            difference_bytes: signed(bytes).saturating_sub(signed(against_bytes)),
            version: here.and_then(|part| part.version.clone()),
            against_version: there.and_then(|part| part.version.clone()),
        })
    };
    let both = here.iter().map(|part| row(Some(part), there.iter().find(|other| same(part, other))));
    let other =
        there.iter().filter(|part| !here.iter().any(|other| same(part, other))).map(|part| row(None, Some(part)));
    let mut rows: Vec<ImagePartDifference> = both.chain(other).flatten().collect();
    rows.sort_by_key(|row| std::cmp::Reverse((row.difference_bytes.unsigned_abs(), row.bytes.max(row.against_bytes))));
    rows
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test may panic")]

    use super::*;

    fn part(kind: ImagePartKind, name: &str, bytes: u64) -> ImagePart {
        ImagePart { kind, name: name.to_owned(), version: None, files: 1, bytes }
    }

    fn sizes(parts: Vec<ImagePart>) -> ImageSizes {
        ImageSizes::new("image".into(), "qemu-x86_64".to_owned(), parts, Vec::new())
    }

    #[test]
    fn what_only_one_image_has_differs_by_all_of_it_and_the_kernel_is_no_part_of_the_system() {
        use ImagePartKind::{CLibrary, Kernel, Recipe};
        let musl = sizes(vec![part(Kernel, "linux", 500), part(Recipe, "busybox", 110)]);
        let glibc = sizes(vec![part(Kernel, "linux", 500), part(CLibrary, "glibc", 200), part(Recipe, "busybox", 100)]);
        let document = ImageSizeDocument::new(musl, Some(glibc));
        assert_eq!((document.image.total_bytes, document.image.system_bytes), (610, 110));
        let rows = document.differences.unwrap();
        let rows: Vec<_> =
            rows.iter().map(|row| (row.name.as_str(), row.bytes, row.against_bytes, row.difference_bytes)).collect();
        assert_eq!(
            rows,
            [
                ("glibc", None, Some(200), -200),
                ("busybox", Some(110), Some(100), 10),
                ("linux", Some(500), Some(500), 0)
            ]
        );
        assert_eq!(document.ratio, Some(610.0 / 800.0));
        assert_eq!(document.system_ratio, Some(110.0 / 300.0));
        assert_eq!(document.shipped_ratio, None);
    }
}
