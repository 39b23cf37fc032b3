/* Which level this processor and its kernel permit, asked at the first call that wants one: no constructor, no IFUNC, no TLS, no
 * relocation. The answer is one byte, so it does not matter if two threads ask at once. */
#include <cpuid.h>

enum { UNKNOWN, SSE2, AVX2, AVX512 };

/* Leaf 7, EBX: rep movsb and rep stosb are fast. The compilers' header does not name it. */
#define BIT_ERMS (1u << 9)

/* One line of the cache holds all that is looked at. Below AVX2, or not known yet, all is zero but the level and the last. */
static struct {
  unsigned char level;
  /* The first offset in a page from which on one vector of AVX2, or four, are no longer within it. The functions that begin as
   * AVX2 does compare with it anyway: that is the look at the level, too. */
  uint32_t within, within_four;
  /* Not zero if there is a level above AVX2. */
  uint32_t above;
  /* The greatest size that is AVX2's own if it is longer than a vector: any or none. */
  size_t own;
  /* From one byte more on, memcpy and memmove go on as AVX2's. No size at other levels. */
  size_t copied;
  /* One byte less is the most that memset fills as AVX2 fills few. Zero at other levels. */
  size_t filled;
} overlay_level __attribute__((used, aligned(64))) = {.copied = SIZE_MAX};
#define LIMIT_WITHIN "overlay_level+4(%%rip)"
#define LIMIT_WITHIN_FOUR "overlay_level+8(%%rip)"
#define LIMIT_ABOVE "overlay_level+12(%%rip)"
#define LIMIT_OWN "overlay_level+16(%%rip)"
#define LIMIT_FILLED "overlay_level+32(%%rip)"
#define LIMIT_COPIED "overlay_level+24(%rip)"

/* From these sizes on, copying and filling are left to the string instructions (rep movsb, rep stosb). */
static size_t machine_from = SIZE_MAX, fill_from = SIZE_MAX;

/* What the kernel saves of the registers when it changes threads. */
static uint32_t
saved_registers(void)
{
  uint32_t low, high;
  __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  return low;
}

/* Where the string instructions become faster. On AMD they copy faster than loops as soon as source and target
 * together exceed the L1 cache, and fill faster from the L2 cache on (Zen 5: 1.7 times and 1.2 times; measured by
 * `cargo xtask bench overlay`), except on Zen 4, whose loops are as fast at any size, and up to a fifth faster where source and
 * target lie differently; before Zen 3 they are slow at unaligned addresses. On Intel they are on a par from a
 * few kilobytes on if the processor reports that they are fast (ERMS). */
static void
tune(uint32_t vendor, uint32_t signature, uint32_t fast)
{
  uint32_t family = (signature >> 8 & 0xF) + (signature >> 20 & 0xFF);
  if (!(fast & BIT_ERMS)) return;
  if (vendor == signature_INTEL_ebx) machine_from = 8192, fill_from = 2048;
  else if (vendor == signature_AMD_ebx && family >= 0x19) {
    fill_from = 1 << 20;
    if (family >= 0x1A) machine_from = 28672;
    else if (!(fast & bit_AVX512F)) machine_from = 20480;
  }
}

static unsigned char
best_level(void)
{
  uint32_t top, a, b, c, d, vendor, signature, features, fast;
  __cpuid_count(0, 0, top, vendor, c, d);
  if (top < 7) return SSE2;
  __cpuid_count(1, 0, signature, b, features, d);
  __cpuid_count(7, 0, a, fast, c, d);
  tune(vendor, signature, fast);
  /* LZCNT: all that have AVX2 have it. */
  __cpuid(0x80000001, a, b, c, d);
  if (!(c & bit_LZCNT)) return SSE2;
  if (!(features & bit_OSXSAVE) || !(features & bit_AVX)) return SSE2;
  uint32_t registers = saved_registers(), bits = bit_AVX2 | bit_BMI | bit_BMI2;
  if ((fast & bits) != bits || (registers & 0x6) != 0x6) return SSE2;
  bits = bit_AVX512F | bit_AVX512BW | bit_AVX512VL;
  if ((fast & bits) != bits || (registers & 0xE6) != 0xE6) return AVX2;
  /* Skylake and Cascade Lake servers lower their clock for registers of 64 bytes. */
  if (vendor == signature_INTEL_ebx && (signature & 0xF0FF0) == 0x50650) return AVX2;
  return AVX512;
}

/* The level comes last: who sees it sees the others. Who sees a limit sees what is above, too. */
static void
put_level(unsigned char level)
{
  __atomic_store_n(&overlay_level.above, level > AVX2, __ATOMIC_RELEASE);
  __atomic_store_n(&overlay_level.own, level == AVX2 ? SIZE_MAX : 0, __ATOMIC_RELEASE);
  __atomic_store_n(&overlay_level.copied, level == AVX2 ? 128 : SIZE_MAX, __ATOMIC_RELEASE);
  __atomic_store_n(&overlay_level.filled, level == AVX2 ? 32 : 0, __ATOMIC_RELEASE);
  __atomic_store_n(&overlay_level.within, level < AVX2 ? 0 : PAGE - 32 + 1, __ATOMIC_RELEASE);
  __atomic_store_n(&overlay_level.within_four, level < AVX2 ? 0 : PAGE - 4 * 32 + 1, __ATOMIC_RELEASE);
  __atomic_store_n(&overlay_level.level, level, __ATOMIC_RELEASE);
}

static __attribute__((used)) void
overlay_choose(void)
{
  put_level(best_level());
}

/* Called by a function that found no level yet, with its arguments in their registers. */
__asm__(
  ".pushsection .text.overlay_first,\"ax\",@progbits\n"
  ".type overlay_first, @function\n"
  "overlay_first:\n"
  ".cfi_startproc\n"
  "push %rdi\n.cfi_adjust_cfa_offset 8\n"
  "push %rsi\n.cfi_adjust_cfa_offset 8\n"
  "push %rdx\n.cfi_adjust_cfa_offset 8\n"
  "push %rcx\n.cfi_adjust_cfa_offset 8\n"
  "call overlay_choose\n"
  "pop %rcx\n.cfi_adjust_cfa_offset -8\n"
  "pop %rdx\n.cfi_adjust_cfa_offset -8\n"
  "pop %rsi\n.cfi_adjust_cfa_offset -8\n"
  "pop %rdi\n.cfi_adjust_cfa_offset -8\n"
  "ret\n"
  ".cfi_endproc\n"
  ".size overlay_first, . - overlay_first\n"
  ".popsection\n");

/* Where a function goes on that has found the level to be lower than its own. `higher` is for the levels above SSE2: another
 * thread may have found them in between. */
#define BELOW(symbol, name, higher) __asm__( \
  ".pushsection .text.overlay_below_" #name ",\"ax\",@progbits\n" \
  ".type overlay_below_" #name ", @function\n" \
  "overlay_below_" #name ":\n" \
  ".cfi_startproc\n" \
  "cmpb $1, overlay_level(%rip)\n" \
  "ja " higher "\n" \
  "je " #name "_sse2\n" \
  "sub $8, %rsp\n.cfi_adjust_cfa_offset 8\n" \
  "call overlay_first\n" \
  "add $8, %rsp\n.cfi_adjust_cfa_offset -8\n" \
  "jmp " symbol "\n" \
  ".cfi_endproc\n" \
  ".size overlay_below_" #name ", . - overlay_below_" #name "\n" \
  ".popsection\n")
