/* From TZ to a file or a rule. */

/* Puts a folder and a name together; false if they are too long. */
static bool
joined(const char *folder, const char *name, char into[LONGEST_PATH])
{
  const size_t first = length(folder), second = length(name);
  if (first + 1 + second >= LONGEST_PATH) return false;
  for (size_t at = 0; at < first; at++) into[at] = folder[at];
  into[first] = '/';
  for (size_t at = 0; at <= second; at++) into[first + 1 + at] = name[at];
  return true;
}

static bool
read_path(const char *path)
{
  File *const file = &zone->file;
  file->bytes = __map_file(path, &file->size);
  if (!file->bytes) return false;
  if (read_file(file)) return true;
  call(SYS_MUNMAP, (long)file->bytes, (long)file->size, 0, 0, 0, 0);
  return false;
}

/* May a program with more rights than its user have this file? It must not be told which one to open. */
static bool
is_harmless(const char *name)
{
  if (is_same(name, "/etc/localtime", sizeof "/etc/localtime")) return true;
  for (const char *at = name; *at; at++)
    if (at[0] == '.' && at[1] == '.') return false;
  return *name != '/' || is_same(name, "/usr/share/zoneinfo/", length("/usr/share/zoneinfo/"));
}

static bool
find_file(const char *name)
{
  static const char FOLDERS[] = "/usr/share/zoneinfo\0/share/zoneinfo\0/etc/zoneinfo\0";
  const bool is_trusted = !issetugid();
  if (!is_trusted && !is_harmless(name)) return false;
  if (*name == '/') return read_path(name);
  char path[LONGEST_PATH];
  const char *const own = is_trusted ? getenv("TZDIR") : NULL;
  if (own && *own) return joined(own, name, path) && read_path(path);
  for (const char *folder = FOLDERS; *folder; folder += length(folder) + 1)
    if (joined(folder, name, path) && read_path(path)) return true;
  return false;
}

/* TZ of the environment, or NULL. It is asked for with each conversion, and getenv takes longer than the rest of it. */
static const char *
environment(void)
{
  for (char **entry = __environ; entry && *entry; entry++)
    if (is_same(*entry, "TZ=", 3)) return *entry + 3;
  return NULL;
}

/* Reads TZ if it is another one than before. */
static void
refresh(void)
{
  if (!zone && !(zone = page())) return;
  const char *text = environment();
  if (!text) text = "/etc/localtime";
  else if (!*text) text = "Universal";
  text += *text == ':';
  const size_t size = length(text) + 1;
  if (zone->is_read && size <= LONGEST_TZ && is_same(zone->text, text, size)) return;
  if (zone->has_file) call(SYS_MUNMAP, (long)zone->file.bytes, (long)zone->file.size, 0, 0, 0, 0);
  zone->is_read = size <= LONGEST_TZ;
  for (size_t at = 0; zone->is_read && at < size; at++) zone->text[at] = text[at];
  zone->has_file = *text && find_file(text);
  if (zone->has_file) return;
  /* Without a file, these mean universal time. */
  const bool is_universal = !*text || is_same(text, "/etc/localtime", sizeof "/etc/localtime") || is_same(text, "Universal", sizeof "Universal");
  read_rule(is_universal ? "UTC0" : text, &zone->rule);
}
