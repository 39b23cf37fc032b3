/* What a processor of x86-64 says of itself. */
#include <cpuid.h>

/* What the kernel saves of the registers when it changes threads. Only a processor with OSXSAVE can be asked. */
static uint32_t
saved_registers(void)
{
  uint32_t low, high;
  __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  return low;
}

/* Those of AVX, whose upper halves are lost otherwise. */
enum { SAVES_AVX = 0x6 };
