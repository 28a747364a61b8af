#!/usr/bin/env python3
"""Several models linked in one program run at the same time, each in several contexts, under ThreadSanitizer: no report,
and every run has the checksums of a run alone.

    threads.py [NAME...]     (default: three small ones: a plain network, one with symbolic sizes, one with a loop)

The inputs are those of the self-test. Exit status: 0, 1 failed, 77 not run.
"""
import json
import os
import shutil
import tempfile

import check_output
import run_models
from modelset import ROOT, arguments, finish, missing, prepared

NAMES = ("mnist_cntk", "cf_if_branch", "trt_loop")
CONTEXTS, RUNS = 2, 5
FLAGS = "-O1 -g -fsanitize=thread"

# One file for each model: all names of *_io.h are static.
RUN = """#include "@_io.h"
/* Runs the model `runs` times in a context of its own; a sum over all outputs of each run, 0: failed. */
uint64_t @_runs(int runs);
uint64_t @_runs(int runs) {
    struct io_session s;
    memset(&s, 0, sizeof s);
    io_typical_symbols(&s);
    int status = io_open(&s);
    uint64_t first = 0;
    for (int run = 0; run < runs && status == NN_OK; run++) {
        status = io_run_once(&s);
        uint64_t sum = 1;
        for (int k = 0; k < IO_OUTPUTS && status == NN_OK; k++) sum = sum * 31 + io_checksum(&s.outputs[k]);
        if (run > 0 && sum != first) status = NN_EFAULT;
        first = sum;
    }
    if (status != NN_OK) {
        io_failed(&s, status);
        return 0;
    }
    io_finish(&s);
    return first;
}
"""
MAIN = """#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
@DECLARE@
struct job { uint64_t (*run)(int); uint64_t want, got; };
static void *work(void *p) {
    struct job *j = (struct job *)p;
    j->got = j->run(@RUNS@);
    return NULL;
}
int main(void) {
    static uint64_t (*const models[])(int) = {@MODELS@};
    enum { MODELS = sizeof models / sizeof *models, JOBS = MODELS * @CONTEXTS@ };
    static struct job jobs[JOBS];
    pthread_t threads[JOBS];
    for (int k = 0; k < JOBS; k++) {
        jobs[k].run = models[k % MODELS];
        jobs[k].want = k < MODELS ? models[k](1) : jobs[k - MODELS].want;
        if (jobs[k].want == 0) return 2;
    }
    for (int k = 0; k < JOBS; k++)
        if (pthread_create(&threads[k], NULL, work, &jobs[k]) != 0) return 2;
    int different = 0;
    for (int k = 0; k < JOBS; k++) {
        pthread_join(threads[k], NULL);
        if (jobs[k].got == jobs[k].want) continue;
        fprintf(stderr, "model %d has other outputs in threads\\n", k % MODELS);
        different = 1;
    }
    return different;
}
"""


def build_and_run(args, top):
    build, prefixes = os.path.join(top, "program"), []
    os.mkdir(build)
    for k, name in enumerate(args.names):
        model, why = prepared(name)
        if why:
            raise check_output.Failed(why)
        prefix, folder = f"net{k}", os.path.join(top, f"net{k}")
        check_output.command([args.gcc2nn, model, "--out", folder, "--target", args.target, "--name", prefix,
                              "--weights", "array"], args, ROOT)
        with open(os.path.join(folder, "manifest.json"), encoding="utf-8") as f:
            manifest = json.load(f)
        with open(os.path.join(folder, "runs.c"), "w", encoding="utf-8") as f:
            f.write(RUN.replace("@", prefix))
        # nn_rt is the same for all models and linked once.
        sources = [*manifest["sources"], "runs.c"] + ([] if prefixes else ["nn_rt.c"])
        for source in sources:
            check_output.command(["gcc", *FLAGS.split(), *manifest["cflags"].split(), "-I", folder, "-c",
                                  os.path.join(folder, source), "-o", os.path.join(build, f"{prefix}_{source}.o")],
                                 args, folder)
        prefixes.append(prefix)
    text = (MAIN.replace("@DECLARE@", "\n".join(f"uint64_t {p}_runs(int runs);" for p in prefixes))
            .replace("@MODELS@", ", ".join(f"{p}_runs" for p in prefixes))
            .replace("@RUNS@", str(RUNS)).replace("@CONTEXTS@", str(CONTEXTS)))
    with open(os.path.join(build, "main.c"), "w", encoding="utf-8") as f:
        f.write(text)
    objects = sorted(file for file in os.listdir(build) if file.endswith(".o"))
    check_output.command(["gcc", *FLAGS.split(), "main.c", *objects, "-lm", "-lpthread", "-o", "all"], args, build)
    check_output.command(["./all"], args, build, ["TSAN_OPTIONS=halt_on_error=1"])


def main():
    parser = arguments(__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", default=NAMES)
    parser.add_argument("--timeout", type=float, default=600, help="seconds for each step (%(default).0f)")
    parser.add_argument("--target", default=run_models.host_target(), help="this machine: %(default)s")
    args = parser.parse_args()
    if missing(args) or not shutil.which("gcc"):
        finish(args, [], missing(args) or "gcc is not there")
    with tempfile.TemporaryDirectory(prefix="threads-") as top:
        try:
            build_and_run(args, top)
        except (check_output.Failed, run_models.Broken) as e:
            print(f"threads: {', '.join(args.names)}: {e}")
            finish(args, ["FAIL"], why=str(e))
    print(f"threads: {', '.join(args.names)}: {CONTEXTS} contexts of each, {RUNS} runs: no report, same values")
    finish(args, ["ok"])


if __name__ == "__main__":
    main()
