/* The first process of a guest. If the image's root is on a disk, it finds and enters it (disk.h). Then it asks the host what
 * to run, over the virtio port named "underpin.0", runs it, sends back what it wrote and used, and turns the machine off. The
 * console is the kernel's: nothing here writes to it but what leads to a panic. On a board without virtio the frames go over
 * the console (console.h); without a host the image's own command runs on it.
 *
 * No C library: system calls only, so that the same file serves every image. The protocol is src/protocol.rs. */

#include "kernel.h"

#define PORT_NAME "underpin.0\n"
#define PORT_DIRECTORY "/sys/class/virtio-ports"
#define PORT_PATIENCE_MS 20000
#define FAREWELL_MS 10000
#define REQUEST_LIMIT (64u << 20)
#define PIECE 65536

enum channel { HELLO = 0, OUT = 1, ERR = 2, STATUS = 3, FILE_BEGIN = 4, FILE_DATA = 5, FILE_END = 6, END = 7 };

static int port = -1;
static unsigned char piece[PIECE];

/* The text of the request, and where its parts begin. */
struct request {
    unsigned char *at, *end;
    char **arguments, **environment, **files;
    char *directory;
    u32 file_count;
};

/* ---- small parts of a C library ---- */

void *memcpy(void *to, const void *from, u64 size) {
    unsigned char *t = to;
    const unsigned char *f = from;
    while (size--) *t++ = *f++;
    return to;
}

void *memset(void *to, int value, u64 size) {
    unsigned char *t = to;
    while (size--) *t++ = (unsigned char)value;
    return to;
}

static u64 length(const char *text) {
    u64 size = 0;
    while (text[size]) size++;
    return size;
}

static int same(const char *a, const char *b, u64 size) {
    for (u64 i = 0; i < size; i++)
        if (a[i] != b[i]) return 0;
    return 1;
}

static char *append(char *to, const char *text) {
    while (*text) *to++ = *text++;
    return to;
}

static char *append_number(char *to, i64 number) {
    char digits[24];
    int count = 0;
    u64 rest = number < 0 ? 0 - (u64)number : (u64)number;
    if (number < 0) *to++ = '-';
    do {
        digits[count++] = (char)('0' + rest % 10);
        rest /= 10;
    } while (rest);
    while (count) *to++ = digits[--count];
    return to;
}

static char *append_field(char *to, const char *name, i64 number) {
    to = append(to, "\"");
    to = append(to, name);
    to = append(to, "\":");
    to = append_number(to, number);
    return append(to, ",");
}

