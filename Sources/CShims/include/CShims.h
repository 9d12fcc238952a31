#ifndef CARILLON_CSHIMS_H
#define CARILLON_CSHIMS_H

// Headers that Swift's Glibc module leaves out.
#include <spawn.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>

/// Names the calling thread. `pthread_setname_np` hides behind _GNU_SOURCE, which Swift's Glibc module does not set.
/// `name` is cut at 15 bytes.
void shim_name_this_thread(const char *name);

/// Opens the file or the symbolic link at a path without reading it: O_PATH and O_NOFOLLOW. O_PATH too hides behind
/// _GNU_SOURCE. -1 and errno on failure.
int shim_open_place(const char *path);

/// accept4 with SOCK_NONBLOCK and SOCK_CLOEXEC; it too hides behind _GNU_SOURCE. -1 and errno on failure.
int shim_accept(int listening);

// glibc has these since 2.29 and 2.34, but shows them with _GNU_SOURCE only, which Swift's Glibc module does not set.
// The private server is started with them: in the folder "/", and without any of our descriptors.
int posix_spawn_file_actions_addchdir_np(posix_spawn_file_actions_t *actions, const char *path);
int posix_spawn_file_actions_addclosefrom_np(posix_spawn_file_actions_t *actions, int from);

#endif
