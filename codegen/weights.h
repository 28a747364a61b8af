/* The constants of a program, packed into the layouts that the kernels read, as one file. See weights.c. */
#ifndef NN_CODEGEN_WEIGHTS_H
#define NN_CODEGEN_WEIGHTS_H
#include "codegen/program.h"

/* The file: a header of 64 bytes ("NNWEIGHT", u32 version, u32 entries, u64 bytes of the file, u64 xxh64 of what
 * follows the header; little endian), then the entries, each at a multiple of 64 bytes. */
enum { WEIGHTS_HEADER = 64, WEIGHTS_VERSION = 1 };
/* An upper bound of the bytes of p's constants, without packing them: to choose how they are stored. -1: too large. */
int64_t weights_estimate(struct program *p);
/* Packs the constants of the entry, one at a time, into the file fd; equal ones are stored once. Fills p->weights,
 * p->weights_bytes and p->weights_hash. false: a diagnostic was given, or errno says why writing failed. */
bool weights_pack(struct program *p, int fd);
/* NAME_weights.c from the packed file: words in hexadecimal, so that no bit depends on decimal conversion. false:
 * errno. */
bool weights_array(struct program *p, int packed, int fd);
/* NAME_weights.S. */
void weights_assembly(struct program *p, struct text *out);
void fill_cell(const struct buf *b, unsigned char cell[16]); /* what one cell of b is filled with */
/* Tables of strings, which contain pointers and therefore cannot be in a file. */
void weights_strings(struct program *p, struct text *out);
/* The declaration of the weights that NAME.c needs, and the expression of their address. */
void weights_declaration(struct program *p, struct text *out);
const char *weights_address(struct program *p);
/* Bytes of the weights in the program; 0: there are none, and no header either. */
int64_t weights_size(const struct program *p);
#endif
