/* Which level this processor and its kernel permit: no constructor, no IFUNC, no TLS, no relocation. The answer is one byte, so
 * it does not matter if two threads ask at once.
 *
 * It is asked at the 64th call that wants one, and until then calls are served by SSE2: in a virtual machine each CPUID is a way
 * to the hypervisor and back (7 us on Intel, where an empty program takes 90), and a short program makes few calls. */
#include "../processor.h"

enum { UNKNOWN, SSE2, AVX2, AVX512 };

/* Leaf 7, EBX: rep movsb and rep stosb are fast. The compilers' header does not name it. */
#define BIT_ERMS (1u << 9)

/* Of the families with AVX2: Intel's are 6, 18 and 19, AMD's 21 and above. The name of the vendor would be one more CPUID. */
#define IS_INTEL(family) ((family) < 21)

/* At AVX2 32: smaller sizes are less, the others are not below. At AVX-512 -1: all sizes are below, none is less as signed numbers
 * are. At other levels the comparison overflows. */
#define FILLED_AVX2 32
#define FILLED_AVX512 UINT64_MAX
#define FILLED_BELOW ((uint64_t)1 << 63)

/* One line of the cache holds all that is looked at. Below AVX2, or not known yet, all is zero but the levels, the count and what
 * copying and filling compare with. */
static struct {
  unsigned char level;
  /* The level of the functions that copy strings: Intel's processors do that faster by AVX2. */
  unsigned char copied_strings;
  /* Counts up to zero, where the processor is asked. Two threads at once may count one call, but none can count past zero. */
  signed char until_asked;
  /* The first offset in a page from which on one vector of AVX2, or four, are no longer within it. The functions that begin as
   * AVX2 does compare with it anyway: that is the look at the level, too. In the upper 12 bits: a multiplication puts an
   * address's there, in one instruction less than a copy and a mask. */
  uint32_t within, within_four;
  /* Not zero if there is a level above AVX2, and it takes over before its late place. */
  uint32_t above;
  /* The greatest size that is AVX2's own if it is longer than a vector: any, none, or 256. */
  size_t own;
  /* From one byte more on, memcpy and memmove go on as AVX2's. No size at other levels. */
  size_t copied;
  /* One comparison of a size with it tells memset which of four functions it is to be (filling.h). */
  uint64_t filled;
  /* Not zero if there is a level above AVX2 that some functions leave to its late place: more if they go on with vectors of 32 bytes
   * there, less if with those of 64. One comparison tells all three. */
  int32_t above_late;
  /* Up to so many bytes are compared by one masked vector: 32, or none. */
  uint32_t masked;
  /* `own` for strnlen, whose bound says little of how far it reads. */
  size_t own_bound;
  /* Not zero if there is a level above AVX2, and all functions leave to it what is longer than a vector. */
  uint32_t above_first;
} overlay_level __attribute__((used, aligned(64))) = {.until_asked = -64, .copied = SIZE_MAX, .filled = FILLED_BELOW};
#define WITHIN_AT "overlay_level+4"
#define ABOVE_AT "overlay_level+12"
#define ABOVE_LATE_AT "overlay_level+40"
#define LIMIT_WITHIN WITHIN_AT "(%%rip)"
#define LIMIT_WITHIN_FOUR "overlay_level+8(%%rip)"
#define LIMIT_ABOVE ABOVE_AT "(%%rip)"
#define LIMIT_OWN "overlay_level+16(%%rip)"
#define LIMIT_MASKED "overlay_level+44(%%rip)"
#define LIMIT_OWN_BOUND "overlay_level+48(%%rip)"
#define ABOVE_FIRST_AT "overlay_level+56"
#define LIMIT_ABOVE_FIRST ABOVE_FIRST_AT "(%%rip)"
#define LIMIT_ABOVE_LATE ABOVE_LATE_AT "(%%rip)"
#define LEVEL_OF_COPIED_STRINGS "overlay_level+1(%%rip)"
/* In what is assembled without operands. */
#define LIMIT_COPIED "overlay_level+24(%rip)"
#define LIMIT_FILLED "overlay_level+32(%rip)"
#define UNTIL_ASKED "overlay_level+2(%rip)"

