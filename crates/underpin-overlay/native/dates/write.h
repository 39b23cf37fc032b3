/* strftime. */

/* Where the text goes, in letters of one kind; without a place it is only measured. One letter is kept for its end. */
typedef struct {
  char *at;
  wchar_t *wide;
  size_t size, room;
  bool is_full;
} Text;

/* A conversion: what stands between the sign and its letter. */
typedef struct {
  char pad, modifier;
  int width;
  bool is_upper, is_lower, is_changed;
} Field;

static void write_time(Text *text, const char *format, const Time *time);

/* Room for so many bytes, or none at all any more. */
static bool
has_room(Text *text, size_t size)
{
  if (!text->is_full && size < text->room - text->size) return true;
  text->is_full = true;
  return false;
}

/* What the conversions write are letters of ASCII. */
static void
set(const Text *text, size_t at, char letter)
{
  if (text->at) text->at[at] = letter;
  else if (text->wide) text->wide[at] = (unsigned char)letter;
}

static char
letter_at(const Text *text, size_t at)
{
  return text->at ? text->at[at] : text->wide ? (char)text->wide[at] : 0;
}

static void
repeat(Text *text, char letter, size_t count)
{
  if (!has_room(text, count)) return;
  for (size_t at = 0; at < count; at++) set(text, text->size + at, letter);
  text->size += count;
}

/* Letters in front of which the field is filled up. */
static void
put(Text *text, const Field *field, const char *letters, size_t size)
{
  const size_t width = field->width < 0 ? 0 : (size_t)field->width;
  const size_t more = width > size ? width - size : 0;
  if (!has_room(text, size + more)) return;
  repeat(text, field->pad == '0' ? '0' : ' ', more);
  for (size_t at = 0; at < size; at++) {
    const char letter = letters[at];
    set(text, text->size + at, field->is_lower ? lower(letter) : field->is_upper ? upper(letter) : letter);
  }
  text->size += size;
}

static void
put_text(Text *text, const Field *field, const char *letters)
{
  put(text, field, letters, length(letters));
}

/* A number of at least so many digits, whatever the field's width is. */
static void
put_digits(Text *text, Field field, long long number, int digits)
{
  char letters[24];
  size_t at = sizeof letters;
  const bool is_negative = number < 0;
  unsigned long long rest = is_negative ? -(unsigned long long)number : (unsigned long long)number;
  do letters[--at] = (char)('0' + rest % 10);
  while ((rest /= 10) != 0);
  if (is_negative) letters[--at] = '-';
  const int more = digits - (int)(sizeof letters - at);
  if (field.pad != '-' && more > 0) {
    if (field.pad == '_') {
      repeat(text, ' ', (size_t)more);
      field.width = field.width > more ? field.width - more : 0;
    } else {
      if (!has_room(text, (size_t)digits)) return;
      if (is_negative) {
        at++;
        repeat(text, '-', 1);
      }
      repeat(text, '0', (size_t)more);
      field.width = 0;
    }
  }
  put(text, &field, letters + at, sizeof letters - at);
}

static void
put_number(Text *text, const Field *field, int number, int digits)
{
  put_digits(text, *field, number, field->width > digits ? field->width : digits);
}

/* A number in front of which there are spaces, unless it is said otherwise. */
static void
put_spaced(Text *text, Field field, int number)
{
  if (field.pad != '0' && field.pad != '-') field.pad = '_';
  put_number(text, &field, number, 2);
}

/* What other conversions make together. */
static void
put_all(Text *text, const Field *field, const char *format, const Time *time)
{
  Text measured = {.room = (size_t)-1};
  write_time(&measured, format, time);
  const size_t width = field->width < 0 ? 0 : (size_t)field->width, size = measured.size;
  const size_t more = width > size ? width - size : 0;
  if (!has_room(text, size + more)) return;
  repeat(text, field->pad == '0' ? '0' : ' ', more);
  const size_t start = text->size;
  write_time(text, format, time);
  for (size_t at = start; field->is_upper && at < text->size; at++) set(text, at, upper(letter_at(text, at)));
}

/* The days since the Monday of the first week of a year by ISO 8601, which has its first Thursday. */
static int
iso_days(int yearday, int weekday)
{
  const int first = (yearday - weekday + 382) % 7;
  return yearday - first + 3;
}

