#include <libpq-fe.h>
#include <spawn.h>

// glibc has these since 2.29 and 2.34, but shows them with _GNU_SOURCE only, which Swift's Glibc module does not set.
// The private server is started with them: in the folder "/", and without any of our descriptors.
int posix_spawn_file_actions_addchdir_np(posix_spawn_file_actions_t *actions, const char *path);
int posix_spawn_file_actions_addclosefrom_np(posix_spawn_file_actions_t *actions, int from);
