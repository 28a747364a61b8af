/* The ways to end at once: no memory left, a limit of ours reached. (A broken invariant ends in bug(), see diag.h.) */
#ifndef NN_IR_BASE_DIE_H
#define NN_IR_BASE_DIE_H
#include <setjmp.h>
#include <stddef.h>

/* How the program ends; the texts stand in compiler/options.c. */
enum exit_code {
    EXIT_OK = 0,
    EXIT_DIFFERS = 1,
    EXIT_USAGE = 2,
    EXIT_MODEL = 3,
    EXIT_BUDGET = 4,
    EXIT_ENV = 5,      /* no memory left, too */
    EXIT_INTERNAL = 70 /* EX_SOFTWARE: a mistake of ours */
};

/* For programs that go on whatever happens: what would end the process goes to `to` instead, once, in this thread;
 * NULL: ends it again. Memory that nothing holds then is lost. */
struct die_catch {
    jmp_buf to;
    int status; /* enum exit_code */
    char message[2000];
};
void die_catch(struct die_catch *c);

/* No memory for `wanted` bytes (0: some). SIZE_MAX, a size that overflowed and that nobody checked, is a mistake. */
_Noreturn void die_memory(size_t wanted);
/* What was called, for die_report. The words must stay. */
void die_command(const char *version, int argc, char **argv);
/* How to report a mistake of ours: what to attach, and the command. In static memory: it may be wanted when there is
 * none left. */
const char *die_report(void);
/* An arena would have grown past its limit. */
_Noreturn void die_limit(size_t limit);
#endif
