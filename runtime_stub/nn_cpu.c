/* The last part of nn_rt.c as it is written; but strict C99 cannot ask the CPU, and its code runs on every one. */
/* ---- the CPU. A row for each instruction set that a target may need. */
struct feature {
    const char *name, *lacks;
    unsigned leaf, subleaf, word, bit; /* of CPUID: word 0 is EAX; of other machines an entry of the auxiliary vector */
    unsigned state;                    /* registers that the operating system must save (XCR0) */
};
#define FEATURE(name, leaf, subleaf, word, bit, state)                                                                 \
    { name, "the CPU has no " name, leaf, subleaf, word, bit, state }

#if (defined __x86_64__ || defined __i386__) && defined __GNUC__
#include <cpuid.h>
#define CPU_ASKED 1
enum { YMM = 0x6, ZMM = 0xe6, TILES = 0x60000 };
static const struct feature features[] = {
    FEATURE("avx2", 7, 0, 1, 5, YMM),        FEATURE("fma", 1, 0, 2, 12, YMM),
    FEATURE("f16c", 1, 0, 2, 29, YMM),       FEATURE("avxvnni", 7, 1, 0, 4, YMM),
    FEATURE("avx512f", 7, 0, 1, 16, ZMM),    FEATURE("avx512dq", 7, 0, 1, 17, ZMM),
    FEATURE("avx512bw", 7, 0, 1, 30, ZMM),   FEATURE("avx512vl", 7, 0, 1, 31, ZMM),
    FEATURE("avx512vnni", 7, 0, 2, 11, ZMM), FEATURE("amxtile", 7, 0, 3, 24, TILES),
    FEATURE("amxint8", 7, 0, 3, 25, TILES),  FEATURE("amxbf16", 7, 0, 3, 22, TILES),
    FEATURE("avx512bf16", 7, 1, 0, 5, ZMM),
};
static unsigned cpuid(unsigned leaf, unsigned subleaf, unsigned word) {
    unsigned w[4] = {0, 0, 0, 0};
    if ((unsigned)__get_cpuid_max(0, NULL) >= leaf) __cpuid_count(leaf, subleaf, w[0], w[1], w[2], w[3]);
    return w[word];
}
/* Linux lets a process use tile registers after it has asked for them: arch_prctl(ARCH_REQ_XCOMP_PERM, tile data), for
 * all its threads. Other systems are not known to save them. */
static int may_use_tiles(void) {
#if defined __linux__ && defined __x86_64__
    long result;
    __asm__ volatile("syscall" : "=a"(result) : "0"(158L), "D"(0x1023L), "S"(18L) : "rcx", "r11", "memory");
    return result == 0;
#else
    return 0;
#endif
}
static int has(const struct feature *f) {
    unsigned low, high;
    if (!(cpuid(1, 0, 2) >> 27 & 1)) return 0; /* without OSXSAVE the registers are not saved */
    __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
    return (low & f->state) == f->state && (cpuid(f->leaf, f->subleaf, f->word) >> f->bit & 1) &&
           (f->state != TILES || may_use_tiles());
}
#elif defined __aarch64__ && defined __linux__
#include <sys/auxv.h>
#define CPU_ASKED 1
static const struct feature features[] = {
    FEATURE("dotprod", AT_HWCAP, 0, 0, 20, 0), /* HWCAP_ASIMDDP */
    FEATURE("i8mm", AT_HWCAP2, 0, 0, 13, 0),   /* HWCAP2_I8MM */
    FEATURE("bf16", AT_HWCAP2, 0, 0, 14, 0),   /* HWCAP2_BF16 */
};
static int has(const struct feature *f) { return (int)(getauxval(f->leaf) >> f->bit & 1); }
#endif

#ifdef CPU_ASKED
static int is_word(const char *list, const char *word, size_t n) {
    for (; list && *list; list += strcspn(list, " "), list += *list == ' ')
        if (strcspn(list, " ") == n && memcmp(list, word, n) == 0) return 1;
    return 0;
}
const char *nn_cpu_lacks(const char *needs, const char *without) {
    for (size_t n; *needs; needs += n + (needs[n] == ' ')) {
        const struct feature *f = features, *end = features + sizeof features / sizeof *features;
        n = strcspn(needs, " ");
        while (f < end && (strlen(f->name) != n || memcmp(f->name, needs, n) != 0)) f++;
        if (f == end) return "the CPU cannot be asked for what the code needs";
        if (is_word(without, needs, n) || !has(f)) return f->lacks;
    }
    return NULL;
}
#else
const char *nn_cpu_lacks(const char *needs, const char *without) {
    (void)needs, (void)without;
    return NULL;
}
#endif
