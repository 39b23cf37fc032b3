//! A layer with one program for each library that programs link in, or that they open: such a recipe shows nothing by itself.

use anyhow::Context;
use std::fs;
use std::path::{Path, PathBuf};

/// A program that asks a library.
struct Asking {
    library: &'static str,
    /// What it needs to be built, as a recipe says it.
    needs: &'static str,
    flags: &'static str,
    source: &'static str,
    /// A recipe that needs one of another layer is an error where that layer is not selected.
    only_with_glibc: bool,
}

const fn asking(library: &'static str, needs: &'static str, flags: &'static str, source: &'static str) -> Asking {
    Asking { library, needs, flags, source, only_with_glibc: false }
}

const ASKING: [Asking; 5] = [
    asking(
        "zlib",
        "\"zlib\"",
        "-lz",
        r#"#include <stdio.h>
#include <string.h>
#include <zlib.h>
int main(void) {
    static unsigned char text[4096], packed[8192], again[4096];
    uLongf size = sizeof packed, back = sizeof again;
    for (int at = 0; at < 4096; at++) text[at] = at * at >> 4;
    if (compress(packed, &size, text, 4096) || uncompress(again, &back, packed, size)) return 1;
    if (back != 4096 || memcmp(text, again, 4096)) return 2;
    return printf("zlib %s, the same %lu bytes\n", zlibVersion(), (unsigned long)back) < 0;
}
"#,
    ),
    asking(
        "jemalloc",
        "\"jemalloc\"",
        "-ljemalloc -lm -pthread",
        r#"#include <stdio.h>
#include <stdint.h>
#include <stdlib.h>
#include <jemalloc/jemalloc.h>
int main(void) {
    const char *version;
    uint64_t before, after;
    size_t size = sizeof version;
    if (mallctl("version", &version, &size, NULL, 0)) return 1;
    size = sizeof before;
    if (mallctl("thread.allocated", &before, &size, NULL, 0)) return 2;
    char *volatile block = malloc(1 << 20);
    if (!block || mallctl("thread.allocated", &after, &size, NULL, 0)) return 3;
    if (after - before < 1 << 20) return 4;
    return printf("jemalloc %s, malloc is its own\n", version) < 0;
}
"#,
    ),
    asking(
        "mimalloc",
        "\"mimalloc\"",
        "-lmimalloc -pthread",
        r#"#include <stdio.h>
#include <stdlib.h>
#include <mimalloc.h>
int main(void) {
    char *volatile block = malloc(1000);
    if (!block || !mi_is_in_heap_region(block)) return 1;
    return printf("mimalloc %d, malloc is its own\n", mi_version()) < 0;
}
"#,
    ),
    // The answer is of the specification of SHA-crypt.
    Asking {
        only_with_glibc: true,
        ..asking(
            "libxcrypt",
            "\"libxcrypt\"",
            "-lcrypt",
            r#"#include <crypt.h>
#include <stdio.h>
int main(void) {
    const char *hash = crypt("Hello world!", "$5$saltstring");
    return !hash || puts(hash) < 0;
}
"#,
        )
    },
    // The answers are of ISO 8859-1 and of UTF-8.
    Asking {
        only_with_glibc: true,
        ..asking(
            "charsets",
            "",
            "",
            r#"#include <iconv.h>
#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
int main(void) {
    char word[] = "gr\xc3\xbcn", out[16], *from = word, *to = out;
    size_t left = 5, room = sizeof out;
    iconv_t how = iconv_open("ISO-8859-1", "UTF-8");
    if (how == (iconv_t)-1 || iconv(how, &from, &left, &to, &room)) return 1;
    for (char *at = out; at < to; at++) printf("%02x ", (unsigned char)*at);
    const char *locale = setlocale(LC_ALL, "C.UTF-8");
    return !locale || printf("%s %zu\n", locale, mbstowcs(NULL, word, 0)) < 0;
}
"#,
        )
    },
];

/// Writes the layer.
///
/// # Errors
/// If a file cannot be written.
pub fn write(folder: &Path, libc: &str) -> anyhow::Result<PathBuf> {
    let layer = folder.join(format!("asking-{libc}"));
    let put = |name: &str, text: &str| {
        let path = layer.join(name);
        fs::create_dir_all(path.parent().unwrap_or(&layer))?;
        fs::write(&path, text).with_context(|| path.display().to_string())
    };
    put("layer.toml", "order = 90\n")?;
    for asking in ASKING.iter().filter(|asking| libc == "glibc" || !asking.only_with_glibc) {
        put(&format!("asks-{}.toml", asking.library), &recipe(asking))?;
        put(&format!("sources/{}/asks.c", asking.library), asking.source)?;
    }
    Ok(layer)
}

fn recipe(asking: &Asking) -> String {
    let Asking { library, needs, flags, .. } = asking;
    format!(
        "version = \"1\"\nlicence = \"MIT OR Apache-2.0\"\nbuild = \"make\"\nneeds = [{needs}]\n\
         make = [\"-f\", \"/dev/null\", \"LDLIBS={flags}\", \"asks\"]\n\n\
         [source]\nfolder = \"sources/{library}\"\n\n[take]\n\"usr/bin/asks-{library}\" = \"asks\"\n"
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use underpin_image::layer::{Files, Layers};

    #[test]
    fn the_layer_is_one_that_underpin_reads_and_every_recipe_has_a_proof() {
        let folder = std::env::temp_dir().join(format!("underpin-recipes-layer-{}", std::process::id()));
        let layer = write(&folder, "glibc").expect("written");
        let own = crate::run::workspace().join("layers/own");
        let layers = Layers::read(&[layer, own]);
        fs::remove_dir_all(&folder).expect("removed");
        let layers = layers.expect("a layer without a mistake");
        let named =
            |name: &str| super::super::PROOFS.iter().any(|proof| proof.name == name || proof.packages.contains(&name));
        // The C library comes with every dynamic program, GCC's with every one of Rust on glibc: foolsgold. A test of the command has
        // the one of C++ in a guest.
        let missing: Vec<_> = layers
            .recipes()
            .map(|recipe| recipe.name.as_str())
            .filter(|name| !["glibc", "libgcc", "libstdc++"].contains(name) && !named(name))
            .collect();
        assert!(missing.is_empty(), "no proof of {missing:?} in proofs.rs");
        let unknown = |name: &&&str| layers.recipe(name).is_none();
        let unknown: Vec<_> = super::super::PROOFS.iter().flat_map(|proof| proof.packages).filter(unknown).collect();
        assert!(unknown.is_empty(), "{unknown:?} is no recipe");
        assert!(Files::carried().len() > 2);
    }
}