static void
put_iso(Text *text, const Field *field, char letter, const Time *time)
{
  int year = time->year + BASE;
  int days = iso_days(time->yearday, time->weekday);
  if (days < 0) {
    year--;
    days = iso_days(time->yearday + 365 + is_leap(year), time->weekday);
  } else {
    const int later = iso_days(time->yearday - 365 - is_leap(year), time->weekday);
    if (later >= 0) {
      year++;
      days = later;
    }
  }
  if (letter == 'g') put_number(text, field, (year % 100 + 100) % 100, 2);
  else if (letter == 'G') put_number(text, field, year, 1);
  else put_number(text, field, days / 7 + 1, 2);
}

static const char *
zone_of(const Time *time)
{
  if (time->zone && time->zone == __underpin_zone) return time->zone;
  const char *const zone = __tm_to_tzname ? __tm_to_tzname(time) : "";
  if (*zone || time->summer < 0) return zone;
  tzset();
  return tzname[time->summer != 0];
}

static void
put_offset(Text *text, const Field *field, const Time *time)
{
  if (time->summer < 0) return;
  const long minutes = (time->offset < 0 ? -time->offset : time->offset) / 60;
  put(text, field, time->offset < 0 ? "-" : "+", 1);
  put_number(text, field, (int)(minutes / 60 * 100 + minutes % 60), 4);
}

/* Those that are numbers. Returns whether this is one of them. */
static bool
is_number_put(Text *text, const Field *field, char letter, const Time *time)
{
  const int year = time->year + BASE, hour = time->hour > 12 ? time->hour - 12 : time->hour ? time->hour : 12;
  switch (letter) {
  case 'C': put_number(text, field, year / 100 - (year % 100 < 0), 1); break;
  case 'd': put_number(text, field, time->day, 2); break;
  case 'e': put_spaced(text, *field, time->day); break;
  case 'H': put_number(text, field, time->hour, 2); break;
  case 'I': put_number(text, field, hour, 2); break;
  case 'j': put_number(text, field, 1 + time->yearday, 3); break;
  case 'k': put_spaced(text, *field, time->hour); break;
  case 'l': put_spaced(text, *field, hour); break;
  case 'M': put_number(text, field, time->minute, 2); break;
  case 'm': put_number(text, field, time->month + 1, 2); break;
  case 'S': put_number(text, field, time->second, 2); break;
  case 's': put_digits(text, *field, seconds_since_1970(time) - time->offset, 1); break;
  case 'U': put_number(text, field, (time->yearday - time->weekday + 7) / 7, 2); break;
  case 'u': put_number(text, field, (time->weekday + 6) % 7 + 1, 1); break;
  case 'W': put_number(text, field, (time->yearday - (time->weekday + 6) % 7 + 7) / 7, 2); break;
  case 'w': put_number(text, field, time->weekday, 1); break;
  case 'Y': put_number(text, field, year, 1); break;
  case 'y': put_number(text, field, (time->year % 100 + 100) % 100, 2); break;
  case 'V': case 'G': case 'g': put_iso(text, field, letter, time); break;
  case 'z': put_offset(text, field, time); break;
  default: return false;
  }
  return true;
}

static bool
is_one_of(const char *letters, char letter)
{
  while (*letters && *letters != letter) letters++;
  return *letters;
}

/* Whether a conversion may stand behind E or O. */
static bool
is_allowed(char modifier, char letter)
{
  return modifier == 'E' ? !is_one_of("aAbBdDeFgGhHIjklmMSUVwW", letter) : modifier != 'O' || !is_one_of("aAcDFxXY", letter);
}

/* One conversion. Returns false if there is none of this letter. */
static bool
convert(Text *text, Field *field, char letter, const Time *time)
{
  if (!letter || !is_allowed(field->modifier, letter)) return false;
  switch (letter) {
  case '%': put(text, field, "%", 1); break;
  case 'n': put(text, field, "\n", 1); break;
  case 't': put(text, field, "\t", 1); break;
  case 'a':
  case 'A':
  case 'b':
  case 'h':
  case 'B': {
    const bool is_day = letter == 'a' || letter == 'A';
    const char *const name = is_day ? named(DAYS, time->weekday, WEEK) : named(MONTHS, time->month, YEAR);
    if (field->is_changed) field->is_upper = true;
    put(text, field, name, letter == 'A' || letter == 'B' || !name[1] ? length(name) : SHORT);
    break;
  }
  case 'P':
  case 'p':
    if (field->is_changed) field->is_upper = false;
    field->is_lower = field->is_changed || letter == 'P';
    put(text, field, time->hour > 11 ? "PM" : "AM", 2);
    break;
  case 'Z':
    if (field->is_changed) field->is_upper = false;
    field->is_lower = field->is_changed;
    put_text(text, field, zone_of(time));
    break;
  case 'c': put_all(text, field, "%a %b %e %H:%M:%S %Y", time); break;
  case 'x':
  case 'D': put_all(text, field, "%m/%d/%y", time); break;
  case 'F': put_all(text, field, "%Y-%m-%d", time); break;
  case 'R': put_all(text, field, "%H:%M", time); break;
  case 'r': put_all(text, field, "%I:%M:%S %p", time); break;
  case 'X':
  case 'T': put_all(text, field, "%H:%M:%S", time); break;
  default: return is_number_put(text, field, letter, time);
  }
  return true;
}

