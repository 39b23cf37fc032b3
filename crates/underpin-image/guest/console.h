/* Frames over a console that the kernel writes to as well: one line for each, a mark, then the bytes as hexadecimal digits and
 * their sum. Whatever has no mark is the kernel's; a line with another sum was mixed with one. */

enum way { BY_PORT, BY_CONSOLE, ALONE };
static enum way way = BY_PORT;

#define MARK "~underpin "
static unsigned char line[sizeof MARK + 2 * (8 + PIECE) + 16];

/* Ways that the kernel's command line names; it was given by whoever started the kernel. */
static void choose_way(void) {
    static const char word[] = "underpin_port=";
    char text[4096];
    int file = open_file("/proc/cmdline", O_RDONLY);
    i64 got = file < 0 ? 0 : read_some(file, text, sizeof text);
    if (file >= 0) close_file(file);
    for (i64 at = 0; at + (i64)sizeof word <= got; at++) {
        if (!same(text + at, word, sizeof word - 1)) continue;
        way = text[at + (i64)sizeof word - 1] == 'c' ? BY_CONSOLE : ALONE;
    }
}

static unsigned char *hex(unsigned char *to, const void *from, u64 size, u32 *sum) {
    static const char digits[] = "0123456789abcdef";
    for (const unsigned char *at = from; size--; at++) {
        *to++ = (unsigned char)digits[*at >> 4];
        *to++ = (unsigned char)digits[*at & 15];
        *sum = (*sum ^ *at) * 16777619u;
    }
    return to;
}

static void send_all(const void *from, u64 size);

static void send_line(const void *head, u64 head_size, const void *payload, u32 size) {
    u32 sum = 2166136261u, ignored = 0;
    unsigned char *at = line;
    *at++ = '\n';
    memcpy(at, MARK, sizeof MARK - 1);
    at = hex(at + sizeof MARK - 1, head, head_size, &sum);
    at = hex(at, payload, size, &sum);
    unsigned char bytes[4];
    memcpy(bytes, &sum, 4);
    at = hex(at, bytes, 4, &ignored);
    *at++ = '\n';
    send_all(line, (u64)(at - line));
}

/* Every byte as it is, none sent back; the kernel keeps to itself what is less than a panic. */
static void open_console(void) {
    struct termios settings;
    int level = open_file("/proc/sys/kernel/printk", O_WRONLY);
    if (level >= 0) {
        system_call(SYS_write, level, (i64) "1\n", 2, 0, 0, 0);
        close_file(level);
    }
    port = open_file("/dev/console", O_RDWR | O_NOCTTY);
    if (port < 0 || system_call(SYS_ioctl, port, TCGETS, (i64)&settings, 0, 0, 0)) die("the console is no terminal");
    settings.input = 0;
    settings.output = 0;
    settings.local = 0;
    settings.characters[VMIN] = 1;
    settings.characters[VTIME] = 0;
    system_call(SYS_ioctl, port, TCSETS, (i64)&settings, 0, 0, 0);
}
