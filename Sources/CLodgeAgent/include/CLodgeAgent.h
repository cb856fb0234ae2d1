// The system calls of the agent that Swift does not import: variadic functions, macros and structures of one system.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/// Forbids core files and, on Linux, access to the memory by other processes of the user.
void lodge_agent_protect_process(void);
/// Unmaps the code of the program and its libraries, which the system maps again where it runs: most of it ran only at the
/// start. Returns free memory to the system.
void lodge_agent_release_memory(void);

/// Opens a stream socket that is closed on exec and listens on the path. Returns -1 and sets errno on failure.
int lodge_agent_listen(const char *path);
/// Connects to the path. Returns -1 and sets errno on failure.
int lodge_agent_connect(const char *path);
/// Accepts a connection without blocking. Returns -1 and sets errno on failure.
int lodge_agent_accept(int socket);
/// Creates two connected sockets that are closed on exec.
int lodge_agent_pair(int sockets[2]);
/// Returns whether the descriptor is a listening stream socket.
bool lodge_agent_is_listening(int socket);
/// Returns the listening socket that launchd passes, or -1. Other systems have no launchd.
int lodge_agent_launchd_socket(void);
/// Returns the user ID of the other end, or -1 as an error. Stores its process ID, or 0, if `process` is not NULL.
int64_t lodge_agent_peer_user(int socket, pid_t *process);
void lodge_agent_make_nonblocking(int descriptor);
void lodge_agent_make_blocking(int descriptor);

/// Sends bytes, with descriptors attached to the first byte. Raises no SIGPIPE.
ssize_t lodge_agent_send(int socket, const void *bytes, size_t count, const int *descriptors, int descriptor_count);
/// Sends two pieces of memory in one call. Raises no SIGPIPE.
ssize_t lodge_agent_send_two(int socket, const void *first, size_t first_count, const void *second, size_t second_count);
/// Receives bytes and up to 4 descriptors, which are closed on exec. With `peek` the bytes remain in the socket.
ssize_t lodge_agent_receive(int socket, void *bytes, size_t count, int *descriptors, int *descriptor_count, bool peek);

/// Returns the seconds since the system started, including the time of a suspend.
double lodge_agent_uptime(void);
/// Returns the seconds since the system started, without the time of a suspend.
double lodge_agent_awake_time(void);
/// Returns the seconds since 1970.
double lodge_agent_wall_time(void);
/// Creates a timer that also runs during a suspend. Returns -1 if the system has none.
int lodge_agent_timer(void);
/// Sets the timer to a number of uptime seconds. 0 stops it.
void lodge_agent_set_timer(int timer, double uptime);

/// Creates a timer that becomes readable when the clock is set or after a suspend. Returns -1 if the system has none.
int lodge_agent_clock_timer(void);
/// Prepares the timer for the next change.
void lodge_agent_watch_clock(int timer);

/// Maps memory that is neither swapped nor part of a core file. Returns NULL on failure.
void *lodge_agent_map_secret(size_t count);
/// Overwrites memory, even if the compiler could prove that it is not read again.
void lodge_agent_erase(void *bytes, size_t count);

/// Starts a program with this environment; without a slash, it is searched in PATH. The descriptors get the numbers 3 and 4;
/// standard streams are on the null device. Returns the process ID, or -1 as an error.
pid_t lodge_agent_start(
    const char *path, char *const arguments[], char *const environment[], const int *descriptors, int count);

/// Sends the signals that ask a process to end to the agent, unless they are ignored. The third SIGINT ends the process.
void lodge_agent_forward_signals(int socket);
/// Restores the default effect of these signals. Returns the first one that was sent to the agent, or 0.
int lodge_agent_end_forwarding(void);
/// Creates a pipe that receives these signals as bytes. Ignores SIGPIPE and SIGCHLD.
int lodge_agent_signal_pipe(void);

/// Writes the path of this program and returns its length, or -1 as an error.
int64_t lodge_agent_program_path(char *path, size_t size);
/// Limits each wait for bytes. 0 removes the limit.
void lodge_agent_set_receive_limit(int socket, int seconds);
