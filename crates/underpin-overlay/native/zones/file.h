/* A file of time zones (RFC 9636, tzfile(5)): when the clocks of a place were changed, and a rule for what comes after. Leap seconds
 * are left out, as musl leaves them: the files of the folder "right" count them. */

/* The header, and how many there are of each, in the order of the header. */
enum { HEADER = 44, COUNTS = 20, TYPE = 6, MOST_TYPES = 256, LONGEST_RULE = 128 };
enum { UTC_MARKS, STANDARD_MARKS, LEAPS, TIMES, TYPES, LETTERS, ALL_COUNTS };

typedef struct {
  const unsigned char *bytes;
  size_t size;
  /* Bytes of a time: 4, or 8 from the second version on. */
  size_t width;
  size_t times, types, letters;
  /* Within the bytes. */
  const unsigned char *at_times, *at_indices, *at_types, *at_letters;
  bool has_rule;
  Rule rule;
  /* The names of its types, and the last kind of each sort that clocks were set to. */
  const char *names[MOST_TYPES];
  Kind latest[2];
  bool has[2];
} File;

static unsigned
number_at(const unsigned char *bytes)
{
  return (unsigned)bytes[0] << 24 | (unsigned)bytes[1] << 16 | (unsigned)bytes[2] << 8 | bytes[3];
}

static long long
time_at(const File *file, size_t index)
{
  const unsigned char *const at = file->at_times + index * file->width;
  if (file->width == 4) return (int)number_at(at);
  return (long long)((unsigned long long)number_at(at) << 32 | number_at(at + 4));
}

static Kind
kind_of(const File *file, size_t type)
{
  const unsigned char *const at = file->at_types + type * TYPE;
  return (Kind){(int)number_at(at), at[4], file->names[type]};
}

/* The kind of time that begins at one of the times. */
static Kind
kind_from(const File *file, size_t index)
{
  return kind_of(file, file->at_indices[index]);
}

/* The bytes behind a header, by its counts; more than there can be if they are out of all proportion. */
static unsigned long long
block(const unsigned char *header, unsigned long long width)
{
  unsigned long long counts[ALL_COUNTS];
  for (int count = 0; count < ALL_COUNTS; count++) counts[count] = number_at(header + COUNTS + 4 * count);
  return counts[TIMES] * (width + 1) + counts[TYPES] * TYPE + counts[LETTERS] + counts[LEAPS] * (width + 4) + counts[STANDARD_MARKS]
         + counts[UTC_MARKS];
}

static bool
is_header(const unsigned char *bytes, size_t size)
{
  return size >= HEADER && is_same((const char *)bytes, "TZif", 4);
}

/* Nothing that is read later lies outside of what it points into. */
static bool
is_sound(const File *file)
{
  if (!file->types || file->types > MOST_TYPES || !file->letters || file->at_letters[file->letters - 1]) return false;
  for (size_t index = 0; index < file->times; index++)
    if (file->at_indices[index] >= file->types) return false;
  for (size_t type = 0; type < file->types; type++) {
    const unsigned char *const at = file->at_types + type * TYPE;
    if (at[4] > 1 || at[5] >= file->letters) return false;
  }
  return true;
}

/* The rule between the two last ends of lines. */
static void
read_last_line(File *file, const unsigned char *at, size_t size)
{
  char text[LONGEST_RULE];
  if (size < 3 || size - 2 >= sizeof text || at[0] != '\n' || at[size - 1] != '\n') return;
  for (size_t letter = 0; letter < size - 2; letter++) text[letter] = (char)at[1 + letter];
  text[size - 2] = 0;
  read_rule(text, &file->rule);
  file->has_rule = true;
}

/* What is asked for again and again. */
static void
read_kinds(File *file)
{
  for (size_t type = 0; type < file->types; type++) {
    const char *const name = (const char *)file->at_letters + file->at_types[type * TYPE + 5];
    file->names[type] = kept(name, length(name));
  }
  file->has[0] = file->has[1] = false;
  for (size_t index = file->times; index-- > 0 && !(file->has[0] && file->has[1]);) {
    const Kind kind = kind_from(file, index);
    if (!file->has[kind.is_summer]) file->latest[kind.is_summer] = kind;
    file->has[kind.is_summer] = true;
  }
}

/* Finds its way in the bytes; false if they are not those of such a file. */
static bool
read_file(File *file)
{
  const unsigned char *header = file->bytes;
  size_t left = file->size;
  if (!is_header(header, left)) return false;
  file->width = 4;
  if (header[4]) {
    const unsigned long long first = HEADER + block(header, 4);
    if (first > left || !is_header(header + first, left - first)) return false;
    header += first;
    left -= first;
    file->width = 8;
  }
  const unsigned long long own = HEADER + block(header, file->width);
  if (own > left) return false;
  file->times = number_at(header + COUNTS + 4 * TIMES);
  file->types = number_at(header + COUNTS + 4 * TYPES);
  file->letters = number_at(header + COUNTS + 4 * LETTERS);
  file->at_times = header + HEADER;
  file->at_indices = file->at_times + file->times * file->width;
  file->at_types = file->at_indices + file->times;
  file->at_letters = file->at_types + file->types * TYPE;
  if (!is_sound(file)) return false;
  read_kinds(file);
  file->has_rule = false;
  if (file->width == 8) read_last_line(file, header + own, left - own);
  return true;
}

/* How many of the times have come. */
static size_t
times_until(const File *file, long long seconds)
{
  size_t low = 0, high = file->times;
  while (low < high) {
    const size_t middle = low + (high - low) / 2;
    if (time_at(file, middle) <= seconds) low = middle + 1;
    else high = middle;
  }
  return low;
}

/* Before all changes it is the first winter time that the file knows. */
static Kind
first_kind(const File *file)
{
  for (size_t type = 0; type < file->types; type++)
    if (!kind_of(file, type).is_summer) return kind_of(file, type);
  return kind_of(file, 0);
}
