/* Processes and compilations. See build.h. */
#include "compiler/build.h"
#include "compiler/commands.h"
#include "compiler/driver.h"
#include "ir/base/cleanup.h"
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* ---- processes */
struct process {
    pid_t pid;
    int noted; /* for cleanup_drop */
    FILE *out, *err;
    double deadline;
};

/* A child writes to unnamed files, so that nobody has to read its output while it runs. */
static bool process_start(struct process *p, const char *const *argv, const char *folder, int seconds) {
    *p = (struct process){
        .pid = -1, .out = tmpfile(), .err = tmpfile(), .deadline = seconds ? seconds_now() + seconds : 0};
    if (!p->out || !p->err) return false;
    fflush(NULL);
    cleanup_hold();
    p->pid = fork();
    if (p->pid == 0) {
        cleanup_child_begins();
        int null = open("/dev/null", O_RDONLY);
        setpgid(0, 0);
        if (null < 0 || dup2(null, 0) < 0 || dup2(fileno(p->out), 1) < 0 || dup2(fileno(p->err), 2) < 0 ||
            (folder && chdir(folder) != 0))
            _exit(126);
        execvp(argv[0], (char *const *)argv);
        _exit(127);
    }
    if (p->pid > 0) setpgid(p->pid, p->pid); /* also here: a signal may arrive before the child has run */
    p->noted = p->pid > 0 ? cleanup_child(p->pid) : -1;
    cleanup_release();
    return p->pid > 0;
}

static void read_all(FILE *f, struct text *t) {
    char b[4096];
    size_t n;
    if (!f) return;
    rewind(f);
    while ((n = fread(b, 1, sizeof b, f)) > 0) text_addn(t, b, n);
    fclose(f);
}

/* true: the process has ended, *o is filled. */
static bool process_poll(struct process *p, struct outcome *o) {
    int status = 0;
    bool late = p->deadline > 0 && seconds_now() > p->deadline;
    if (late) kill(-p->pid, SIGKILL);
    pid_t r = waitpid(p->pid, &status, late ? 0 : WNOHANG);
    if (r == 0 || (r < 0 && errno == EINTR)) return false;
    cleanup_drop(p->noted);
    *o = (struct outcome){
        .started = true, .timed_out = late, .status = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status)};
    read_all(p->out, &o->out);
    read_all(p->err, &o->err);
    return true;
}

static void nap(void) { nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL); }

struct outcome process_run(const char *const *argv, const char *folder, int seconds) {
    struct process p;
    struct outcome o = {0};
    if (!process_start(&p, argv, folder, seconds)) {
        if (p.out) fclose(p.out);
        if (p.err) fclose(p.err);
        return o;
    }
    while (!process_poll(&p, &o)) nap();
    return o;
}

void outcome_free(struct outcome *o) {
    text_free(&o->out);
    text_free(&o->err);
}

const char **command_words(struct ctx *c, const char *command, const char *const *more) {
    VEC(const char *) v = {0};
    for (const char *s = command ? command : ""; *s;) {
        size_t n = strcspn(s, " ");
        if (n) PUSH(&c->arena, &v, internn(c->names, s, n));
        s += n + strspn(s + n, " ");
    }
    for (; more && *more; more++) PUSH(&c->arena, &v, *more);
    PUSH(&c->arena, &v, NULL);
    return v.v;
}

static bool executable(const char *path) {
    struct stat st;
    return access(path, X_OK) == 0 && stat(path, &st) == 0 && S_ISREG(st.st_mode);
}
bool program_exists(const char *name) {
    const char *path = getenv("PATH");
    bool found = false;
    if (strchr(name, '/')) return executable(name);
    for (const char *s = path ? path : "/usr/bin:/bin"; *s && !found;) {
        size_t n = strcspn(s, ":");
        struct text t = {0};
        text_printf(&t, "%.*s/%s", (int)n, s, name);
        found = executable(t.s);
        text_free(&t);
        s += n + (s[n] == ':');
    }
    return found;
}

/* ---- builds */
struct building {
    struct ctx *c;
    const struct project *w;
    const char *cc, *flags;
    const char *cu, *link; /* for .cu files, and for programs with them; cu NULL: no GPU */
    int seconds;
};

