#ifdef __linux__
#define _GNU_SOURCE
#endif
#include "CLodgeAgent.h"

#include <errno.h>
#include <fcntl.h>
#ifdef __linux__
#include <link.h>
#endif
#ifdef __GLIBC__
#include <malloc.h>
#endif
#include <signal.h>
#include <spawn.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>
#ifdef __linux__
#include <sys/prctl.h>
#include <sys/timerfd.h>
#endif
#ifdef __APPLE__
#include <launch.h>
#include <mach-o/dyld.h>
#include <stdlib.h>
#endif

#ifdef MSG_NOSIGNAL
#define SEND_FLAGS MSG_NOSIGNAL
#else
#define SEND_FLAGS 0
#endif

void lodge_agent_protect_process(void) {
    struct rlimit none = {0, 0};
    setrlimit(RLIMIT_CORE, &none);
#ifdef __linux__
    prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
#endif
}

#ifdef __linux__
static int release_code(struct dl_phdr_info *object, size_t size, void *context) {
    (void)size, (void)context;
    for (int index = 0; index < object->dlpi_phnum; index++) {
        const ElfW(Phdr) *segment = &object->dlpi_phdr[index];
        if (segment->p_type != PT_LOAD || segment->p_flags & PF_W) continue;
        uintptr_t start = (object->dlpi_addr + segment->p_vaddr) & ~(uintptr_t)4095;
        madvise((void *)start, object->dlpi_addr + segment->p_vaddr + segment->p_memsz - start, MADV_DONTNEED);
    }
    return 0;
}
#endif

void lodge_agent_release_memory(void) {
#ifdef __linux__
    dl_iterate_phdr(release_code, NULL);
#endif
#ifdef __GLIBC__
    malloc_trim(0);
#endif
}

static int prepared(int descriptor) {
    if (descriptor < 0) return -1;
    fcntl(descriptor, F_SETFD, FD_CLOEXEC);
#ifdef SO_NOSIGPIPE
    int on = 1;
    setsockopt(descriptor, SOL_SOCKET, SO_NOSIGPIPE, &on, sizeof on);
#endif
    return descriptor;
}

// Opens a socket and binds or connects it to the path.
static int open_socket(const char *path, int (*attach)(int, const struct sockaddr *, socklen_t)) {
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    if (strlen(path) >= sizeof address.sun_path) {
        errno = ENAMETOOLONG;
        return -1;
    }
    strcpy(address.sun_path, path);
    int descriptor = prepared(socket(AF_UNIX, SOCK_STREAM, 0));
    if (descriptor < 0 || attach(descriptor, (struct sockaddr *)&address, sizeof address) == 0) return descriptor;
    int error = errno;
    close(descriptor);
    errno = error;
    return -1;
}

int lodge_agent_connect(const char *path) { return open_socket(path, connect); }

int lodge_agent_listen(const char *path) {
    mode_t before = umask(0177);
    int descriptor = open_socket(path, bind);
    umask(before);
    if (descriptor >= 0) listen(descriptor, 128);
    return descriptor;
}

void lodge_agent_make_nonblocking(int descriptor) {
    fcntl(descriptor, F_SETFL, fcntl(descriptor, F_GETFL) | O_NONBLOCK);
}

void lodge_agent_make_blocking(int descriptor) {
    fcntl(descriptor, F_SETFL, fcntl(descriptor, F_GETFL) & ~O_NONBLOCK);
}

