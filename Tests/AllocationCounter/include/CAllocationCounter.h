#ifndef CARILLON_CALLOCATIONCOUNTER_H
#define CARILLON_CALLOCATIONCOUNTER_H

/// How often the calling thread has allocated memory so far: calls of malloc, calloc, realloc and their aligned
/// siblings, by whatever library. Two readings on one thread tell what lay between them.
long allocations_of_this_thread(void);

#endif
