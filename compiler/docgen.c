/* Writes what is made from the tables of commands, options, diagnostics and numbers of machines:
 * docgen man [COMMAND]|bash|zsh|fish|commands|errors|machine. Run by the build (docs/meson.build installs the first
 * four, man also for each command); the pages docs/commands.md, errors.md and machine.md are kept in step by a test.
 * Not part of gcc2nn itself. */
#include "compiler/compare.h"
#include "compiler/driver.h"
#include "compiler/machine_file.h"
#include "ir/loop/target.h"
#include <ctype.h>
#include <stdio.h>
#include <string.h>

static const struct option_row *next_option(const struct option_row *r, unsigned bit) {
    while (r->name && !(r->commands & bit)) r++;
    return r;
}
#define EACH_OPTION(r, bit)                                                                                            \
    for (const struct option_row *r = next_option(option_rows, bit); r->name; r = next_option(r + 1, bit))
#define EACH_COMMAND(c) for (const struct command *c = command_rows; c->name; c++)

/* The possible values of r, separated by blanks; "" if it takes a name, a number or a file. */
static void values_of(const struct option_row *r, struct text *t) {
    if (r->choices) text_add(t, r->choices);
    else if (r->arg && !strcmp(r->arg, "TARGET")) {
        text_add(t, "native");
        for (const struct target *const *k = nn_targets; *k; k++) text_printf(t, " %s", (*k)->name);
    } else if (r->arg && !strcmp(r->arg, "PASS")) {
        for (const struct pass_row *p = pass_rows; p->name; p++) text_printf(t, "%s%s", t->n ? " " : "", p->name);
        if (!strcmp(r->name, "dump-after")) text_add(t, " " DUMP_NAMES);
    }
}
static bool is_path(const struct option_row *r) {
    return r->arg && (strstr(r->arg, "FILE") || strstr(r->arg, "DIR") || strstr(r->arg, "COMPILER"));
}

/* ---- man page */
static void roff(const char *s) {
    if (*s == '.' || *s == '\'') fputs("\\&", stdout);
    for (; *s; s++) {
        if (*s == '\\' || *s == '-') putchar('\\');
        putchar(*s);
        if (*s == '\n' && (s[1] == '.' || s[1] == '\'')) fputs("\\&", stdout);
    }
}
static void roff_options(unsigned bit) {
    EACH_OPTION(r, bit) {
        fputs(".TP\n.B ", stdout);
        if (r->letter) printf("\\-%c, ", r->letter);
        fputs("\\-\\-", stdout), roff(r->name);
        if (r->arg) fputs(option_needs_arg(r) ? "=\\fI" : "\\fI[=]", stdout), roff(r->arg), fputs("\\fR", stdout);
        putchar('\n'), roff(r->help), roff(option_repeats(r)), putchar('\n');
    }
}
static void man_head(const char *command, const char *help) {
    fputs(".TH GCC2NN", stdout);
    for (const char *s = command; *s; s++) putchar(toupper((unsigned char)*s));
    fputs(" 1 \"\" \"gcc2nn " GCC2NN_VERSION "\" \"User commands\"\n.SH NAME\ngcc2nn", stdout);
    roff(command), fputs(" \\- ", stdout), roff(help), fputs("\n.SH SYNOPSIS\n", stdout);
}
static void synopsis(const struct command *c) {
    printf(".B gcc2nn "), roff(c->name), printf("\n[\\fIOPTION\\fR]... \\fI%s\\fR\n", c->args);
}
static void man_foot(void) {
    fputs(".SH EXIT STATUS\n", stdout);
    for (const struct exit_row *e = exit_rows; e->text; e++)
        printf(".TP\n.B %d\n", e->code), roff(e->text), putchar('\n');
    fputs(".SH ENVIRONMENT\n.TP\n.B NO_COLOR\nwhen set, diagnostics are never coloured\n.TP\n.B TMPDIR\nwhere programs "
          "are built that run a model\n.SH SEE ALSO\n",
          stdout);
}
/* The page of one command: gcc2nn-NAME.1 */
static void man_command(const struct command *c) {
    struct text name = {0};
    text_printf(&name, "-%s", c->name);
    man_head(name.s, c->help);
    text_free(&name);
    synopsis(c);
    fputs(".SH OPTIONS\n", stdout);
    roff_options(c->bit);
    if (c->examples) fputs(".SH EXAMPLES\n.nf\n", stdout), roff(c->examples), fputs(".fi\n", stdout);
    man_foot();
    fputs(".BR gcc2nn (1)\n", stdout);
}
static void man(void) {
    man_head("", "compile neural networks (ONNX, TensorFlow Lite) to standalone C or CUDA");
    EACH_COMMAND(c) { synopsis(c), fputs(".br\n", stdout); }
    fputs(".B gcc2nn \\-\\-version\n.SH COMMANDS\nA model's file name in place of a command means the first one.\n",
          stdout);
    EACH_COMMAND(c) {
        fputs(".TP\n.BR gcc2nn\\-", stdout), roff(c->name), fputs(" (1)\n", stdout), roff(c->help), putchar('\n');
    }
    man_foot();
    fputs(".B gcc2nn explain\n.I CODE\nexplains a diagnostic.\n", stdout);
}

