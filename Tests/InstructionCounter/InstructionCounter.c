// Counts instructions without the processor's counters, which virtual machines and containers seldom show: with the
// trap flag the processor raises a debug exception behind each instruction, and the kernel a SIGTRAP on the thread.
#define _GNU_SOURCE
#include "CInstructionCounter.h"

#if defined(__linux__) && defined(__x86_64__)
#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <sys/syscall.h>
#include <ucontext.h>

// Known where the program starts: touching them in the handler calls nothing.
static __thread volatile long instructions __attribute__((tls_model("initial-exec")));
static __thread volatile greg_t place __attribute__((tls_model("initial-exec")));

static struct sigaction before;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void stepped(int signal, siginfo_t *why, void *context) {
    if (why->si_code != TRAP_TRACE) {
        // Somebody's breakpoint, or a trap of the program: it is dealt with as if nobody counted.
        sigaction(signal, &before, NULL);
        raise(signal);
        return;
    }
    greg_t next = ((ucontext_t *)context)->uc_mcontext.gregs[REG_RIP];
    // A repeated string instruction stops behind each round, in front of itself.
    if (next == place) return;
    place = next;
    // SYSCALL takes the flag away until the kernel is left, so the stop behind it is missing.
    const unsigned char *code = (const unsigned char *)next;
    instructions += code[0] == 0x0f && code[1] == 0x05 ? 2 : 1;
}

static void install(void) {
    struct sigaction action = {.sa_sigaction = stepped, .sa_flags = SA_SIGINFO};
    sigemptyset(&action.sa_mask);
    sigaction(SIGTRAP, &action, &before);
}

// The 128 bytes below the stack's end are the caller's.
#define CHANGE_FLAGS(instruction)                                                                                     \
    __asm__ volatile("lea -128(%%rsp), %%rsp; pushfq; " instruction "; popfq; lea 128(%%rsp), %%rsp" ::: "memory", "cc")

void begin_counting_instructions(void) {
    pthread_once(&once, install);
    // A trap whose signal is blocked ends the program.
    sigset_t traps;
    sigemptyset(&traps);
    sigaddset(&traps, SIGTRAP);
    pthread_sigmask(SIG_UNBLOCK, &traps, NULL);
    place = 0;
    CHANGE_FLAGS("orq $0x100, (%%rsp)");
}

void end_counting_instructions(void) { CHANGE_FLAGS("andq $~0x100, (%%rsp)"); }

long instructions_of_this_thread(void) { return instructions; }

static long loop(long rounds) {
    char filled[64];
    begin_counting_instructions();
    long start = instructions;
    __asm__ volatile(
        "jmp 2f\n"
        "1: mov %[call], %%eax\n"
        "   syscall\n"
        "   mov %[bytes], %%ecx\n"
        "   mov %[filled], %%rdi\n"
        "   rep stosb\n"
        "2: dec %[rounds]\n"
        "   jns 1b\n"
        : [rounds] "+r"(rounds)
        : [call] "i"(SYS_getpid), [bytes] "i"(sizeof filled), [filled] "r"(&filled)
        : "rax", "rcx", "rdi", "r11", "memory", "cc");
    long end = instructions;
    end_counting_instructions();
    return end - start;
}

long instructions_of_loop(long rounds) { return loop(rounds) - loop(0); }

bool instructions_can_be_counted(void) { return instructions_of_loop(1) > 0; }

#else

bool instructions_can_be_counted(void) { return false; }
void begin_counting_instructions(void) {}
void end_counting_instructions(void) {}
long instructions_of_this_thread(void) { return 0; }
long instructions_of_loop(long rounds) { return 0 * rounds; }

#endif
