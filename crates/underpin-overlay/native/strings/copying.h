/* How memcpy and memmove begin: up to 8 vectors of the level, all of which are read before anything is written. Most copies
 * are short, so those come with the fewest jumps, and up to 64 bytes no level is asked for. From there on AVX2 has half the
 * instructions, which count where another program shares the core (family 25, 100 bytes: 0.99 of glibc's time instead of 1.19), and
 * above 128 bytes one jump less than AVX-512, which has vectors enough to spare (1.11 instead of 1.28). Up to there AVX-512 goes
 * straight on, as glibc does (Intel's model 207, 100 bytes: 1.05 instead of 1.17). Its registers from 16 on need no clearing. Longer
 * copies are left to the functions of copy.h. */

/* Two, four or eight vectors of w bytes: up to so many times w bytes, and at least half of that. */
#define READ(move, from, v) move " " from ", %" v "\n"
#define WRITE(move, v, to) move " %" v ", " to "\n"
#define TWO_OF(move, v, w) \
  READ(move, "(%rsi)", v "6") READ(move, "-" w "(%rsi, %rdx)", v "7") \
  WRITE(move, v "6", "(%rdi)") WRITE(move, v "7", "-" w "(%rdi, %rdx)") \
  "ret\n"
#define FOUR_OF(move, v, w, clear) \
  READ(move, "(%rsi)", v "6") READ(move, w "(%rsi)", v "7") \
  READ(move, "-2*" w "(%rsi, %rdx)", v "8") READ(move, "-" w "(%rsi, %rdx)", v "9") \
  WRITE(move, v "6", "(%rdi)") WRITE(move, v "7", w "(%rdi)") \
  WRITE(move, v "8", "-2*" w "(%rdi, %rdx)") WRITE(move, v "9", "-" w "(%rdi, %rdx)") \
  clear "ret\n"
#define EIGHT_OF(move, v, w, clear) \
  READ(move, "(%rsi)", v "0") READ(move, w "(%rsi)", v "1") \
  READ(move, "2*" w "(%rsi)", v "2") READ(move, "3*" w "(%rsi)", v "3") \
  READ(move, "-4*" w "(%rsi, %rdx)", v "4") READ(move, "-3*" w "(%rsi, %rdx)", v "5") \
  READ(move, "-2*" w "(%rsi, %rdx)", v "6") READ(move, "-" w "(%rsi, %rdx)", v "7") \
  WRITE(move, v "0", "(%rdi)") WRITE(move, v "1", w "(%rdi)") \
  WRITE(move, v "2", "2*" w "(%rdi)") WRITE(move, v "3", "3*" w "(%rdi)") \
  WRITE(move, v "4", "-4*" w "(%rdi, %rdx)") WRITE(move, v "5", "-3*" w "(%rdi, %rdx)") \
  WRITE(move, v "6", "-2*" w "(%rdi, %rdx)") WRITE(move, v "7", "-" w "(%rdi, %rdx)") \
  clear "ret\n"

