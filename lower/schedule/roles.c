/* The table of roles.h as data. */
#include "lower/schedule/roles.h"

#define ROLE(member, name, meaning) .member = (name),
const struct roles role = {ROLES(ROLE)};
#undef ROLE