/* ---- completions */
static void words(unsigned bit) { EACH_OPTION(r, bit) printf(" --%s%s", r->name, option_needs_arg(r) ? "=" : ""); }
static void bash(void) {
    fputs("# bash completion for gcc2nn; made from its tables of commands and options\n_gcc2nn() {\n"
          "    local cur=${COMP_WORDS[COMP_CWORD]} command=${COMP_WORDS[1]} words= option=\n    COMPREPLY=()\n"
          "    if [ \"$COMP_CWORD\" = 1 ] && [[ $cur != -* ]]; then\n        COMPREPLY=($(compgen -W \"",
          stdout);
    EACH_COMMAND(c) printf("%s ", c->name);
    fputs("\" -- \"$cur\") $(compgen -f -- \"$cur\"))\n        return\n    fi\n"
          "    # readline splits at `=`: --target=x comes as three words\n"
          "    if [ \"$cur\" = = ]; then option=${COMP_WORDS[COMP_CWORD-1]}; cur=\n"
          "    elif [ \"${COMP_WORDS[COMP_CWORD-1]}\" = = ]; then option=${COMP_WORDS[COMP_CWORD-2]}\n"
          "    else option=${COMP_WORDS[COMP_CWORD-1]}; fi\n    case $option in\n",
          stdout);
    for (const struct option_row *r = option_rows; r->name; r++) {
        struct text v = {0};
        values_of(r, &v);
        if (v.n) {
            printf("    --%s", r->name);
            if (r->letter) printf(" | -%c", r->letter);
            printf(") COMPREPLY=($(compgen -W \"%s\" -- \"$cur\")); return ;;\n", v.s);
        }
        text_free(&v);
    }
    fputs("    esac\n    case $command in\n", stdout);
    EACH_COMMAND(c) {
        printf("    %s) words=\"", c->name);
        words(c->bit);
        puts("\" ;;");
    }
    fputs("    *) words=\"", stdout);
    words(command_rows->bit);
    fputs("\" ;;\n    esac\n    if [[ $cur == -* ]]; then\n        COMPREPLY=($(compgen -W \"$words\" -- \"$cur\"))\n"
          "        [[ ${COMPREPLY-} == *= ]] && compopt -o nospace 2>/dev/null\n    else\n"
          "        COMPREPLY=($(compgen -f -- \"$cur\"))\n    fi\n    return 0\n}\ncomplete -o filenames -F _gcc2nn "
          "gcc2nn\n",
          stdout);
}
/* Prints s inside '...', where the characters of `extra` get a backslash. */
static void quoted(const char *s, const char *extra) {
    for (; *s; s++) {
        if (*s == '\'') fputs("'\\''", stdout);
        else {
            if (strchr(extra, *s)) putchar('\\');
            putchar(*s);
        }
    }
}
static void zsh_options(unsigned bit) {
    EACH_OPTION(r, bit) {
        struct text v = {0};
        values_of(r, &v);
        printf("        '%s--%s%s[", r->repeats == REPEATS ? "*" : "", r->name,
               option_needs_arg(r) ? "="
               : r->arg            ? "=-"
                                   : "");
        quoted(r->help, "[]:\\");
        putchar(']');
        if (r->arg) {
            fputs(option_needs_arg(r) ? ":" : "::", stdout), quoted(r->arg, ":\\"), putchar(':');
            if (v.n) printf("(%s)", v.s);
            else if (is_path(r)) fputs("_files", stdout);
        }
        puts("' \\");
        text_free(&v);
    }
}
static void zsh(void) {
    fputs("#compdef gcc2nn\n# zsh completion for gcc2nn; made from its tables of commands and options\n_gcc2nn() {\n"
          "    local -a commands\n    commands=(\n",
          stdout);
    EACH_COMMAND(c) printf("        '%s:", c->name), quoted(c->help, ":\\"), puts("'");
    fputs("    )\n    if (( CURRENT == 2 )); then\n        _describe command commands\n        _files\n        return\n"
          "    fi\n    case $words[2] in\n",
          stdout);
    EACH_COMMAND(c) {
        printf("    %s)\n        _arguments \\\n", c->name);
        zsh_options(c->bit);
        puts("        '*:file:_files' ;;");
    }
    fputs("    *)\n        _arguments \\\n", stdout);
    zsh_options(command_rows->bit);
    fputs("        '*:file:_files' ;;\n    esac\n}\n_gcc2nn \"$@\"\n", stdout);
}
static void fish(void) {
    fputs("# fish completion for gcc2nn; made from its tables of commands and options\n", stdout);
    EACH_COMMAND(c) {
        printf("complete -c gcc2nn -n __fish_use_subcommand -a %s -d '", c->name), quoted(c->help, "");
        puts("'");
    }
    EACH_COMMAND(c) EACH_OPTION(r, c->bit) {
        struct text v = {0};
        values_of(r, &v);
        printf("complete -c gcc2nn -n '__fish_seen_subcommand_from %s' -l %s", c->name, r->name);
        if (r->letter) printf(" -s %c", r->letter);
        if (option_needs_arg(r)) printf(" -r%s", is_path(r) ? " -F" : " -f");
        if (v.n) printf(" -a '%s'", v.s);
        fputs(" -d '", stdout), quoted(r->help, ""), puts("'");
        text_free(&v);
    }
}

