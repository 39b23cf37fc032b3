/* The levels of x86-64, and the functions that begin with what needs no level. */
#include "choose.h"

INLINE void
by_machine(char *to, const char *from, size_t n)
{
  __asm__ volatile("rep movsb" : "+D"(to), "+S"(from), "+c"(n) : : "memory");
}

INLINE void
by_filling(char *to, int byte, size_t n)
{
  __asm__ volatile("rep stosb" : "+D"(to), "+c"(n) : "a"(byte) : "memory");
}

#include "sse2.h"
#include "level.h"

#ifdef __clang__
#pragma clang attribute push(__attribute__((target("avx2,bmi,bmi2"))), apply_to = function)
#else
#pragma GCC push_options
#pragma GCC target("avx2,bmi,bmi2")
#endif
#include "avx2.h"
#include "level.h"
#ifdef __clang__
#pragma clang attribute pop
#pragma clang attribute push(__attribute__((target("avx512f,avx512bw,avx512vl,avx2,bmi,bmi2"))), apply_to = function)
#else
#pragma GCC pop_options
#pragma GCC push_options
#pragma GCC target("avx512f,avx512bw,avx512vl,avx2,bmi,bmi2")
#endif
#undef LEVELED
#define LEVELED INLINE
#include "avx512.h"
#include "level.h"
#include "public.h"
#ifdef __clang__
#pragma clang attribute pop
#else
#pragma GCC pop_options
#endif

__asm__(".globl " TEXT(NAME(bcmp)) "\n.set " TEXT(NAME(bcmp)) ", " TEXT(NAME(memcmp)) "\n");
#ifdef OVERLAY_REPLACES
#define MUSL(internal, name) __asm__(".globl " #internal "\n.hidden " #internal "\n.set " #internal ", " #name "\n")
MUSL(__memrchr, memrchr);
MUSL(__strchrnul, strchrnul);
MUSL(__stpcpy, stpcpy);
MUSL(__stpncpy, stpncpy);
MUSL(__memcpy_fwd, memcpy);
MUSL(__memcpy_fwd_alias_1, memcpy);
#endif

/* Up to 64 bytes are copied before any level is asked for: all is read before anything is written. */
#define COPYING(symbol, name) __asm__( \
  ".pushsection .text." symbol ",\"ax\",@progbits\n" \
  ".p2align 6\n" \
  ".globl " symbol "\n" \
  ".type " symbol ", @function\n" \
  symbol ":\n" \
  ".cfi_startproc\n" \
  "mov %rdi, %rax\n" \
  "cmp $64, %rdx\n" \
  "ja 64f\n" \
  "cmp $16, %rdx\n" \
  "jb 8f\n" \
  "movups (%rsi), %xmm0\n" \
  "movups -16(%rsi, %rdx), %xmm1\n" \
  "cmp $32, %rdx\n" \
  "ja 32f\n" \
  "movups %xmm0, (%rdi)\n" \
  "movups %xmm1, -16(%rdi, %rdx)\n" \
  "ret\n" \
  "32: movups 16(%rsi), %xmm2\n" \
  "movups -32(%rsi, %rdx), %xmm3\n" \
  "movups %xmm0, (%rdi)\n" \
  "movups %xmm2, 16(%rdi)\n" \
  "movups %xmm3, -32(%rdi, %rdx)\n" \
  "movups %xmm1, -16(%rdi, %rdx)\n" \
  "ret\n" \
  "8: cmp $8, %edx\n" \
  "jb 4f\n" \
  "mov (%rsi), %rcx\n" \
  "mov -8(%rsi, %rdx), %rsi\n" \
  "mov %rcx, (%rdi)\n" \
  "mov %rsi, -8(%rdi, %rdx)\n" \
  "ret\n" \
  "4: cmp $4, %edx\n" \
  "jb 2f\n" \
  "mov (%rsi), %ecx\n" \
  "mov -4(%rsi, %rdx), %esi\n" \
  "mov %ecx, (%rdi)\n" \
  "mov %esi, -4(%rdi, %rdx)\n" \
  "ret\n" \
  "2: cmp $1, %edx\n" \
  "jb 0f\n" \
  "movzbl (%rsi), %ecx\n" \
  "je 1f\n" \
  "movzwl -2(%rsi, %rdx), %esi\n" \
  "mov %si, -2(%rdi, %rdx)\n" \
  "1: mov %cl, (%rdi)\n" \
  "0: ret\n" \
  ".p2align 4\n" \
  "64: cmpb $2, overlay_level(%rip)\n" \
  "ja " #name "_avx512\n" \
  "je " #name "_avx2\n" \
  "cmpb $1, overlay_level(%rip)\n" \
  "je " #name "_sse2\n" \
  "sub $8, %rsp\n.cfi_adjust_cfa_offset 8\n" \
  "call overlay_first\n" \
  "add $8, %rsp\n.cfi_adjust_cfa_offset -8\n" \
  "jmp 64b\n" \
  ".cfi_endproc\n" \
  ".size " symbol ", . - " symbol "\n" \
  ".popsection\n")
COPYING(TEXT(NAME(memcpy)), memcpy);
COPYING(TEXT(NAME(memmove)), memmove);

#ifndef OVERLAY_REPLACES
/* Sets the level, if the processor has it; returns the one in force afterwards. For tests. */
int overlay_force(int level);
int
overlay_force(int level)
{
  unsigned char best = best_level();
  overlay_level = level < best ? (unsigned char)level : best;
  return overlay_level;
}
#endif
