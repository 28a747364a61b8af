/* The text of --help, from the table of options. See options.h. */
#include "compiler/options.h"
#include <string.h>

void help_wrap(struct text *out, const char *s, int indent) {
    enum { WIDTH = 100 };
    int at = indent;
    while (*s) {
        int n = (int)strcspn(s, " ");
        bool first = at == indent;
        if (!first && at + 1 + n > WIDTH) {
            text_printf(out, "\n%*s", indent, "");
            at = indent;
            first = true;
        }
        text_printf(out, "%s%.*s", first ? "" : " ", n, s);
        at += n + !first;
        s += n + (s[n] == ' ');
    }
    text_char(out, '\n');
}

static void two_columns(struct text *out, const char *left, const char *right) {
    enum { COLUMN = 36 };
    text_printf(out, "  %s", left);
    int at = 2 + (int)strlen(left);
    if (at + 2 > COLUMN) {
        text_char(out, '\n');
        at = 0;
    }
    text_printf(out, "%*s", COLUMN - at, "");
    help_wrap(out, right, COLUMN);
}

const char *option_repeats(const struct option_row *r) { return r->repeats == REPEATS ? "; may be repeated" : ""; }

static void options_of(struct text *out, unsigned bit) {
    text_add(out, "\nOptions:\n");
    for (const struct option_row *r = option_rows; r->name; r++) {
        if (!(r->commands & bit)) continue;
        struct text left = {0};
        if (r->letter) text_printf(&left, "-%c, ", r->letter);
        option_usage(&left, r);
        struct text right = {0};
        text_printf(&right, "%s%s", r->help, option_repeats(r));
        two_columns(out, left.s, right.s);
        text_free(&left);
        text_free(&right);
    }
}

void options_help(struct text *out, const struct command *commands, const struct command *command) {
    if (command) {
        text_printf(out, "Usage: gcc2nn %s [OPTION]...%s%s\n\n", command->name, *command->args ? " " : "",
                    command->args);
        help_wrap(out, command->help, 0);
        options_of(out, command->bit);
        if (command->examples) text_printf(out, "\nExamples:\n%s", command->examples);
        return;
    }
    text_printf(out, "Usage: gcc2nn COMMAND [OPTION]... ARGUMENT...\n\n"
                     "Compiles neural networks (ONNX, TensorFlow Lite) to standalone C or CUDA.\n\nCommands:\n");
    for (const struct command *c = commands; c->name; c++) two_columns(out, c->name, c->help);
    text_add(out, "\nA model's file name in place of a command means the first one. `gcc2nn COMMAND --help` explains a "
                  "command.\n\nExit status:\n");
    for (const struct exit_row *e = exit_rows; e->text; e++) text_printf(out, "  %2d  %s\n", e->code, e->text);
}