static bool compiler_failed(struct building *b, const char *what, struct outcome *o) {
    const char *said = o->err.s ? o->err.s : "", *first = strstr(said, "error:");
    bool missing = o->started && o->status == 127 && !*said;
    while (first && first > said && first[-1] != '\n') first--;
    if (first) said = first; /* the line of the first error */
    if (!*said) said = "it says nothing";
    if (!o->started || missing)
        diag(&b->c->diags, DIAG_ERROR, E_ENV, "the compiler %s cannot be started", diag_quote(&b->c->arena, b->cc));
    else
        diag(&b->c->diags, DIAG_ERROR, E_ENV, "%s %s %s: %.*s", b->cc, o->timed_out ? "did not finish with" : "refused",
             what, (int)strcspn(said, "\n"), said);
    return false;
}

static const char **compile_words(struct building *b, const char *source, const char *object) {
    const char *more[] = {"-I.", "-c", source, "-o", object, NULL};
    const char *ending = strrchr(source, '.');
    if (b->cu && (!strcmp(ending, ".cu") || !strcmp(ending, ".cpp")))
        return command_words(b->c, format(b->c, "%s %s", b->cu, b->flags), more);
    if (!strcmp(ending, ".cpp"))
        return command_words(b->c, format(b->c, "%s %s %s", b->w->cxx, b->w->cxxflags, b->flags), more);
    return command_words(b->c, format(b->c, "%s %s %s", b->cc, b->w->cflags, b->flags), more);
}

static const char *object_of(struct building *b, const char *source) {
    return format(b->c, "%.*s.o", (int)(strrchr(source, '.') - source), source);
}

/* All sources, `jobs` at a time; the first failure in the order of sources is reported. */
static bool compile_all(struct building *b, const char *const *sources, int n, int jobs) {
    struct process *run = NEWN(&b->c->arena, struct process, n);
    struct outcome *o = NEWN(&b->c->arena, struct outcome, n);
    bool *running = NEWN(&b->c->arena, bool, n), ok = true;
    int next = 0, active = 0;
    while (next < n || active > 0) {
        if (next < n && active < jobs) {
            running[next] = process_start(&run[next], compile_words(b, sources[next], object_of(b, sources[next])),
                                          b->w->folder, b->seconds);
            active += running[next];
            progress("compiling %s, file %d of %d", sources[next], next + 1, n);
            next++;
            continue;
        }
        for (int k = 0; k < next; k++)
            if (running[k] && process_poll(&run[k], &o[k])) running[k] = false, active--;
        nap();
    }
    for (int k = 0; k < n; k++) {
        if (ok && (!o[k].started || o[k].timed_out || o[k].status != 0)) ok = compiler_failed(b, sources[k], &o[k]);
        outcome_free(&o[k]);
    }
    progress_end();
    return ok;
}

static bool is_listed(const char *const *list, const char *source) {
    for (int k = 0; list && list[k]; k++)
        if (!strcmp(list[k], source)) return true;
    return false;
}
static bool link_program(struct building *b, const char *const *sources, int nsources, const char *const *without,
                         const char *program) {
    const char **objects = NEWN(&b->c->arena, const char *, nsources + 6);
    int n = 0;
    for (int k = 0; k < nsources; k++)
        if (!is_listed(without, sources[k])) objects[n++] = object_of(b, sources[k]);
    if (b->w->cpp) objects[n++] = "-lstdc++";
    objects[n] = program_has_pool(b->w->program) ? "-pthread" : "-lm";
    objects[n + 1] = "-lm", objects[n + 2] = "-o", objects[n + 3] = program;
    const char *command = b->cu ? format(b->c, "%s %s", b->link, b->flags)
                                : format(b->c, "%s %s %s %s", b->cc, b->w->cflags, b->flags, b->w->ldflags);
    struct outcome o = process_run(command_words(b->c, command, objects), b->w->folder, b->seconds);
    bool ok = (o.started && !o.timed_out && o.status == 0) || compiler_failed(b, program, &o);
    outcome_free(&o);
    return ok;
}

