/* Start of a program on a bare Cortex-M: vector table, reset, memory. A sample that runs in an emulator and on a debugger;
 * on a real board use the start-up code of its maker. The memory map is in board.ld. */
#include <stdint.h>
#include <stdlib.h>

int main(int argc, char **argv);
int semihost_arguments(char **argv, int most);
void semihost_exit(int status);
void reset_handler(void);

extern uint32_t board_stack_top, board_data_load, board_data_start, board_data_end, board_bss_start, board_bss_end;

static void fault(void) { semihost_exit(250); }

void reset_handler(void) {
    static char *argv[512];
    *(volatile uint32_t *)0xe000ed88u |= 0xfu << 20; /* CPACR: the floating-point (and vector) unit is on before its first use */
    __asm volatile("dsb\n\tisb" ::: "memory");
    const uint32_t *from = &board_data_load;
    for (uint32_t *to = &board_data_start; to < &board_data_end;) *to++ = *from++;
    for (uint32_t *to = &board_bss_start; to < &board_bss_end;) *to++ = 0;
    exit(main(semihost_arguments(argv, 511), argv));
}
void _fini(void);
void _fini(void) {} /* the C library calls it at the end */

union vector { void *stack; void (*handler)(void); };
#define HANDLER(f) {.handler = f}
__attribute__((section(".vectors"), used)) static const union vector vectors[16] = {
    {.stack = &board_stack_top}, HANDLER(reset_handler), HANDLER(fault), HANDLER(fault), HANDLER(fault), HANDLER(fault), HANDLER(fault), {0}, {0}, {0}, {0}, HANDLER(fault), HANDLER(fault), {0}, HANDLER(fault), HANDLER(fault)};