/* From these sizes on, copying and filling are left to the string instructions (rep movsb, rep stosb). */
static size_t machine_from = SIZE_MAX, fill_from = SIZE_MAX;
/* From this size on, a byte is looked for by vectors of 32 bytes: no cache holds so much, and Intel's processors fetch ahead of
 * those in time (Granite Rapids, 16 MiB: 26 GB/s instead of 21). */
static size_t narrow_from = SIZE_MAX;

/* The most bytes that are AVX2's own where AVX-512 does not take over at once. */
#define OWN 256

/* When AVX-512 takes over from AVX2, with which most functions begin. EARLY: as soon as a call turns out longer than a vector.
 * LATE: about the sixth vector, for strings by vectors of 32 bytes, and never for copies of strings. Intel's processors take
 * four or five cycles more where 64 bytes come behind several vectors of 32: one of their three ports stops for as long
 * (Granite Rapids: strlen of 100 bytes 2.1 ns instead of 3.0, strcpy of 3 bytes 2.0 instead of 3.0). SIZED: as EARLY, but
 * calls that know a size begin as LATE's: on Zen 5 a vector of 64 bytes takes no less than two of 32 and the jump to the function
 * that has it (memcmp of 48 bytes 1.9 ns instead of 2.4, memrchr of 256 2.5 instead of 2.9); and strlen, strnlen and
 * strchrnul go over at LATE's place, but to vectors of 64 bytes (strnlen of lengths that cannot be predicted 2.1 ns instead of
 * 2.5). With EARLY few bytes are compared by a whole vector of which the rest is cut off, elsewhere by a masked one (Zen 4 1.6 ns
 * instead of 2.2, Zen 5 2.2 instead of 1.7). */
enum Takeover { EARLY, LATE, SIZED };
static enum Takeover takeover = EARLY;

/* Where the string instructions become faster. On AMD they copy faster than loops as soon as source and target
 * together exceed the L1 cache, and fill faster from the L2 cache on (Zen 5: 1.7 times and 1.2 times; measured by
 * `cargo xtask bench overlay`), except on Zen 4, whose loops are as fast at any size, and up to a fifth faster where source and
 * target lie differently; before Zen 3 they are slow at unaligned addresses. On Intel they are on a par from a
 * few kilobytes on if the processor reports that they are fast (ERMS). */
static void
tune(uint32_t family, uint32_t fast)
{
  takeover = IS_INTEL(family) ? LATE : family >= 0x1A ? SIZED : EARLY;
  if (IS_INTEL(family)) narrow_from = 2 << 20;
  if (!(fast & BIT_ERMS)) return;
  if (IS_INTEL(family)) machine_from = 8192, fill_from = 4096;
  else if (family >= 0x19) {
    fill_from = 1 << 20;
    if (family >= 0x1A) machine_from = 28672;
    else if (!(fast & bit_AVX512F)) machine_from = 20480;
  }
}

/* All that have both of these have leaf 7; of the others it is asked. */
static int
has_leaf_7(uint32_t features)
{
  uint32_t top, b, c, d, both = bit_FMA | bit_MOVBE;
  if ((features & both) == both) return 1;
  __cpuid_count(0, 0, top, b, c, d);
  return top >= 7;
}

/* Where there is no LZCNT, its code is that of BSR, which is zero of one. */
static int
has_lzcnt(void)
{
  uint32_t zeros;
  __asm__("lzcnt %1, %0" : "=r"(zeros) : "r"(1) : "cc");
  return zeros == 31;
}

