/* How memset begins, and all of it up to 256 bytes where there is AVX-512: with its registers from 16 on, which need no clearing.
 * Longer ones are left to the functions of copy.h. AVX2's are jumped to right at the entry, where the arguments and the stack are
 * still the caller's, and few bytes with AVX2 go to a function of their own, which takes two jumps less. */
#define FILLING(symbol) __asm__( \
  FUNCTION_BEGINS(symbol, 6) \
  "cmp " LIMIT_FILLED ", %rdx\n" \
  "jl memset_few_avx2\n" \
  "jae memset_avx2\n" \
  "jo overlay_below_memset\n" \
  "vpbroadcastb %esi, %zmm16\n" \
  "mov %rdi, %rax\n" \
  "cmp $64, %rdx\n" \
  "ja 64f\n" \
  "mov %edi, %ecx\n" \
  "and $4095, %ecx\n" \
  "cmp $4096-64, %ecx\n" \
  "ja memset_few_wide\n" \
  "mov $-1, %rcx\n" \
  "bzhi %rdx, %rcx, %rcx\n" \
  "kmovq %rcx, %k1\n" \
  "vmovdqu8 %zmm16, (%rdi){%k1}\n" \
  "ret\n" \
  ".p2align 5\n" \
  "64: cmp $128, %rdx\n" \
  "ja 128f\n" \
  "vmovdqu64 %zmm16, (%rdi)\n" \
  "vmovdqu64 %zmm16, -64(%rdi, %rdx)\n" \
  "ret\n" \
  ".p2align 5\n" \
  /* From the lowest on: where they lie across lines, those that follow each other end up in the same ones. */ \
  "128: cmp $256, %rdx\n" \
  "ja memset_wide\n" \
  "vmovdqu64 %zmm16, (%rdi)\n" \
  "vmovdqu64 %zmm16, 64(%rdi)\n" \
  "vmovdqu64 %zmm16, -128(%rdi, %rdx)\n" \
  "vmovdqu64 %zmm16, -64(%rdi, %rdx)\n" \
  "ret\n" \
  FUNCTION_ENDS(symbol))
