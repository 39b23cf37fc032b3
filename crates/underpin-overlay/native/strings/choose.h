/* Which level this processor and its kernel permit, asked at the first call that wants one: no constructor, no IFUNC, no TLS, no
 * relocation. The answer is one byte, so it does not matter if two threads ask at once. */
#include <cpuid.h>

enum { UNKNOWN, SSE2, AVX2, AVX512 };

static unsigned char overlay_level __attribute__((used));

/* From here on, copying is the processor's own string machine; from there on, past the caches; the same for filling. */
static size_t machine_from = MACHINE_FROM, past_from = PAST_FROM, fill_from = FILL_FROM;

/* What the kernel saves of the registers when it changes threads. */
static uint32_t
saved_registers(void)
{
  uint32_t low, high;
  __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  return low;
}

static unsigned char
best_level(void)
{
  uint32_t top, a, b, c, d, vendor;
  __cpuid_count(0, 0, top, vendor, c, d);
  if (top < 7) return SSE2;
  uint32_t signature, features;
  __cpuid_count(1, 0, signature, b, features, d);
  if (!(features & bit_OSXSAVE) || !(features & bit_AVX)) return SSE2;
  uint32_t registers = saved_registers();
  __cpuid_count(7, 0, a, b, c, d);
  uint32_t bits = bit_AVX2 | bit_BMI | bit_BMI2;
  if ((b & bits) != bits || (registers & 0x6) != 0x6) return SSE2;
  bits = bit_AVX512F | bit_AVX512BW | bit_AVX512VL;
  if ((b & bits) != bits || (registers & 0xE6) != 0xE6) return AVX2;
  /* Skylake and Cascade Lake servers lower their clock for registers of 64 bytes. */
  if (vendor == signature_INTEL_ebx && (signature & 0xF0FF0) == 0x50650) return AVX2;
  return AVX512;
}

static __attribute__((used)) void
overlay_choose(void)
{
  __atomic_store_n(&overlay_level, best_level(), __ATOMIC_RELEASE);
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

/* A function `name` that goes on at the level's own, with all registers as they were: on the newest level, one jump more than
 * without a choice. */
#define ENTRY(symbol, scope, name) __asm__( \
  ".pushsection .text." symbol ",\"ax\",@progbits\n" \
  ".p2align 5\n" \
  scope \
  ".type " symbol ", @function\n" \
  symbol ":\n" \
  ".cfi_startproc\n" \
  "cmpb $2, overlay_level(%rip)\n" \
  "ja " #name "_avx512\n" \
  "je " #name "_avx2\n" \
  "cmpb $1, overlay_level(%rip)\n" \
  "je " #name "_sse2\n" \
  "sub $8, %rsp\n.cfi_adjust_cfa_offset 8\n" \
  "call overlay_first\n" \
  "add $8, %rsp\n.cfi_adjust_cfa_offset -8\n" \
  "jmp " symbol "\n" \
  ".cfi_endproc\n" \
  ".size " symbol ", . - " symbol "\n" \
  ".popsection\n")
