/* strlen, written out: it begins as AVX2 does, and the fewest instructions and jumps count, most of all where another thread shares
 * the core. (Emerald Rapids, beside a busy one: 64 bytes take 1.03 of glibc's time and 256 bytes 1.13,
 * where the compiler's code took 1.17 and 1.24.) */
#define LOOK_FOR_END(at, hit) \
  "vpcmpeqb " #at "(%rdx), %ymm0, %ymm1\n" \
  "vpmovmskb %ymm1, %eax\n" \
  "test %eax, %eax\n" \
  "jne " hit "\n"
#define END_IS_AT(at) \
  "tzcnt %eax, %eax\n" \
  "lea " #at "(%rdx, %rax), %rax\n" \
  "sub %rdi, %rax\n" \
  "vzeroupper\n" \
  "ret\n"
/* Four vectors at %rdx: of each two the first (%ymm2, %ymm4), and the least of both (%ymm3, %ymm5). */
#define FOUR_FOLDED \
  "vmovdqa (%rdx), %ymm2\n" \
  "vpminub 32(%rdx), %ymm2, %ymm3\n" \
  "vmovdqa 64(%rdx), %ymm4\n" \
  "vpminub 96(%rdx), %ymm4, %ymm5\n"
/* The end lies in two vectors: the first one's mask is to be taken, that of both together is in %rax. */
#define END_IN_TWO(first, at) \
  "vpcmpeqb " first ", %ymm0, %ymm1\n" \
  "vpmovmskb %ymm1, %ecx\n" \
  "shl $32, %rax\n" \
  "or %rcx, %rax\n" \
  "tzcnt %rax, %rax\n" \
  "lea " #at "(%rdx, %rax), %rax\n" \
  "sub %rdi, %rax\n" \
  "vzeroupper\n" \
  "ret\n"
#define ENDING(symbol) __asm__( \
  FUNCTION_BEGINS(symbol, 6) \
  "imul $0x100000, %edi, %eax\n" \
  "cmp " WITHIN_AT "(%rip), %eax\n" \
  "jae 90f\n" \
  "10: vpxor %xmm0, %xmm0, %xmm0\n" \
  "vpcmpeqb (%rdi), %ymm0, %ymm1\n" \
  "vpmovmskb %ymm1, %eax\n" \
  "test %eax, %eax\n" \
  "je 20f\n" \
  "tzcnt %eax, %eax\n" \
  "vzeroupper\n" \
  "ret\n" \
  ".p2align 6\n" \
  /* Not in the first one. */ \
  "20: cmp %eax, " ABOVE_FIRST_AT "(%rip)\n" \
  "jne 80f\n" \
  "mov %rdi, %rdx\n" \
  "and $-32, %rdx\n" \
  LOOK_FOR_END(32, "31f") \
  LOOK_FOR_END(64, "32f") \
  LOOK_FOR_END(96, "33f") \
  LOOK_FOR_END(128, "34f") \
  "cmp %eax, " ABOVE_LATE_AT "(%rip)\n" \
  "jg 60f\n" \
  "jl 70f\n" \
  "add $32, %rdx\n" \
  "and $-128, %rdx\n" \
  ".p2align 6\n" \
  "40: sub $-128, %rdx\n" \
  FOUR_FOLDED \
  "vpminub %ymm3, %ymm5, %ymm5\n" \
  "vpcmpeqb %ymm5, %ymm0, %ymm5\n" \
  "vpmovmskb %ymm5, %ecx\n" \
  "test %ecx, %ecx\n" \
  "je 40b\n" \
  "vpcmpeqb %ymm2, %ymm0, %ymm2\n" \
  "vpmovmskb %ymm2, %eax\n" \
  "test %eax, %eax\n" \
  "jne 30f\n" \
  "vpcmpeqb %ymm3, %ymm0, %ymm3\n" \
  "vpmovmskb %ymm3, %eax\n" \
  "test %eax, %eax\n" \
  "jne 31f\n" \
  /* The first two being ruled out, what all four have is the fourth's, or the third's, too. */ \
  "mov %ecx, %eax\n" \
  END_IN_TWO("%ymm4", 64) \
  "30: " END_IS_AT(0) \
  "31: " END_IS_AT(32) \
  "32: " END_IS_AT(64) \
  "33: " END_IS_AT(96) \
  "34: " END_IS_AT(128) \
  /* Where AVX-512 takes over late, the masks of its comparisons are asked for both at once. */ \
  ".p2align 6\n" \
  "60: add $160, %rdx\n" \
  "and $-128, %rdx\n" \
  "61: " FOUR_FOLDED \
  "vptestnmb %ymm3, %ymm3, %k0\n" \
  "vptestnmb %ymm5, %ymm5, %k1\n" \
  "sub $-128, %rdx\n" \
  "kortestd %k0, %k1\n" \
  "je 61b\n" \
  "kmovd %k0, %eax\n" \
  "test %eax, %eax\n" \
  "je 62f\n" \
  END_IN_TWO("%ymm2", -128) \
  ".p2align 4\n" \
  "62: kmovd %k1, %eax\n" \
  END_IN_TWO("%ymm4", -64) \
  /* By vectors of 64 bytes. */ \
  "70: mov %rdi, %rsi\n" \
  "lea 160(%rdx), %rdi\n" \
  "and $-128, %rdi\n" \
  "jmp strlen_far\n" \
  "80: mov %rdi, %rsi\n" \
  "add $32, %rdi\n" \
  "jmp strlen_wide\n" \
  /* Across two pages, or the processor has no AVX2. What lies before s is shifted out: by 31 at most, which is what of a count is
   * looked at. */ \
  "90: cmpb $2, overlay_level(%rip)\n" \
  "jb overlay_below_strlen\n" \
  "mov %rdi, %rdx\n" \
  "and $-32, %rdx\n" \
  "vpxor %xmm0, %xmm0, %xmm0\n" \
  "vpcmpeqb (%rdx), %ymm0, %ymm1\n" \
  "vpmovmskb %ymm1, %eax\n" \
  "shrx %edi, %eax, %eax\n" \
  "test %eax, %eax\n" \
  "je 10b\n" \
  "tzcnt %eax, %eax\n" \
  "vzeroupper\n" \
  "ret\n" \
  FUNCTION_ENDS(symbol))
