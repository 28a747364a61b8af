/* How much memory compiled code takes: the sections of object files (ELF) by what they become in the program. For bench
 * and for those who count flash. */
#include "compiler/build.h"
#include "compiler/import/file.h"
#include <elf.h>
#include <string.h>

struct section {
    uint64_t type, flags, size;
};
static void add_section(struct code_size *sum, const struct section *s) {
    if (!(s->flags & SHF_ALLOC)) return;
    if (s->type == SHT_NOBITS) sum->bss += (int64_t)s->size;
    else if (s->flags & SHF_WRITE) sum->data += (int64_t)s->size;
    else if (s->flags & SHF_EXECINSTR) sum->text += (int64_t)s->size;
    else sum->rodata += (int64_t)s->size;
}
/* The two widths of ELF differ in the types only. */
#define SECTIONS(bits)                                                                                                 \
    static bool sections##bits(const uint8_t *p, uint64_t n, struct code_size *sum) {                                  \
        Elf##bits##_Ehdr head;                                                                                         \
        if (n < sizeof head) return false;                                                                             \
        memcpy(&head, p, sizeof head);                                                                                 \
        if (head.e_shoff > n || (n - head.e_shoff) / sizeof(Elf##bits##_Shdr) < head.e_shnum) return false;            \
        for (int k = 0; k < head.e_shnum; k++) {                                                                       \
            Elf##bits##_Shdr s;                                                                                        \
            memcpy(&s, p + head.e_shoff + (size_t)k * sizeof s, sizeof s);                                             \
            add_section(sum, &(struct section){s.sh_type, s.sh_flags, s.sh_size});                                     \
        }                                                                                                              \
        return true;                                                                                                   \
    }
SECTIONS(32)
SECTIONS(64)

bool object_size(struct diags *d, const char *path, struct code_size *sum) {
    struct mapped_file f = {0};
    if (!file_map(d, path, &f)) return false;
    bool elf = f.size > EI_NIDENT && !memcmp(f.bytes, ELFMAG, SELFMAG) && f.bytes[EI_DATA] == ELFDATA2LSB,
         ok = elf && (f.bytes[EI_CLASS] == ELFCLASS32 ? sections32 : sections64)(f.bytes, f.size, sum);
    file_unmap(&f);
    return ok;
}
bool library_size(struct ctx *c, const struct project *w, struct code_size *sum) {
    *sum = (struct code_size){0};
    for (int k = 0; k <= w->sources.n; k++) {
        const char *source = k < w->sources.n ? w->sources.v[k] : "nn_rt.c";
        if (source == w->info) continue;
        if (!object_size(&c->diags, format(c, "%s/%.*s.o", w->folder, (int)(strrchr(source, '.') - source), source),
                         sum))
            return false;
    }
    return true;
}
