/* Where two strings part: for levels whose `alike` is zero there. Included by these levels; no guard. */
INLINE M LEVEL(parting)(V a, V b) { return LEVEL(zeros)(LEVEL(alike)(a, b)); }
INLINE M LEVEL(parting4)(const char *a, const char *b)
{
  V v = LEVEL(least)(LEVEL(alike)(LEVEL(load)(a), LEVEL(loadu)(b)), LEVEL(alike)(LEVEL(load)(a + W), LEVEL(loadu)(b + W)));
  ORDERED(v);
  V w = LEVEL(least)(LEVEL(alike)(LEVEL(load)(a + 2 * W), LEVEL(loadu)(b + 2 * W)),
                     LEVEL(alike)(LEVEL(load)(a + 3 * W), LEVEL(loadu)(b + 3 * W)));
  return LEVEL(zeros)(LEVEL(least)(v, w));
}
