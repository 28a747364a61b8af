/* Operators written by the user, in the output: their files, and what kernels see of them. See foreign_files.c. */
#ifndef NN_CODEGEN_FOREIGN_FILES_H
#define NN_CODEGEN_FOREIGN_FILES_H
#include "codegen/program.h"

struct foreign;
struct foreign_body;
struct foreign_param;
struct foreign_source;
/* Statements that call it with these texts as arguments: names of pointers, and names or values of numbers. */
void foreign_call(struct ctx *c, struct text *out, const struct foreign *f, const struct foreign_body *body,
                  const char *const *args);
/* The type of a parameter's elements where the source is not visible. */
const char *foreign_element(const struct foreign_param *q);
/* The source unchanged, with #line for its own file; what follows gets that of the file `into`. */
void foreign_text(struct text *out, const struct foreign_source *s, const char *into);
/* Does each of them have a body for the program's target? false: a diagnostic, E_TARGET. */
bool foreign_bodies_exist(const struct program *p);
/* Declarations of what the kernels call; nothing if there are none. */
void foreign_declarations(const struct program *p, struct text *out);
/* Passes the file of each source to `put`. false: a `put` failed. */
bool foreign_files(const struct program *p, put_file_fn *put, void *env);
const char *foreign_file_name(const struct program *p, const struct foreign_source *s); /* its name in the folder */
#endif