int lodge_agent_accept(int socket) {
#ifdef __linux__
    return accept4(socket, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
#else
    int descriptor = prepared(accept(socket, NULL, NULL));
    if (descriptor >= 0) lodge_agent_make_nonblocking(descriptor);
    return descriptor;
#endif
}

int lodge_agent_pair(int sockets[2]) {
    if (socketpair(AF_UNIX, SOCK_STREAM, 0, sockets) != 0) return -1;
    prepared(sockets[0]);
    prepared(sockets[1]);
    return 0;
}

bool lodge_agent_is_listening(int socket) {
    int value = 0;
    socklen_t size = sizeof value;
    if (getsockopt(socket, SOL_SOCKET, SO_TYPE, &value, &size) != 0 || value != SOCK_STREAM) return false;
    size = sizeof value;
    return getsockopt(socket, SOL_SOCKET, SO_ACCEPTCONN, &value, &size) == 0 && value != 0;
}

int lodge_agent_launchd_socket(void) {
#ifdef __APPLE__
    int *descriptors = NULL;
    size_t count = 0;
    // The name of the socket in the property list.
    if (launch_activate_socket("agent", &descriptors, &count) != 0) return -1;
    int first = count > 0 ? descriptors[0] : -1;
    for (size_t index = 1; index < count; index++) close(descriptors[index]);
    free(descriptors);
    return first;
#else
    return -1;
#endif
}

int64_t lodge_agent_peer_user(int socket, pid_t *process) {
#ifdef __linux__
    struct ucred peer;
    socklen_t size = sizeof peer;
    if (getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &peer, &size) != 0) return -1;
    if (process) *process = peer.pid;
    return (int64_t)peer.uid;
#else
    uid_t user;
    gid_t group;
    if (process) *process = 0;
    return getpeereid(socket, &user, &group) == 0 ? (int64_t)user : -1;
#endif
}

#define DESCRIPTOR_LIMIT 4

ssize_t lodge_agent_send(int socket, const void *bytes, size_t count, const int *descriptors, int descriptor_count) {
    if (descriptor_count > DESCRIPTOR_LIMIT) {
        errno = EINVAL;
        return -1;
    }
    union {
        struct cmsghdr header;
        char space[CMSG_SPACE(sizeof(int) * DESCRIPTOR_LIMIT)];
    } control;
    struct iovec content = {(void *)bytes, count};
    struct msghdr message = {.msg_iov = &content, .msg_iovlen = 1};
    if (descriptor_count > 0) {
        memset(&control, 0, sizeof control);
        message.msg_control = control.space;
        message.msg_controllen = CMSG_SPACE(sizeof(int) * descriptor_count);
        struct cmsghdr *header = CMSG_FIRSTHDR(&message);
        header->cmsg_level = SOL_SOCKET;
        header->cmsg_type = SCM_RIGHTS;
        header->cmsg_len = CMSG_LEN(sizeof(int) * descriptor_count);
        memcpy(CMSG_DATA(header), descriptors, sizeof(int) * descriptor_count);
    }
    ssize_t sent;
    do sent = sendmsg(socket, &message, SEND_FLAGS);
    while (sent < 0 && errno == EINTR);
    return sent;
}

ssize_t lodge_agent_send_two(int socket, const void *first, size_t first_count, const void *second, size_t second_count) {
    struct iovec content[] = {{(void *)first, first_count}, {(void *)second, second_count}};
    struct msghdr message = {.msg_iov = content, .msg_iovlen = 2};
    ssize_t sent;
    do sent = sendmsg(socket, &message, SEND_FLAGS);
    while (sent < 0 && errno == EINTR);
    return sent;
}

ssize_t lodge_agent_receive(int socket, void *bytes, size_t count, int *descriptors, int *descriptor_count, bool peek) {
    union {
        struct cmsghdr header;
        char space[CMSG_SPACE(sizeof(int) * DESCRIPTOR_LIMIT)];
    } control;
    struct iovec content = {bytes, count};
    struct msghdr message = {.msg_iov = &content, .msg_iovlen = 1};
    // Without space for them, the kernel discards the descriptors of a message that is only looked at.
    if (!peek) {
        message.msg_control = control.space;
        message.msg_controllen = sizeof control.space;
    }
    *descriptor_count = 0;
    ssize_t received;
    do received = recvmsg(socket, &message, peek ? MSG_PEEK : 0);
    while (received < 0 && errno == EINTR);
    if (received < 0 || peek) return received;
    for (struct cmsghdr *header = CMSG_FIRSTHDR(&message); header; header = CMSG_NXTHDR(&message, header)) {
        if (header->cmsg_level != SOL_SOCKET || header->cmsg_type != SCM_RIGHTS) continue;
        int found = (int)((header->cmsg_len - CMSG_LEN(0)) / sizeof(int));
        int *numbers = (int *)CMSG_DATA(header);
        for (int index = 0; index < found; index++) {
            if (*descriptor_count < DESCRIPTOR_LIMIT) {
                fcntl(numbers[index], F_SETFD, FD_CLOEXEC);
                descriptors[(*descriptor_count)++] = numbers[index];
            } else {
                close(numbers[index]);
            }
        }
    }
    return received;
}