/* ---- pages of docs/ */
static void tolerances(void) {
    fputs("\nAn element may be off by `atol + rtol * M + steps * step`, where M is the greatest magnitude of the "
          "referee's tensor. `rtol` is 0 for\nelement types that are not in this table, and the interpreter must give "
          "the same bits. Of the types of floats that a result is computed through, the one with the greatest `rtol` "
          "counts:\n\n| element type | rtol |\n|---|---|\n",
          stdout);
    for (const struct usual_tolerance *u = usual_tolerances; u->types; u++) printf("| %s | %g |\n", u->types, u->rtol);
    fputs("\nIn a model that holds quantizing operators, `step` is 1 for results of integers up to 16 bits, and the "
          "greatest scale for floats that come\nout of a DequantizeLinear, also through nodes that only move elements: "
          "a sum that lies between two steps is rounded to either by one\nunit in its last place. `steps` is 1 behind "
          "one such operator, and the root of n, rounded up, where n of them stand one behind the other on the "
          "longest way.\nOther floats behind them may be off by 4 times the root of n, as a part of 2^bits - 1 "
          "([numbers](numbers.md), N8). Elsewhere, and for "
          "i32, i64 and bool, `step` is 0; with --steps it is 1 for all integers. What `verify` prints says\nhow many "
          "elements are off by how many steps. ONNX Runtime runs quantized models without its optimizations, which "
          "round elsewhere than\nthe model says.\n",
          stdout);
}
static void commands_page(void) {
    fputs(
        "# Commands\n\nMade from the tables of commands and options (`compiler/commands.c`, `compiler/options.c`) by "
        "`docgen commands`; a test\nholds this page to them. `gcc2nn COMMAND --help`, the man page and the completions "
        "of bash, zsh and fish say the same.\n\n",
        stdout);
    EACH_COMMAND(c) printf("- [`%s`](#%s) %s\n", c->name, c->name, c->help);
    fputs("\nA model's file name in place of a command means the first one.\n\n| exit status | meaning |\n|---|---|\n",
          stdout);
    for (const struct exit_row *e = exit_rows; e->text; e++) printf("| %d | %s |\n", e->code, e->text);
    EACH_COMMAND(c) {
        printf("\n## %s\n\n    gcc2nn %s [OPTION]...%s%s\n\n%c%s.\n\n| option | |\n|---|---|\n", c->name, c->name,
               *c->args ? " " : "", c->args, c->help[0] - 'a' + 'A', c->help + 1);
        EACH_OPTION(r, c->bit) {
            printf("| `");
            if (r->letter) printf("-%c`, `", r->letter);
            struct text usage = {0};
            option_usage(&usage, r);
            for (const char *s = usage.s; *s; s++)
                *s == '|' ? fputs("\\|", stdout) : putchar(*s); /* `|` would end the table cell */
            text_free(&usage);
            printf("` | %s%s |\n", r->help, option_repeats(r));
        }
        if (c->bit == CMD_VERIFY) tolerances();
        if (c->examples) {
            fputs("\nExamples:\n\n", stdout);
            for (const char *s = c->examples; *s; s = strchr(s, '\n') + 1) printf("  %.*s\n", (int)strcspn(s, "\n"), s);
        }
    }
}
static void errors_page(void) {
    fputs("# Diagnostics\n\nMade from the one table of codes, `ir/base/diag_codes.h`, by `docgen errors`; a test holds "
          "this "
          "page to it.\n`gcc2nn explain CODE` says the same. Numbers never change their meaning.\nA message that "
          "begins with "
          "`warning` can be made an error or left out by its code: `-Werror`, `-Werror=E0302`, `-Wno-E0302`.\n",
          stdout);
    for (int code = 0; code < 10000; code++) {
        const struct diag_row *r = diag_explain(code);
        if (r) printf("\n## E%04d: %s\n\n%s\n\n    %s\n\n%s\n", code, r->title, r->cause, r->example, r->remedy);
    }
}
static void machine_page(void) {
    fputs(
        "# Numbers of a machine\n\nMade from their one table, `lower/machine/numbers.c`, by `docgen machine`; a test "
        "holds "
        "this page to it.\n`gcc2nn calibrate` measures these numbers and writes them to a file, which `--machine=FILE` "
        "puts in the place of those of\nthe target's row; [schedules.md](schedules.md#measured-machines) says what "
        "follows. The file is one JSON object, of four keys:\n\n| key | value |\n|---|---|\n"
        "| `" MACHINE_FORMAT_KEY "` | the form of the file, 1 |\n"
        "| `target` | the target whose row was measured; the file is refused for others |\n"
        "| `cpu` | what it was measured on, as the system calls it; for people |\n"
        "| `numbers` | an object with each number below that the target's row has: no other, and none may be "
        "missing |\n\n| number | unit | range | what it is | how it is measured |\n|---|---|---|---|---|\n",
        stdout);
    for (const struct number_row *n = machine_numbers; n->name; n++)
        printf("| `%s` | %s | %.6g to %.10g | %s | %s |\n", n->name, n->unit, n->least, n->most, n->says, n->how);
    fputs("\nBytes, lines and latencies are whole numbers. The second level of cache is not smaller than the first, a "
          "set "
          "of lines not larger than\nit, and a line is a power of two.\n",
          stdout);
}

int main(int argc, char **argv) {
    static const struct {
        const char *name;
        void (*fn)(void);
    } kinds[] = {{"man", man},
                 {"bash", bash},
                 {"zsh", zsh},
                 {"fish", fish},
                 {"commands", commands_page},
                 {"errors", errors_page},
                 {"machine", machine_page}};
    if (argc == 3 && !strcmp(argv[1], "man")) {
        EACH_COMMAND(c) if (!strcmp(argv[2], c->name)) {
            man_command(c);
            return fflush(stdout) != 0;
        }
    }
    for (size_t k = 0; argc == 2 && k < sizeof kinds / sizeof *kinds; k++)
        if (!strcmp(argv[1], kinds[k].name)) {
            kinds[k].fn();
            return fflush(stdout) != 0;
        }
    fputs("usage: docgen man [COMMAND]|bash|zsh|fish|commands|errors|machine\n", stderr);
    return 2;
}