/* What stands in front of a conversion's letter. Returns where that is. */
static const char *
read_field(Field *field, const char *format)
{
  *field = (Field){.width = -1};
  for (;; format++) {
    if (*format == '_' || *format == '-' || *format == '0') field->pad = *format;
    else if (*format == '^') field->is_upper = true;
    else if (*format == '#') field->is_changed = true;
    else break;
  }
  if (is_digit(*format)) field->width = 0;
  for (; is_digit(*format); format++) {
    const int digit = *format - '0';
    field->width = field->width > (INT_MAX - digit) / 10 ? INT_MAX : field->width * 10 + digit;
  }
  if (*format == 'E' || *format == 'O') field->modifier = *format++;
  return format;
}

static void
write_time(Text *text, const char *format, const Time *time)
{
  for (; *format; format++) {
    Field field = {.width = -1};
    if (*format != '%') {
      put(text, &field, format, 1);
      continue;
    }
    const char *const start = format;
    format = read_field(&field, format + 1);
    /* What is no conversion is written as it is. */
    if (!convert(text, &field, *format, time)) {
      if (!*format) format--;
      put(text, &field, start, (size_t)(format - start) + 1);
    }
  }
}

/* Ends the text. Returns its length; 0 if it had no room. */
static size_t
finished(const Text *text)
{
  if (text->is_full || !text->room) return 0;
  set(text, text->size, 0);
  return text->size;
}

size_t
strftime(char *restrict at, size_t room, const char *restrict format, const Time *restrict time)
{
  Text text = {.at = at, .room = room};
  write_time(&text, format, time);
  return finished(&text);
}

/* musl has no other locale. */
size_t
strftime_l(char *restrict at, size_t room, const char *restrict format, const Time *restrict time, void *locale)
{
  (void)locale;
  return strftime(at, room, format, time);
}

/* musl's own name. */
size_t __strftime_l(char *restrict at, size_t room, const char *restrict format, const Time *restrict time, void *locale)
  __attribute__((weak, alias("strftime_l")));

/* A conversion in letters of ASCII, of which wide text has them; more than this is none that anybody means. */
enum { CONVERSION = 40 };

/* Copies a conversion: its sign, flags, width and modifier, and its letter. Returns how many letters that are; 0 if one of them is not
 * of ASCII. */
static size_t
narrow(char *conversion, const wchar_t *format)
{
  size_t size = 0;
  while (size < CONVERSION - 1 && format[size] > 0 && format[size] < 127) {
    conversion[size] = (char)format[size];
    size++;
  }
  conversion[size] = 0;
  Field field;
  const char *const letter = read_field(&field, conversion + 1);
  if (!*letter && format[letter - conversion]) return 0;
  size = (size_t)(letter - conversion) + (*letter != 0);
  conversion[size] = 0;
  return size;
}

size_t
wcsftime(wchar_t *restrict at, size_t room, const wchar_t *restrict format, const Time *restrict time)
{
  Text text = {.wide = at, .room = room};
  while (*format) {
    char conversion[CONVERSION];
    const size_t size = *format == '%' ? narrow(conversion, format) : 0;
    if (size) write_time(&text, conversion, time);
    else if (has_room(&text, 1)) at[text.size++] = *format;
    format += size ? size : 1;
  }
  return finished(&text);
}

size_t
wcsftime_l(wchar_t *restrict at, size_t room, const wchar_t *restrict format, const Time *restrict time, void *locale)
{
  (void)locale;
  return wcsftime(at, room, format, time);
}

size_t __wcsftime_l(wchar_t *restrict at, size_t room, const wchar_t *restrict format, const Time *restrict time, void *locale)
  __attribute__((weak, alias("wcsftime_l")));
