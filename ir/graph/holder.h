/* Sequences, optionals and maps that a model takes or gives. In both IRs they are represented by the tensors that they
 * hold, as separate parameters and results (docs/adr/0005); this says which of those belong together. */
#ifndef NN_IR_HOLDER_H
#define NN_IR_HOLDER_H
#include "ir/base/text.h"
#include "ir/base/vec.h"
#include <stdbool.h>

/* The kind of one input or output of a model. A map is two tensors, keys [n] and values [n]; a sequence of maps with
 * the same keys is keys [n] and values [count,n]. Keys given by the model ascend. */
enum value_kind {
    VALUE_TENSOR,
    VALUE_SEQUENCE,
    VALUE_OPTIONAL,
    VALUE_OPTIONAL_SEQUENCE,
    VALUE_MAP,
    VALUE_MAPS,
    VALUE_KINDS
};
const char *value_kind_name(enum value_kind k); /* "sequence", "optional_sequence" */
bool value_kind_is_map(enum value_kind k);      /* or several */
/* The name of the i-th tensor of such a value, if the whole is called `name`: name_0, or name_keys. */
const char *value_part(struct interner *in, const char *name, enum value_kind k, int i);

enum { HOLDER_MAX = 1024 }; /* tensors of one value */
struct holder {
    const char *name;
    enum value_kind kind; /* TENSOR only in lists of all inputs or outputs */
    bool present;         /* false: an optional that is empty */
    bool packed;          /* a sequence whose length is found at run time, as two tensors: the concatenated cells of all
                           * elements, and their shapes, i64[count, rank] */
    bool asked;           /* an optional whose presence is only known at run time: its first tensor, a bool, tells */
    int first, n;         /* its tensors, among the inputs or the outputs */
};
/* In the model's order: `first` never decreases, and no tensor belongs to two. */
typedef struct {
    struct holder *v;
    int n, cap;
} holders;

/* State that a model keeps between runs: an input, the output that is its next value, and its value before the first
 * run (NULL: zeros; one element applies to all). The caller passes it on; `run` and `verify` start with the first
 * value. */
struct tensor;
struct state {
    int input, output;
    const struct tensor *init;
};
typedef struct {
    struct state *v;
    int n, cap;
} states;

/* Is h valid for a program with n inputs, or outputs? */
bool holders_fit(const holders *h, int n);
/* One line each, in the form used by both texts: `takes sequence "x" 2 at 0`; instead of the count `none` if it is
 * empty, or `packed`; preceded by `maybe` if its presence is only known at run time. word: takes or gives. */
void holders_print(struct text *out, const char *word, const holders *h, void (*quoted)(struct text *t, const char *s));
#endif