static unsigned char
best_level(void)
{
  uint32_t a, b, c, d, signature, features, fast;
  __cpuid_count(1, 0, signature, b, features, d);
  if (!has_leaf_7(features)) return SSE2;
  __cpuid_count(7, 0, a, fast, c, d);
  uint32_t family = (signature >> 8 & 0xF) + (signature >> 20 & 0xFF);
  tune(family, fast);
  if (!(features & bit_OSXSAVE) || !(features & bit_AVX) || !has_lzcnt()) return SSE2;
  uint32_t registers = saved_registers(), bits = bit_AVX2 | bit_BMI | bit_BMI2;
  if ((fast & bits) != bits || (registers & SAVES_AVX) != SAVES_AVX) return SSE2;
  bits = bit_AVX512F | bit_AVX512BW | bit_AVX512VL;
  if ((fast & bits) != bits || (registers & 0xE6) != 0xE6) return AVX2;
  /* Skylake and Cascade Lake servers lower their clock for registers of 64 bytes. */
  if (IS_INTEL(family) && (signature & 0xF0FF0) == 0x50650) return AVX2;
  return AVX512;
}

/* The level comes last: who sees it sees the others. Who sees a limit sees what is above, too. */
static void
put_level(unsigned char level)
{
  int late = level > AVX2 && takeover == LATE, sized = level > AVX2 && takeover != EARLY;
  size_t own = level == AVX2 ? SIZE_MAX : sized ? OWN : 0;
  __atomic_store_n(&overlay_level.copied_strings, late ? AVX2 : level, __ATOMIC_RELEASE);
  __atomic_store_n(&overlay_level.above, level > AVX2 && !late, __ATOMIC_RELEASE);
  __atomic_store_n(&overlay_level.above_first, level > AVX2 && takeover == EARLY, __ATOMIC_RELEASE);
  __atomic_store_n(&overlay_level.above_late, late - (sized && !late), __ATOMIC_RELEASE);
  __atomic_store_n(&overlay_level.masked, sized ? 32 : 0, __ATOMIC_RELEASE);
  __atomic_store_n(&overlay_level.own, own, __ATOMIC_RELEASE);
  __atomic_store_n(&overlay_level.own_bound, sized && !late ? SIZE_MAX : own, __ATOMIC_RELEASE);
  __atomic_store_n(&overlay_level.copied, level == AVX2 ? 128 : SIZE_MAX, __ATOMIC_RELEASE);
  __atomic_store_n(&overlay_level.filled, level == AVX2 ? FILLED_AVX2 : level > AVX2 ? FILLED_AVX512 : FILLED_BELOW, __ATOMIC_RELEASE);
  __atomic_store_n(&overlay_level.within, level < AVX2 ? 0 : (uint32_t)(PAGE - 32 + 1) << 20, __ATOMIC_RELEASE);
  __atomic_store_n(&overlay_level.within_four, level < AVX2 ? 0 : (uint32_t)(PAGE - 4 * 32 + 1) << 20, __ATOMIC_RELEASE);
  __atomic_store_n(&overlay_level.level, level, __ATOMIC_RELEASE);
}

static __attribute__((used)) void
overlay_choose(void)
{
  put_level(best_level());
}

/* Called by a function that is to ask for the level, with its arguments in their registers. */
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

/* What stands before and behind a function that is written out: it begins at a multiple of 2 to the power of `align`. */
#define FUNCTION_BEGINS(symbol, align) \
  ".pushsection .text." symbol ",\"ax\",@progbits\n" \
  ".p2align " #align "\n" \
  ".globl " symbol "\n" \
  ".type " symbol ", @function\n" \
  symbol ":\n" \
  ".cfi_startproc\n"
#define FUNCTION_ENDS(symbol) \
  ".cfi_endproc\n" \
  ".size " symbol ", . - " symbol "\n" \
  ".popsection\n"

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
  "incb " UNTIL_ASKED "\n" \
  "jne " #name "_sse2\n" \
  "sub $8, %rsp\n.cfi_adjust_cfa_offset 8\n" \
  "call overlay_first\n" \
  "add $8, %rsp\n.cfi_adjust_cfa_offset -8\n" \
  "jmp " symbol "\n" \
  ".cfi_endproc\n" \
  ".size overlay_below_" #name ", . - overlay_below_" #name "\n" \
  ".popsection\n")
