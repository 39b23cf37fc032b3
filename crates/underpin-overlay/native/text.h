/* What the parts for texts have in common: bytes, in the locale "C". The functions of <string.h> and <ctype.h> are not called, for the
 * program may have its own. */

static inline size_t
length(const char *text)
{
  size_t size = 0;
  while (text[size]) size++;
  return size;
}

/* Whether the first bytes are equal. It ends at the first difference, so that no shorter text is read behind its end. */
static inline bool
is_same(const char *one, const char *other, size_t size)
{
  for (size_t at = 0; at < size; at++)
    if (one[at] != other[at]) return false;
  return true;
}

static inline bool
is_digit(char letter)
{
  return letter >= '0' && letter <= '9';
}

static inline bool
is_letter(char letter)
{
  return (letter >= 'a' && letter <= 'z') || (letter >= 'A' && letter <= 'Z');
}
