/* The table of roles.h as data. */
#include "lower/schedule/roles.h"
#include <string.h>

#define ROLE(member, name, meaning) .member = (name),
const struct roles role = {ROLES(ROLE)};
#undef ROLE
bool is_role(const char *name) {
#define ROLE(member, text, meaning) text,
    static const char *const names[] = {ROLES(ROLE)};
    for (unsigned k = 0; k < sizeof names / sizeof *names; k++)
        if (!strcmp(names[k], name)) return true;
    return false;
}
