/* What AVX2's functions go on with at the late place (choose.h), by vectors of 32 bytes. */
USED OVERREAD char *strchr_late(const char *p, int byte)
{
  return (char*)scan_on_evex(p, 1, all_evex(byte), EITHER, MATCH, byte, p);
}
USED OVERREAD char *strchrnul_late(const char *p, int byte)
{
  return (char*)scan_on_evex(p, 1, all_evex(byte), EITHER, PLACE, byte, p);
}
USED OVERREAD char *strrchr_late(const char *s, int byte) { return strrchr_evex(s, byte); }
USED OVERREAD int strcmp_late(const char *a, const char *b) { return strcmp_evex(a, b); }
USED OVERREAD void *memchr_late(const void *s, int byte, size_t n) { return memchr_evex(s, byte, n); }
USED OVERREAD void *memrchr_late(const void *s, int byte, size_t n) { return memrchr_evex(s, byte, n); }
USED OVERREAD char *strchr_from_late(const char *s, int byte) { return strchr_evex(s, byte); }
/* The same by vectors of 64 bytes. strlen, which goes on by itself with those of 32, is told where what p is in began. */
USED OVERREAD char *strchrnul_far(const char *p, int byte)
{
  return (char*)scan_on_avx512(p, 0, all_avx512(byte), EITHER, PLACE, byte, p);
}
USED OVERREAD size_t strlen_far(const char *p, const char *start)
{
  return scan_on_avx512(p, 0, all_avx512(0), END, DISTANCE, 0, start);
}
