/* A root on a disk: the modules that find it are in the initramfs in the order of loading, and a file there has the
 * identifier of the file system. Names of disks differ between a board and its emulator; the identifier does not. */

#define DISK "/.underpin/disk"
#define DISK_PATIENCE_MS 20000

static int has_disk;
static char *own_command[17];
static char own_text[4096];

static void say(const char *what, const char *name) {
    int console = open_file("/dev/console", O_WRONLY);
    char text[512];
    char *end = append(text, "underpin-init: ");
    end = append(append(append(end, name), what), "\n");
    system_call(SYS_write, console, (i64)text, end - text, 0, 0, 0);
    if (console >= 0) close_file(console);
}

static void load_modules(void) {
    char path[] = "/.underpin/modules/00";
    for (int number = 0; number < 100; number++) {
        path[sizeof path - 3] = (char)('0' + number / 10);
        path[sizeof path - 2] = (char)('0' + number % 10);
        int file = open_file(path, O_RDONLY);
        if (file < 0) return;
        i64 result = system_call(SYS_finit_module, file, (i64) "", 0, 0, 0, 0);
        close_file(file);
        if (result < 0 && result != -EEXIST) say(": the kernel does not take this module", path);
    }
}

/* Whether a file system of ext4 with this identifier is on a block device. */
static int has_identifier(const char *path, const unsigned char *wanted) {
    unsigned char block[1024];
    int file = open_file(path, O_RDONLY);
    if (file < 0) return 0;
    i64 got = system_call(SYS_pread64, file, (i64)block, sizeof block, 1024, 0, 0);
    close_file(file);
    return got == sizeof block && block[56] == 0x53 && block[57] == 0xef && same((char *)block + 104, (char *)wanted, 16);
}

static int try_disk(const unsigned char *wanted) {
    int directory = open_file("/sys/class/block", O_RDONLY | O_DIRECTORY), found = 0;
    if (directory < 0) return 0;
    i64 got;
    while (!found && (got = system_call(SYS_getdents64, directory, (i64)piece, PIECE, 0, 0, 0)) > 0) {
        for (i64 at = 0; at < got && !found;) {
            struct entry *entry = (struct entry *)(piece + at);
            at += entry->record_size;
            char path[320];
            if (entry->name[0] == '.' || length(entry->name) > 255) continue;
            *append(append(path, "/dev/"), entry->name) = 0;
            found = has_identifier(path, wanted) &&
                    system_call(SYS_mount, (i64)path, (i64)DISK, (i64) "ext4", 0, 0, 0) == 0;
        }
    }
    close_file(directory);
    return found;
}

/* The words of the image's command, each with a NUL byte at its end. */
static void keep_command(void) {
    int file = open_file("/.underpin/command", O_RDONLY);
    i64 got = file < 0 ? 0 : read_some(file, own_text, sizeof own_text - 1);
    if (file >= 0) close_file(file);
    int words = 0;
    for (i64 at = 0; at < got && words < 16; at += (i64)length(own_text + at) + 1) own_command[words++] = own_text + at;
}

static void enter_root(void) {
    static const char *const mounted[] = {"/dev", "/proc", "/sys"};
    unsigned char wanted[16];
    int file = open_file("/.underpin/root", O_RDONLY);
    if (file < 0) return;
    i64 got = read_some(file, wanted, sizeof wanted);
    close_file(file);
    keep_command();
    system_call(SYS_mkdirat, AT_FDCWD, (i64)DISK, 0755, 0, 0, 0);
    for (int waited = 0; got == sizeof wanted && !has_disk; waited += 5) {
        has_disk = try_disk(wanted);
        if (!has_disk && waited >= DISK_PATIENCE_MS) break;
        if (!has_disk) pause_ms(5);
    }
    if (!has_disk) die("no disk has the root file system of this image");
    for (int i = 0; i < 3; i++) {
        char to[64];
        *append(append(to, DISK), mounted[i]) = 0;
        system_call(SYS_mount, (i64)mounted[i], (i64)to, 0, MS_MOVE, 0, 0);
    }
    system_call(SYS_chdir, (i64)DISK, 0, 0, 0, 0, 0);
    if (system_call(SYS_mount, (i64) ".", (i64) "/", 0, MS_MOVE, 0, 0) || system_call(SYS_chroot, (i64) ".", 0, 0, 0, 0, 0))
        die("the root file system cannot be entered");
    system_call(SYS_chdir, (i64) "/", 0, 0, 0, 0, 0);
}