static double seconds(clockid_t clock) {
    struct timespec time;
    clock_gettime(clock, &time);
    return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

double lodge_agent_uptime(void) {
#ifdef __linux__
    return seconds(CLOCK_BOOTTIME);
#else
    return seconds(CLOCK_MONOTONIC);
#endif
}

double lodge_agent_awake_time(void) {
#ifdef CLOCK_UPTIME_RAW
    return seconds(CLOCK_UPTIME_RAW);
#else
    return seconds(CLOCK_MONOTONIC);
#endif
}

double lodge_agent_wall_time(void) { return seconds(CLOCK_REALTIME); }

int lodge_agent_timer(void) {
#ifdef __linux__
    return timerfd_create(CLOCK_BOOTTIME, TFD_CLOEXEC | TFD_NONBLOCK);
#else
    return -1;
#endif
}

void lodge_agent_set_timer(int timer, double uptime) {
#ifdef __linux__
    struct itimerspec value = {{0, 0}, {0, 0}};
    value.it_value.tv_sec = (time_t)uptime;
    value.it_value.tv_nsec = (long)((uptime - (double)value.it_value.tv_sec) * 1e9);
    timerfd_settime(timer, TFD_TIMER_ABSTIME, &value, NULL);
#else
    (void)timer;
    (void)uptime;
#endif
}

int lodge_agent_clock_timer(void) {
#ifdef __linux__
    int timer = timerfd_create(CLOCK_REALTIME, TFD_CLOEXEC | TFD_NONBLOCK);
    lodge_agent_watch_clock(timer);
    return timer;
#else
    return -1;
#endif
}

void lodge_agent_watch_clock(int timer) {
#ifdef __linux__
    // The year 2100: the timer only reports that the clock was set.
    struct itimerspec value = {{0, 0}, {4102444800, 0}};
    timerfd_settime(timer, TFD_TIMER_ABSTIME | TFD_TIMER_CANCEL_ON_SET, &value, NULL);
#else
    (void)timer;
#endif
}

void *lodge_agent_map_secret(size_t count) {
    void *bytes = mmap(NULL, count, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANON, -1, 0);
    if (bytes == MAP_FAILED) return NULL;
    if (mlock(bytes, count) != 0) {
        munmap(bytes, count);
        return NULL;
    }
#ifdef MADV_DONTDUMP
    madvise(bytes, count, MADV_DONTDUMP);
#endif
    return bytes;
}

void lodge_agent_erase(void *bytes, size_t count) {
    volatile unsigned char *next = bytes;
    while (count-- > 0) *next++ = 0;
}

pid_t lodge_agent_start(
    const char *path, char *const arguments[], char *const environment[], const int *descriptors, int count) {
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    posix_spawn_file_actions_init(&actions);
    posix_spawnattr_init(&attributes);
    for (int stream = 0; stream < 3; stream++)
        posix_spawn_file_actions_addopen(&actions, stream, "/dev/null", O_RDWR, 0);
    int copies[DESCRIPTOR_LIMIT];
    for (int index = 0; index < count; index++) {
        // A descriptor that already has its new number would stay closed on exec.
        copies[index] = fcntl(descriptors[index], F_DUPFD_CLOEXEC, 10);
        posix_spawn_file_actions_adddup2(&actions, copies[index], 3 + index);
    }
#if defined(__GLIBC__) && __GLIBC_PREREQ(2, 34)
    // Descriptors of a program that started lodge.
    posix_spawn_file_actions_addclosefrom_np(&actions, 3 + count);
#endif
    sigset_t signals;
    sigemptyset(&signals);
    posix_spawnattr_setsigmask(&attributes, &signals);
    // The agent ignores them.
    sigaddset(&signals, SIGPIPE);
    sigaddset(&signals, SIGCHLD);
    posix_spawnattr_setsigdefault(&attributes, &signals);
    short flags = POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF;
#ifdef POSIX_SPAWN_SETSID
    // Ctrl-C in the terminal that started the agent must not reach the program.
    flags |= POSIX_SPAWN_SETSID;
#endif
    posix_spawnattr_setflags(&attributes, flags);
    pid_t process = -1;
    int error = posix_spawnp(&process, path, &actions, &attributes, arguments, environment);
    posix_spawn_file_actions_destroy(&actions);
    posix_spawnattr_destroy(&attributes);
    for (int index = 0; index < count; index++) close(copies[index]);
    if (error == 0) return process;
    errno = error;
    return -1;
}

// The connection of the client, and the number of SIGINT signals.
static int signal_socket = -1;
static volatile sig_atomic_t interrupts = 0;
static volatile sig_atomic_t first_signal = 0;

// Sends a line such as {"signal":15}. Calls only functions that a signal handler may call.
static void forward_signal(int number) {
    if (number == SIGINT && ++interrupts > 2) _exit(128 + SIGINT);
    if (first_signal == 0) first_signal = number;
    int error = errno;
    char line[] = "{\"signal\":00}\n";
    line[10] = (char)('0' + number / 10);
    line[11] = (char)('0' + number % 10);
    // JSON has no leading zero.
    if (number < 10) memmove(line + 10, line + 11, sizeof line - 11);
    (void)send(signal_socket, line, strlen(line), SEND_FLAGS);
    errno = error;
}

static const int ending_signals[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGALRM, SIGUSR1, SIGUSR2, SIGXCPU};

static void handle_signals(void (*handler)(int)) {
    for (size_t index = 0; index < sizeof ending_signals / sizeof *ending_signals; index++) {
        struct sigaction action, before;
        sigaction(ending_signals[index], NULL, &before);
        // As in the command itself: only SIGINT is handled even if the caller ignored it.
        if (before.sa_handler == SIG_IGN && ending_signals[index] != SIGINT) continue;
        memset(&action, 0, sizeof action);
        action.sa_handler = handler;
        sigemptyset(&action.sa_mask);
        action.sa_flags = SA_RESTART;
        sigaction(ending_signals[index], &action, NULL);
    }
}

void lodge_agent_forward_signals(int socket) {
    signal_socket = socket;
    handle_signals(forward_signal);
}

int lodge_agent_end_forwarding(void) {
    handle_signals(SIG_DFL);
    return first_signal;
}

static void write_signal(int number) {
    int error = errno;
    char byte = (char)number;
    (void)!write(signal_socket, &byte, 1);
    errno = error;
}

int lodge_agent_signal_pipe(void) {
    int ends[2];
    if (pipe(ends) != 0) return -1;
    for (int index = 0; index < 2; index++) {
        fcntl(ends[index], F_SETFD, FD_CLOEXEC);
        lodge_agent_make_nonblocking(ends[index]);
    }
    signal_socket = ends[1];
    handle_signals(write_signal);
    signal(SIGPIPE, SIG_IGN);
    // The system removes ended workers itself.
    signal(SIGCHLD, SIG_IGN);
    return ends[0];
}

int64_t lodge_agent_program_path(char *path, size_t size) {
#ifdef __linux__
    return readlink("/proc/self/exe", path, size);
#else
    uint32_t count = (uint32_t)size;
    return _NSGetExecutablePath(path, &count) == 0 ? (int64_t)strlen(path) : -1;
#endif
}

void lodge_agent_set_receive_limit(int socket, int seconds) {
    struct timeval limit = {seconds, 0};
    setsockopt(socket, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
}