static void *memory(u64 size) {
    i64 at = system_call(SYS_mmap, 0, (i64)size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return at < 0 && at > -4096 ? 0 : (void *)at;
}

static void pause_ms(i64 milliseconds) {
    struct timespec time = {milliseconds / 1000, milliseconds % 1000 * 1000000};
    system_call(SYS_nanosleep, (i64)&time, 0, 0, 0, 0, 0);
}

static i64 now_us(void) {
    struct timespec time;
    system_call(SYS_clock_gettime, CLOCK_MONOTONIC, (i64)&time, 0, 0, 0, 0);
    return time.seconds * 1000000 + time.nanoseconds / 1000;
}

static int open_file(const char *path, int flags) {
    return (int)system_call(SYS_openat, AT_FDCWD, (i64)path, flags | O_CLOEXEC, 0, 0, 0);
}

static void close_file(int file) { system_call(SYS_close, file, 0, 0, 0, 0, 0); }

static i64 read_some(int file, void *to, u64 size) {
    i64 got;
    do got = system_call(SYS_read, file, (i64)to, (i64)size, 0, 0, 0);
    while (got == -EINTR);
    return got;
}

/* Ends the machine: a first process that ends makes the kernel panic, and panic=-1 makes it restart, which is the end of an
 * emulator started with -no-reboot. The text is then the last line of the console. */
static void die(const char *why) {
    int console = open_file("/dev/console", O_WRONLY);
    system_call(SYS_write, console, (i64) "\nunderpin-init: ", 16, 0, 0, 0);
    system_call(SYS_write, console, (i64)why, (i64)length(why), 0, 0, 0);
    system_call(SYS_write, console, (i64) "\n", 1, 0, 0, 0);
    for (;;) system_call(SYS_exit_group, 1, 0, 0, 0, 0, 0);
}

/* ---- the port ---- */

#include "console.h"

static void send_all(const void *from, u64 size) {
    const unsigned char *at = from;
    while (size) {
        i64 sent = system_call(SYS_write, port, (i64)at, (i64)size, 0, 0, 0);
        if (sent == -EINTR) continue;
        if (sent <= 0) die("the port to the host does not take what is written to it");
        at += sent;
        size -= (u64)sent;
    }
}

static void send_frame(enum channel channel, const void *payload, u32 size) {
    unsigned char head[8] = {(unsigned char)channel, 0, 0, 0};
    memcpy(head + 4, &size, 4);
    if (way == BY_CONSOLE) {
        send_line(head, sizeof head, payload, size);
        return;
    }
    send_all(head, sizeof head);
    send_all(payload, size);
}

static void receive_all(void *to, u64 size) {
    unsigned char *at = to;
    while (size) {
        i64 got = read_some(port, at, size);
        if (got == 0) {
            /* The host has not connected yet. */
            pause_ms(1);
            continue;
        }
        if (got < 0) die("the port to the host cannot be read from");
        at += got;
        size -= (u64)got;
    }
}

/* Whether the port that an entry of PORT_DIRECTORY stands for has our name. */
static int is_ours(const char *entry) {
    char path[320], name[32];
    if (length(entry) > 255) return 0;
    char *end = append(path, PORT_DIRECTORY "/");
    end = append(end, entry);
    *append(end, "/name") = 0;
    int file = open_file(path, O_RDONLY);
    if (file < 0) return 0;
    i64 got = read_some(file, name, sizeof name);
    close_file(file);
    return got == sizeof PORT_NAME - 1 && same(name, PORT_NAME, sizeof PORT_NAME - 1);
}

static int try_port(void) {
    int directory = open_file(PORT_DIRECTORY, O_RDONLY | O_DIRECTORY), found = -1;
    if (directory < 0) return -1;
    i64 got;
    while (found < 0 && (got = system_call(SYS_getdents64, directory, (i64)piece, PIECE, 0, 0, 0)) > 0) {
        for (i64 at = 0; at < got && found < 0;) {
            struct entry *entry = (struct entry *)(piece + at);
            at += entry->record_size;
            if (entry->name[0] == '.' || !is_ours(entry->name)) continue;
            char path[320];
            *append(append(path, "/dev/"), entry->name) = 0;
            found = open_file(path, O_RDWR);
        }
    }
    close_file(directory);
    return found;
}

static void find_port(void) {
    for (int waited = 0; waited < PORT_PATIENCE_MS; waited++) {
        port = try_port();
        if (port >= 0) return;
        pause_ms(1);
    }
    die("no virtio port named underpin.0");
}

/* ---- the request ---- */

static u32 take_number(struct request *request) {
    u32 number;
    if (request->end - request->at < 4) die("the request of the host is cut off");
    memcpy(&number, request->at, 4);
    request->at += 4;
    return number;
}

/* A text, of which the sender counts the NUL byte at its end too. */
static char *take_text(struct request *request) {
    u32 size = take_number(request);
    char *text = (char *)request->at;
    if (size == 0 || (u64)(request->end - request->at) < size || text[size - 1]) die("a text of the request is cut off");
    request->at += size;
    return text;
}

static char **take_list(struct request *request, u32 *count) {
    *count = take_number(request);
    if ((u64)(request->end - request->at) / 4 < *count) die("a list of the request is cut off");
    char **list = memory(((u64)*count + 1) * sizeof(char *));
    if (!list) die("no memory for the request of the host");
    for (u32 i = 0; i < *count; i++) list[i] = take_text(request);
    list[*count] = 0;
    return list;
}

static struct request receive_request(void) {
    struct request request;
    u32 size, count;
    receive_all(&size, 4);
    if (size > REQUEST_LIMIT) die("the request of the host is too large");
    request.at = memory((u64)size + 1);
    if (!request.at) die("no memory for the request of the host");
    receive_all(request.at, size);
    request.end = request.at + size;
    request.directory = take_text(&request);
    request.arguments = take_list(&request, &count);
    if (count == 0) die("the request of the host names no command");
    request.environment = take_list(&request, &count);
    request.files = take_list(&request, &request.file_count);
    return request;
}

/* ---- the command ---- */

static const char *value_of(char **environment, const char *name) {
    u64 size = length(name);
    for (; *environment; environment++)
        if (same(*environment, name, size) && (*environment)[size] == '=') return *environment + size + 1;
    return "/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin";
}

/* Becomes the command, found as execvp(3) does; returns the error number if that fails. */
static int become(struct request *request) {
    char *name = request->arguments[0], path[4352];
    int has_slash = 0, result = ENOENT;
    for (char *at = name; *at; at++) has_slash |= *at == '/';
    if (has_slash) {
        return (int)-system_call(SYS_execve, (i64)name, (i64)request->arguments, (i64)request->environment, 0, 0, 0);
    }
    for (const char *at = value_of(request->environment, "PATH"); *name && *at;) {
        char *end = path;
        while (*at && *at != ':' && end - path < 4000) *end++ = *at++;
        while (*at && *at != ':') at++;
        if (*at == ':') at++;
        *end++ = '/';
        if (length(name) > 255) return ENAMETOOLONG;
        *append(end, name) = 0;
        int error = (int)-system_call(SYS_execve, (i64)path, (i64)request->arguments, (i64)request->environment, 0, 0, 0);
        if (error == EACCES) result = error;
        else if (error != ENOENT && error != ENOTDIR) return error;
    }
    return result;
}

static void start(struct request *request, int out, int err, int failure) {
    u64 none = 0;
    int null = open_file("/dev/null", O_RDONLY);
    system_call(SYS_setsid, 0, 0, 0, 0, 0, 0);
    system_call(SYS_dup3, null, 0, 0, 0, 0, 0);
    system_call(SYS_dup3, out, 1, 0, 0, 0, 0);
    system_call(SYS_dup3, err, 2, 0, 0, 0, 0);
    system_call(SYS_rt_sigprocmask, SIG_SETMASK, (i64)&none, 0, 8, 0, 0);
    int error = (int)-system_call(SYS_chdir, (i64)request->directory, 0, 0, 0, 0, 0);
    if (error == 0) error = become(request);
    system_call(SYS_write, failure, (i64)&error, sizeof error, 0, 0, 0);
    system_call(SYS_exit_group, 127, 0, 0, 0, 0, 0);
}

/* Sends what is in a pipe now; 0 once it has ended. Pipes are read without waiting. */
static int forward(int pipe, enum channel channel) {
    i64 got = read_some(pipe, piece, PIECE);
    if (got > 0) send_frame(channel, piece, (u32)got);
    return got > 0 || got == -EAGAIN;
}

static void drain(int pipe, enum channel channel) {
    i64 got;
    while ((got = read_some(pipe, piece, PIECE)) > 0) send_frame(channel, piece, (u32)got);
}

/* Reaps every child that has ended; 1 if the command is among them. Orphans come to the first process. */
static int reap(i64 command, int *status, struct usage *usage) {
    struct usage of_this;
    int its_status, found = 0;
    for (;;) {
        i64 pid = system_call(SYS_wait4, -1, (i64)&its_status, WNOHANG, (i64)&of_this, 0, 0);
        if (pid <= 0) return found;
        if (pid != command) continue;
        *status = its_status;
        *usage = of_this;
        found = 1;
    }
}

static void send_status(int status, int error, i64 wall, const struct usage *usage) {
    char text[512], *at = append(text, "{");
    at = append_field(at, "status", status);
    at = append_field(at, "exec_errno", error);
    at = append_field(at, "wall_us", wall);
    at = append_field(at, "user_us", usage->user.seconds * 1000000 + usage->user.microseconds);
    at = append_field(at, "system_us", usage->system.seconds * 1000000 + usage->system.microseconds);
    at = append_field(at, "max_rss_kib", usage->max_rss);
    at = append_field(at, "minor_faults", usage->minor_faults);
    at = append_field(at, "major_faults", usage->major_faults);
    at[-1] = '}';
    *at++ = '\n';
    send_frame(STATUS, text, (u32)(at - text));
}

static void run(struct request *request) {
    int out[2], err[2], failure[2], status = 0, error = 0;
    struct usage usage;
    memset(&usage, 0, sizeof usage);
    if (system_call(SYS_pipe2, (i64)out, O_CLOEXEC, 0, 0, 0, 0) || system_call(SYS_pipe2, (i64)err, O_CLOEXEC, 0, 0, 0, 0) ||
        system_call(SYS_pipe2, (i64)failure, O_CLOEXEC, 0, 0, 0, 0))
        die("no pipe for the command");
    /* Our end only: the command's own must wait if it is full. */
    system_call(SYS_fcntl, out[0], F_SETFL, O_NONBLOCK, 0, 0, 0);
    system_call(SYS_fcntl, err[0], F_SETFL, O_NONBLOCK, 0, 0, 0);
    u64 ended_child = 1ull << (SIGCHLD - 1);
    system_call(SYS_rt_sigprocmask, SIG_BLOCK, (i64)&ended_child, 0, 8, 0, 0);
    int ends = (int)system_call(SYS_signalfd4, -1, (i64)&ended_child, 8, SFD_CLOEXEC | SFD_NONBLOCK, 0, 0);
    i64 since = now_us();
    i64 command = system_call(SYS_clone, SIGCHLD, 0, 0, 0, 0, 0);
    if (command == 0) start(request, out[1], err[1], failure[1]);
    if (command < 0 || ends < 0) die("the command cannot be forked");
    close_file(out[1]);
    close_file(err[1]);
    close_file(failure[1]);
    struct pollfd polled[3] = {{ends, POLLIN, 0}, {out[0], POLLIN, 0}, {err[0], POLLIN, 0}};
    for (;;) {
        system_call(SYS_ppoll, (i64)polled, 3, 0, 0, 8, 0);
        if (polled[1].seen && !forward(out[0], OUT)) polled[1].file = -1;
        if (polled[2].seen && !forward(err[0], ERR)) polled[2].file = -1;
        if (polled[0].seen) {
            unsigned char information[128];
            read_some(ends, information, sizeof information);
            if (reap(command, &status, &usage)) break;
        }
    }
    i64 wall = now_us() - since;
    /* What a process that the command left running writes from now on is not the command's. */
    drain(out[0], OUT);
    drain(err[0], ERR);
    if (read_some(failure[0], &error, sizeof error) != sizeof error) error = 0;
    send_status(status, error, wall, &usage);
}

/* ---- files for the host ---- */

static void send_file(u32 index, const char *path) {
    struct {
        u32 index, mode;
        i32 error;
    } begin = {index, 0, 0};
    struct statx status;
    int file = -1;
    begin.error = (i32)-system_call(SYS_statx, AT_FDCWD, (i64)path, 0, STATX_TYPE | STATX_MODE, (i64)&status, 0);
    if (begin.error == 0) {
        begin.mode = status.mode;
        /* Reading a FIFO or a device may never end. */
        if ((status.mode & S_IFMT) != S_IFREG) begin.error = (status.mode & S_IFMT) == S_IFDIR ? EISDIR : EINVAL;
    }
    if (begin.error == 0 && (file = open_file(path, O_RDONLY)) < 0) begin.error = -file;
    send_frame(FILE_BEGIN, &begin, sizeof begin);
    i64 got = 0;
    while (file >= 0 && (got = read_some(file, piece, PIECE)) > 0) send_frame(FILE_DATA, piece, (u32)got);
    i32 error = (i32)-got;
    send_frame(FILE_END, &error, sizeof error);
    if (file >= 0) close_file(file);
}

/* ---- the machine ---- */

static void mount(const char *what, const char *where, const char *kind, const char *options) {
    system_call(SYS_mkdirat, AT_FDCWD, (i64)where, 0755, 0, 0, 0);
    if (system_call(SYS_mount, (i64)what, (i64)where, (i64)kind, 0, (i64)options, 0) < 0 && same(where, "/dev", 5))
        die("the kernel has no devtmpfs");
}

static void link_to(const char *to, const char *path) {
    system_call(SYS_symlinkat, (i64)to, AT_FDCWD, (i64)path, 0, 0, 0);
}

/* The interface lo is there, and down. */
static void loopback_up(void) {
    struct {
        char name[16];
        i16 flags;
        char rest[22];
    } interface = {"lo", IFF_UP, {0}};
    i64 socket = system_call(SYS_socket, AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0, 0, 0, 0);
    system_call(SYS_ioctl, socket, SIOCSIFFLAGS, (i64)&interface, 0, 0, 0);
    if (socket >= 0) close_file((int)socket);
}

#include "disk.h"

static void prepare(void) {
    system_call(SYS_umask, 0, 0, 0, 0, 0, 0);
    mount("devtmpfs", "/dev", "devtmpfs", "mode=0755");
    mount("proc", "/proc", "proc", 0);
    mount("sysfs", "/sys", "sysfs", 0);
    load_modules();
    enter_root();
    choose_way();
    mount("devpts", "/dev/pts", "devpts", "mode=0620,ptmxmode=0666");
    mount("tmpfs", "/dev/shm", "tmpfs", "mode=1777");
    link_to("/proc/self/fd", "/dev/fd");
    link_to("/proc/self/fd/0", "/dev/stdin");
    link_to("/proc/self/fd/1", "/dev/stdout");
    link_to("/proc/self/fd/2", "/dev/stderr");
    loopback_up();
    system_call(SYS_umask, 022, 0, 0, 0, 0, 0);
}

/* What is written to a disk is on it, and its file system is clean. */
static void turn_off(void) {
    system_call(SYS_sync, 0, 0, 0, 0, 0, 0);
    if (has_disk) system_call(SYS_mount, 0, (i64) "/", 0, MS_REMOUNT | MS_RDONLY, 0, 0);
    system_call(SYS_reboot, REBOOT_MAGIC1, REBOOT_MAGIC2, REBOOT_POWER_OFF, 0, 0, 0);
    die("the machine cannot be turned off");
}

/* Without a host: the image's command with the console as its streams. Its name was kept before the root was entered. */
static void run_alone(void) {
    static char *none[] = {0};
    struct request request = {.arguments = own_command, .environment = none, .directory = "/"};
    int console = open_file("/dev/console", O_RDWR), status = 0;
    struct usage usage;
    if (!own_command[0]) die("neither a host nor the image names a command");
    i64 command = system_call(SYS_clone, SIGCHLD, 0, 0, 0, 0, 0);
    if (command == 0) start(&request, console, console, console);
    while (command > 0 && !reap(command, &status, &usage)) pause_ms(10);
    turn_off();
}

void first_process(void) {
    static const char hello[] = "{\"protocol\":1}\n";
    prepare();
    if (way == ALONE) run_alone();
    if (way == BY_CONSOLE) open_console();
    else find_port();
    send_frame(HELLO, hello, sizeof hello - 1);
    struct request request = receive_request();
    run(&request);
    for (u32 i = 0; i < request.file_count; i++) send_file(i, request.files[i]);
    send_frame(END, 0, 0);
    /* The emulator may lose what it has not passed on when the machine goes off: the host says when it has all of it. */
    struct pollfd polled = {port, POLLIN, 0};
    struct timespec patience = {FAREWELL_MS / 1000, 0};
    system_call(SYS_ppoll, (i64)&polled, 1, (i64)&patience, 0, 8, 0);
    turn_off();
}
