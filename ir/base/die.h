/* The ways to end at once: no memory left, or an internal limit reached. (A broken invariant ends in bug(), see
 * diag.h.) */
#ifndef NN_IR_BASE_DIE_H
#define NN_IR_BASE_DIE_H
#include <setjmp.h>
#include <stddef.h>

/* Exit codes of the program; their descriptions are in compiler/options.c. */
enum exit_code {
    EXIT_OK = 0,
    EXIT_DIFFERS = 1,
    EXIT_USAGE = 2,
    EXIT_MODEL = 3,
    EXIT_BUDGET = 4,
    EXIT_ENV = 5,      /* also: no memory left */
    EXIT_INTERNAL = 70 /* EX_SOFTWARE: a bug of ours */
};

/* For programs that must continue: what would end the process jumps to `to` instead, once, in this thread; NULL: ends
 * the process again. Memory held by nothing else leaks. */
struct die_catch {
    jmp_buf to;
    int status; /* enum exit_code */
    char message[2000];
};
void die_catch(struct die_catch *c);

/* No memory for `wanted` bytes (0: some). SIZE_MAX, an unchecked overflow, is a bug. */
_Noreturn void die_memory(size_t wanted);
/* The command line, for die_report. The words must stay valid. */
void die_command(const char *version, int argc, char **argv);
/* How to report a bug: what to attach, and the command. In static memory, since there may be none left. */
const char *die_report(void);
/* An arena would have grown past its limit. */
_Noreturn void die_limit(size_t limit);
#endif
