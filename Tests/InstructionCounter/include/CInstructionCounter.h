#ifndef CARILLON_CINSTRUCTIONCOUNTER_H
#define CARILLON_CINSTRUCTIONCOUNTER_H
#include <stdbool.h>

/// Whether threads can be counted here: on x86-64, unless what the program runs in knows no trap flag.
bool instructions_can_be_counted(void);

/// From now on the calling thread is stopped behind each of its instructions, which is counted: some thousand times
/// slower, and the same work. It must not start threads or processes meanwhile; other threads run as ever.
void begin_counting_instructions(void);

/// On the thread that began.
void end_counting_instructions(void);

/// How many instructions the calling thread has executed while it was counted, in whatever library, outside of the
/// kernel. A repeated string instruction is one, and so is the one that enters the kernel.
long instructions_of_this_thread(void);

/// What the counter says of so many rounds of a loop, beyond what it says of none: seven each.
long instructions_of_loop(long rounds);

#endif
