//! One exported symbol of a loader, found through its DT_GNU_HASH in a few small reads: musl's loader has 1,700
//! symbols, and every trace would read them all. Files with only the old hash table are read whole. Native class and
//! byte order only: it is used on the loader of a process that runs here.

use bstr::ByteSlice;
use underpin_elf::{Details, Elf, Source, Vaddr};

const SYMBOL: u64 = 24;
/// Chains are a few entries long; a longer one is a broken file.
const MAX_CHAIN: u32 = 4096;

/// The value of a defined symbol, `None` if the file does not export it.
pub(crate) fn exported<S: Source>(source: &S, elf: &Elf, name: &str) -> Option<Vaddr> {
    if elf.dynamic.as_ref()?.gnu_hash.is_some() {
        return hashed(source, elf, name);
    }
    let details = Details::read(source, elf).ok()?;
    details.export(name.as_bytes().as_bstr()).map(|export| export.value)
}

fn hashed<S: Source>(source: &S, elf: &Elf, name: &str) -> Option<Vaddr> {
    let dynamic = elf.dynamic.as_ref()?;
    let (table, symbols, (strings, _)) = (dynamic.gnu_hash?, dynamic.symbol_table?, dynamic.string_table?);
    let reader = Reader { source, elf };
    let [buckets, first, bloom] = [0, 4, 8].map(|at| reader.word(Vaddr(table.0 + at)));
    let (buckets, first, bloom) = (buckets?, first?, u64::from(bloom?));
    let bucket_table = table.0 + 16 + bloom * 8;
    let chain_table = bucket_table + u64::from(buckets) * 4;
    let hash = gnu_hash(name);
    let start = reader.word(Vaddr(bucket_table + u64::from(hash.checked_rem(buckets)?) * 4))?;
    for index in start..start.saturating_add(MAX_CHAIN) {
        let chained = reader.word(Vaddr(chain_table + u64::from(index.checked_sub(first)?) * 4))?;
        if chained | 1 == hash | 1 {
            let symbol: [u8; SYMBOL as usize] = reader.bytes(Vaddr(symbols.0 + u64::from(index) * SYMBOL))?;
            let name_at = u64::from(u32::from_ne_bytes(symbol[..4].try_into().ok()?));
            if reader.is_text(Vaddr(strings.0 + name_at), name)? {
                return Some(Vaddr(u64::from_ne_bytes(symbol[8..16].try_into().ok()?)));
            }
        }
        if chained & 1 != 0 {
            return None;
        }
    }
    None
}

/// The hash of `dl_new_hash` (glibc `elf/dl-new-hash.h`).
fn gnu_hash(name: &str) -> u32 {
    name.bytes().fold(5381, |hash: u32, byte| hash.wrapping_mul(33).wrapping_add(u32::from(byte)))
}

struct Reader<'a, S> {
    source: &'a S,
    elf: &'a Elf,
}

impl<S: Source> Reader<'_, S> {
    fn bytes<const N: usize>(&self, at: Vaddr) -> Option<[u8; N]> {
        let mut out = [0; N];
        self.source.read_exact_at(self.elf.offset_of(at)?.0, &mut out).ok()?;
        Some(out)
    }

    fn word(&self, at: Vaddr) -> Option<u32> {
        self.bytes(at).map(u32::from_ne_bytes)
    }

    fn is_text(&self, at: Vaddr, name: &str) -> Option<bool> {
        let mut found = vec![0; name.len() + 1];
        self.source.read_exact_at(self.elf.offset_of(at)?.0, &mut found).ok()?;
        Some(found[..name.len()] == *name.as_bytes() && found[name.len()] == 0)
    }
}