/* nvcc if there is one and a GPU; otherwise the emulator, with a note. */
static void choose_device(struct building *b) {
    static const char *const devices[] = {"/dev/nvidia0", "/dev/nvhost-gpu", "/dev/nvgpu"};
    bool gpu = false;
    if (!b->w->program->device) return;
    for (int k = 0; k < 3; k++) gpu |= access(devices[k], F_OK) == 0;
    if (gpu && program_exists("nvcc")) {
        b->cu = format(b->c, "nvcc %s", b->w->nvcc_flags);
        b->link = "nvcc";
        return;
    }
    b->cu = format(b->c, "c++ %s -march=native -x c++", b->w->emu_flags);
    b->link = "c++";
    diag(&b->c->diags, DIAG_NOTE, E_ENV, "%s: the kernels run in the emulator on the CPU, so times mean nothing",
         gpu ? "nvcc was not found" : "there is no GPU here");
}
static int length(const char *const *list) {
    int n = 0;
    while (list && list[n]) n++;
    return n;
}
static const char *compiler_of(const struct target *t, const char *cc) { return cc ? cc : t->cc ? t->cc : "cc"; }
static bool compiler_exists(struct ctx *c, const struct target *t, const char *cc) {
    const char *first = command_words(c, cc, NULL)[0];
    if (first && program_exists(first)) return true;
    diag(&c->diags, DIAG_ERROR, E_ENV, "the compiler %s was not found", diag_quote(&c->arena, cc));
    diag_help(&c->diags, "install it, or name another one for target %s", t->name);
    return false;
}
const char *build_alone(struct ctx *c, const struct target *t, const char *folder, const char *name, const char *flags,
                        const char *cc) {
    struct building b = {.c = c, .cc = compiler_of(t, cc)};
    const char *source = format(c, "%s.c", name), *more[] = {source, "-o", name, "-lm", NULL};
    if (!compiler_exists(c, t, b.cc)) return NULL;
    const char *command = format(c, "%s %s %s", b.cc, t->cflags ? t->cflags : "", flags);
    struct outcome o = process_run(command_words(c, command, more), folder, 600);
    bool ok = (o.started && !o.timed_out && o.status == 0) || compiler_failed(&b, source, &o);
    outcome_free(&o);
    return ok ? format(c, "%s/%s", folder, name) : NULL;
}
const char *build_program(struct ctx *c, const struct project *w, const char *program, const struct build_options *o) {
    const struct target *t = w->program->o->target;
    struct building build = {.c = c,
                             .w = w,
                             .cc = compiler_of(t, o->cc),
                             .flags = o->flags ? o->flags : "-O2",
                             .seconds = o->seconds ? o->seconds : 600},
                    *b = &build;
    if (!compiler_exists(c, t, b->cc)) return NULL;
    if (!bare_fits(w->program, DIAG_ERROR)) return NULL;
    choose_device(b);
    int n = 0, jobs = o->jobs ? o->jobs : (int)sysconf(_SC_NPROCESSORS_ONLN);
    const char **sources = NEWN(&c->arena, const char *, w->sources.n + length(o->more) + w->board.n + 4);
    for (int k = 0; k < w->sources.n; k++) sources[n++] = w->sources.v[k];
    for (int k = 0; o->more && o->more[k]; k++) sources[n++] = o->more[k];
    sources[n++] = "nn_rt.c";
    if (b->cu) sources[n++] = "nn_rt_cuda.cu";
    if (b->cu && strcmp(b->link, "nvcc") != 0) sources[n++] = "cuda_emu.cpp";
    if (!compile_all(b, sources, n, jobs > 0 ? jobs : 1)) return NULL;
    struct building own = *b;
    own.flags = format(b->c, "%s %s", b->flags, o->main_flags ? o->main_flags : "");
    int first_own = n;
    sources[n++] = format(b->c, "%s.c", program);
    for (int k = 0; k < w->board.n; k++) sources[n++] = w->board.v[k];
    if (!compile_all(&own, sources + first_own, n - first_own, jobs > 0 ? jobs : 1) ||
        !link_program(b, sources, n, o->instead, program))
        return NULL;
    return format(b->c, "%s/%s", w->folder, program);
}