#define COPYING(symbol, name) __asm__( \
  FUNCTION_BEGINS(symbol, 6) \
  "mov %rdi, %rax\n" \
  "cmp $16, %rdx\n" \
  "jb 15f\n" \
  "cmp $64, %rdx\n" \
  "ja 64f\n" \
  "movups (%rsi), %xmm0\n" \
  "movups -16(%rsi, %rdx), %xmm1\n" \
  "cmp $32, %edx\n" \
  "ja 32f\n" \
  "movups %xmm0, (%rdi)\n" \
  "movups %xmm1, -16(%rdi, %rdx)\n" \
  "ret\n" \
  "15: cmp $8, %edx\n" \
  "jae 8f\n" \
  "cmp $4, %edx\n" \
  "jae 4f\n" \
  "cmp $1, %edx\n" \
  "jb 0f\n" \
  /* Two or three are the first one and the last two. */ \
  "movzbl (%rsi), %ecx\n" \
  "je 1f\n" \
  "movzwl -2(%rsi, %rdx), %esi\n" \
  "mov %si, -2(%rdi, %rdx)\n" \
  "1: mov %cl, (%rdi)\n" \
  "0: ret\n" \
  "4: mov (%rsi), %ecx\n" \
  "mov -4(%rsi, %rdx), %esi\n" \
  "mov %ecx, (%rdi)\n" \
  "mov %esi, -4(%rdi, %rdx)\n" \
  "ret\n" \
  "8: mov (%rsi), %rcx\n" \
  "mov -8(%rsi, %rdx), %rsi\n" \
  "mov %rcx, (%rdi)\n" \
  "mov %rsi, -8(%rdi, %rdx)\n" \
  "ret\n" \
  ".p2align 5\n" \
  "32: movups 16(%rsi), %xmm2\n" \
  "movups -32(%rsi, %rdx), %xmm3\n" \
  "movups %xmm0, (%rdi)\n" \
  "movups %xmm2, 16(%rdi)\n" \
  "movups %xmm3, -32(%rdi, %rdx)\n" \
  "movups %xmm1, -16(%rdi, %rdx)\n" \
  "ret\n" \
  ".p2align 6\n" \
  "64: cmp $128, %rdx\n" \
  "ja 128f\n" \
  "cmpb $2, overlay_level(%rip)\n" \
  "jbe 67f\n" \
  TWO_OF("vmovdqu64", "zmm1", "64") \
  ".p2align 6\n" \
  "67: jb 66f\n" \
  FOUR_OF("vmovdqu", "ymm", "32", "vzeroupper\n") \
  ".p2align 6\n" \
  "66: movups (%rsi), %xmm0\n" \
  "movups 16(%rsi), %xmm1\n" \
  "movups 32(%rsi), %xmm2\n" \
  "movups 48(%rsi), %xmm3\n" \
  "movups -64(%rsi, %rdx), %xmm4\n" \
  "movups -48(%rsi, %rdx), %xmm5\n" \
  "movups -32(%rsi, %rdx), %xmm6\n" \
  "movups -16(%rsi, %rdx), %xmm7\n" \
  "movups %xmm0, (%rdi)\n" \
  "movups %xmm1, 16(%rdi)\n" \
  "movups %xmm2, 32(%rdi)\n" \
  "movups %xmm3, 48(%rdi)\n" \
  "movups %xmm4, -64(%rdi, %rdx)\n" \
  "movups %xmm5, -48(%rdi, %rdx)\n" \
  "movups %xmm6, -32(%rdi, %rdx)\n" \
  "movups %xmm7, -16(%rdi, %rdx)\n" \
  "ret\n" \
  ".p2align 6\n" \
  "128: cmp " LIMIT_COPIED ", %rdx\n" \
  "jbe 129f\n" \
  "cmp $256, %rdx\n" \
  "ja " #name "_avx2\n" \
  EIGHT_OF("vmovdqu", "ymm", "32", "vzeroupper\n") \
  ".p2align 6\n" \
  "129: cmpb $2, overlay_level(%rip)\n" \
  "jbe 65f\n" \
  "cmp $256, %rdx\n" \
  "ja 256f\n" \
  FOUR_OF("vmovdqu64", "zmm1", "64", "") \
  ".p2align 6\n" \
  "256: cmp $512, %rdx\n" \
  "ja " #name "_avx512\n" \
  EIGHT_OF("vmovdqu64", "zmm2", "64", "") \
  ".p2align 6\n" \
  /* Neither AVX nor AVX-512, or not known yet. */ \
  "65: cmpb $1, overlay_level(%rip)\n" \
  "je " #name "_sse2\n" \
  /* Another thread may have found it in between. */ \
  "ja 64b\n" \
  "incb " UNTIL_ASKED "\n" \
  "jne " #name "_sse2\n" \
  "sub $8, %rsp\n.cfi_adjust_cfa_offset 8\n" \
  "call overlay_first\n" \
  "add $8, %rsp\n.cfi_adjust_cfa_offset -8\n" \
  /* From the start: to ask took the register of the result. */ \
  "jmp " symbol "\n" \
  FUNCTION_ENDS(symbol))
