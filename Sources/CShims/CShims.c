#define _GNU_SOURCE
#include "CShims.h"
#include <fcntl.h>
#include <pthread.h>
#include <string.h>
#include <sys/socket.h>

void shim_name_this_thread(const char *name) {
    char kept[16] = {0};
    strncpy(kept, name, sizeof kept - 1);
    pthread_setname_np(pthread_self(), kept);
}

int shim_open_place(const char *path) {
    return open(path, O_PATH | O_NOFOLLOW | O_CLOEXEC);
}

int shim_accept(int listening) {
    return accept4(listening, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
}
