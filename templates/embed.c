/* Build-time tool: turns files into the byte arrays of ir/base/embed.h. Not embedded itself.
 * usage: embed OUT.c ROOT PATH...    each PATH is relative to ROOT and becomes the entry's name. */
#include <stdio.h>
#include <stdlib.h>

static void die(const char *what, const char *path) {
    fprintf(stderr, "embed: %s: ", what);
    perror(path);
    exit(1);
}

/* Prints the array of one file, with a final NUL that `size` does not count, so that text may be used as a C string. */
static size_t put_array(FILE *out, const char *root, const char *path, int index) {
    char full[4096];
    if ((size_t)snprintf(full, sizeof full, "%s/%s", root, path) >= sizeof full) {
        fprintf(stderr, "embed: path too long: %s\n", path);
        exit(1);
    }
    FILE *in = fopen(full, "rb");
    if (!in) die("cannot read", full);
    size_t size = 0;
    int c;
    fprintf(out, "static const unsigned char file_%d[] = {", index);
    while ((c = getc(in)) != EOF) {
        fprintf(out, "%s%d,", size % 32 == 0 ? "\n" : "", c);
        size++;
    }
    fprintf(out, "0};\n");
    if (ferror(in)) die("cannot read", full);
    fclose(in);
    return size;
}

int main(int argc, char **argv) {
    if (argc < 3) {
        fprintf(stderr, "usage: embed OUT.c ROOT PATH...\n");
        return 2;
    }
    int count = argc - 3;
    size_t *size = calloc((size_t)count + 1, sizeof *size);
    if (!size) die("no memory", argv[1]);
    FILE *out = fopen(argv[1], "wb");
    if (!out) die("cannot write", argv[1]);

    fprintf(out, "/* Made by templates/embed.c; edit the files below templates/ and runtime_stub/ instead. */\n"
                 "#include \"ir/base/embed.h\"\n\n");
    for (int i = 0; i < count; i++) size[i] = put_array(out, argv[2], argv[3 + i], i);
    fprintf(out, "\nconst struct embedded nn_embedded[] = {\n");
    for (int i = 0; i < count; i++) fprintf(out, "    {\"%s\", file_%d, %zu},\n", argv[3 + i], i, size[i]);
    fprintf(out,
            "    {0, 0, 0}, /* ends the table; C has no empty arrays */\n};\n"
            "const size_t nn_embedded_count = %d;\n",
            count);

    free(size);
    if (fclose(out) != 0) die("cannot write", argv[1]);
    return 0;
}
