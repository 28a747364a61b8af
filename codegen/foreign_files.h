/* Operators of the user's own in the output: their files, and what kernels see of them. See foreign_files.c. */
#ifndef NN_CODEGEN_FOREIGN_FILES_H
#define NN_CODEGEN_FOREIGN_FILES_H
#include "codegen/program.h"

struct foreign;
struct foreign_body;
struct foreign_param;
struct foreign_source;
/* Statements that call it on these texts: names of pointers, and of numbers or values of them. */
void foreign_call(struct ctx *c, struct text *out, const struct foreign *f, const struct foreign_body *body,
                  const char *const *args);
/* The type of a parameter's elements where the source is not seen. */
const char *foreign_element(const struct foreign_param *q);
/* The source as it is, with the lines of its own file; what follows is in lines of the file `into`. */
void foreign_text(struct text *out, const struct foreign_source *s, const char *into);
/* Has each of them a body that the program's target runs? false: a diagnostic, E_TARGET. */
bool foreign_bodies_exist(const struct program *p);
/* Heads of what the kernels call; nothing where there is none. */
void foreign_declarations(const struct program *p, struct text *out);
/* Gives the file of each source to `put`. false: a `put` was. */
bool foreign_files(const struct program *p, put_file_fn *put, void *env);
const char *foreign_file_name(const struct program *p, const struct foreign_source *s); /* its name in the folder */
#endif
