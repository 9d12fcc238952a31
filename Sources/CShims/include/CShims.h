#ifndef CARILLON_CSHIMS_H
#define CARILLON_CSHIMS_H

// Headers that Swift's Glibc module leaves out.
#include <sys/epoll.h>
#include <sys/eventfd.h>

/// Names the calling thread. `pthread_setname_np` hides behind _GNU_SOURCE, which Swift's Glibc module does not set.
/// `name` is cut at 15 bytes.
void shim_name_this_thread(const char *name);

/// accept4 with SOCK_NONBLOCK and SOCK_CLOEXEC; it too hides behind _GNU_SOURCE. -1 and errno on failure.
int shim_accept(int listening);

#endif
