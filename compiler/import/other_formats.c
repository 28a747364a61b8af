/* Files that are mistaken for an ONNX model: recognises what they are, and says how to get an ONNX model from them.
 * Used only when the import has failed. */
#include "compiler/import/onnx.h"
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define PYTHON(code) "`python3 -c \"" code "\"`"
#define TORCH(load)                                                                                                    \
    PYTHON("import torch; m = " load "; torch.onnx.export(m, (torch.rand(1, 3, 224, 224),), 'model.onnx')")
#define AN_INPUT    ", with an input of the size that it takes"
#define TF(option)  "`python3 -m tf2onnx.convert " option " FILE --output model.onnx`"
#define ML_TYPES(n) "[('x', FloatTensorType([None, " n "]))]"
#define ML_FLOATS   "from onnxmltools.convert.common.data_types import FloatTensorType; "
#define TREES(lib, load, n)                                                                                            \
    PYTHON("import " lib ", onnxmltools; " ML_FLOATS "m = " load                                                       \
           "; onnxmltools.utils.save_model(onnxmltools.convert_" lib                                                   \
           "(m, initial_types=" ML_TYPES(n) "), 'model.onnx')")
#define KERAS PYTHON("import keras; keras.saving.load_model('FILE').export('model.onnx', format='onnx')")
#define CHECKPOINT                                                                                                     \
    TORCH("torch.load('FILE', weights_only=False).eval()")                                                             \
    AN_INPUT "; where it holds only weights, load them into the "                                                      \
             "model's class first"
#define ESTIMATOR                                                                                                      \
    PYTHON("import joblib, skl2onnx; m = joblib.load('FILE'); t = [('x', "                                             \
           "skl2onnx.common.data_types.FloatTensorType([None, m.n_features_in_]))]; open('model.onnx', "               \
           "'wb').write(skl2onnx.to_onnx(m, initial_types=t).SerializeToString())")

struct other_format {
    size_t at;
    const char *begin;  /* the contents at byte `at`; NULL: anything */
    const char *mark;   /* text that occurs near the beginning or the end */
    const char *ending; /* of the path */
    const char *what, *route;
};
#define EXPORTED                                                                                                       \
    .what = "a program of torch.export",                                                                               \
    .route = PYTHON("import torch; torch.onnx.export(torch.export.load('FILE'), dynamo=True).save('model.onnx')")
#define TENSORRT                                                                                                       \
    .what = "an engine of TensorRT, code for one kind of GPU",                                                         \
    .route = "take the model that `trtexec --onnx=MODEL` was given"
#define NCNN                                                                                                           \
    .what = "a model of ncnn",                                                                                         \
    .route = "ncnn writes no ONNX: `pnnx model.pt` makes model.pnnx.onnx of the PyTorch model"
/* The first matching row is used. In `route`, FILE stands for the path. */
static const struct other_format rows[] = {
    {.begin = "version https://git-lfs", .what = "a pointer of Git LFS", .route = "`git lfs pull` fetches the model"},
    {.at = 4,
     .begin = "ORTM",
     .what = "a model in ONNX Runtime's own format",
     .route = "take the .onnx that `python3 -m onnxruntime.tools.convert_onnx_models_to_ort` was given"},
    {.begin = "PK\3\4",
     .mark = "constants.pkl",
     .what = "a TorchScript model",
     .route = PYTHON("import torch; m = torch.jit.load('FILE').eval(); torch.onnx.export(m, (torch.rand(1, 3, 224, "
                     "224),), 'model.onnx', dynamo=False)") AN_INPUT},
    {.begin = "PK\3\4", .mark = "exported_program", EXPORTED},
    {.begin = "PK\3\4", .mark = "models/model.json", EXPORTED},
    {.begin = "PK\3\4", .mark = "data.pkl", .what = "a PyTorch checkpoint", .route = CHECKPOINT},
    {.begin = "PK\3\4", .mark = "model.weights.h5", .what = "a Keras model", .route = KERAS},
    {.begin = "PK\3\4", .mark = ".onnx", .what = "a zip archive", .route = "`unzip FILE` takes the model out"},
    {.begin = "PK\3\4", .what = "a zip archive", .route = "`unzip FILE`, and compile the model that it holds"},
    {.begin = "\200\2", .ending = ".pkl", .what = "a Python pickle", .route = ESTIMATOR},
    {.begin = "\200\2", .what = "a PyTorch checkpoint of the older form", .route = CHECKPOINT},
    {.begin = "\200", .mark = "sklearn", .what = "a pickled estimator of scikit-learn", .route = ESTIMATOR},
    {.begin = "\200", .mark = "torch", .what = "a pickled PyTorch model", .route = CHECKPOINT},
    {.begin = "\200\3", .what = "a Python pickle", .route = ESTIMATOR},
    {.begin = "\200\4", .what = "a Python pickle", .route = ESTIMATOR},
    {.begin = "\200\5", .what = "a Python pickle", .route = ESTIMATOR},
    {.ending = ".joblib", .what = "an estimator that joblib stored", .route = ESTIMATOR},
    {.begin = "\211HDF", .what = "an HDF5 file, as Keras writes", .route = KERAS},
    {.at = 8,
     .begin = "{\"",
     .what = "a safetensors file, weights without a graph",
     .route = "`optimum-cli export onnx --model FOLDER onnx/`, with the folder that it lies in"},
    {.begin = "GGUF",
     .what = "a GGUF file, weights without a graph",
     .route = "`optimum-cli export onnx --model NAME onnx/`, with the model that it was made of"},
    {.begin = "<",
     .mark = "<net ",
     .what = "a model of OpenVINO",
     .route = "OpenVINO writes no ONNX: take the model that `ovc MODEL` was given"},
    {.begin = "<",
     .what = "a page of the web or another text in XML, not what a download should have given",
     .route = "`curl -L -o model.onnx URL` with the address of the file itself"},
    {.begin = "ftrt", TENSORRT},
    {.begin = "ptrt", TENSORRT},
    {.begin = "7767517", NCNN},
    {.begin = "\335\205\166", NCNN},
    {.begin = "tree\nversion=",
     .what = "a LightGBM model",
     .route = TREES("lightgbm", "lightgbm.Booster(model_file='FILE')", "m.num_feature()")},
    {.begin = "{",
     .mark = "\"learner\"",
     .what = "an XGBoost model",
     .route = TREES("xgboost", "xgboost.Booster(model_file='FILE')", "m.num_features()")},
    {.begin = "CBM1",
     .what = "a CatBoost model",
     .route = PYTHON("import catboost; m = catboost.CatBoost(); m.load_model('FILE'); m.save_model('model.onnx', "
                     "format='onnx')")},
    {.begin = "\37\213", .what = "a compressed file", .route = "`gunzip FILE`"},
    {.begin = "\375"
              "7zXZ",
     .what = "a compressed file",
     .route = "`unxz FILE`"},
    {.begin = "\50\265\57\375", .what = "a compressed file", .route = "`unzstd FILE`"},
    {.begin = "graph \"", .what = "a graph as text", .route = "`gcc2nn opt FILE` reads it"},
    /* formats without a signature */
    {.ending = "saved_model.pb",
     .what = "a TensorFlow SavedModel",
     .route = "`python3 -m tf2onnx.convert --saved-model FOLDER --output model.onnx`, with the folder that it lies in"},
    {.ending = ".pb", .what = "a frozen TensorFlow graph", .route = TF("--inputs x:0 --outputs y:0 --graphdef")},
    {.ending = ".mlmodel",
     .what = "a Core ML model",
     .route = PYTHON("import coremltools, onnxmltools; onnxmltools.utils.save_model(onnxmltools.convert_coreml("
                     "coremltools.utils.load_spec('FILE')), 'model.onnx')")},
    {.ending = ".pdmodel",
     .what = "a PaddlePaddle model",
     .route =
         "`paddle2onnx --model_dir . --model_filename FILE --params_filename NAME.pdiparams --save_file model.onnx`"},
    {.ending = ".caffemodel",
     .what = "a Caffe model",
     .route = "`python3 -m caffe2onnx.convert --prototxt NET.prototxt --caffemodel FILE --onnx model.onnx`"},
    {.ending = ".prototxt",
     .what = "a Caffe network",
     .route = "`python3 -m caffe2onnx.convert --prototxt FILE --caffemodel NET.caffemodel --onnx model.onnx`"},
    {.ending = ".mnn",
     .what = "a model of MNN",
     .route = "MNN writes no ONNX: take the model that `MNNConvert -f ONNX --modelFile MODEL` was given"},
    {.ending = ".engine", TENSORRT},
    {.ending = ".bin", .what = "a file of weights", .route = "give the model that it belongs to"},
    {.ending = ".param", NCNN},
};
static const struct other_format empty = {.what = "an empty file", .route = "fetch or export the model again"};
static const struct other_format saved_model = {
    .what = "a TensorFlow SavedModel", .route = "`python3 -m tf2onnx.convert --saved-model FILE --output model.onnx`"};
static const struct other_format ml_package = {
    .what = "a Core ML package",
    .route = "Core ML writes no ONNX of it: export the model that coremltools.convert was given (torch.onnx.export)"};
static const struct other_format hugging_face = {.what = "a folder of transformers",
                                                 .route = "`optimum-cli export onnx --model FILE onnx/`"};

static bool holds(const uint8_t *data, size_t n, const char *mark) {
    size_t length = strlen(mark);
    for (size_t k = 0; length <= n && k <= n - length; k++)
        if (data[k] == (uint8_t)*mark && !memcmp(data + k, mark, length)) return true;
    return false;
}
/* Names of members are at the ends of archives, classes at the beginning of pickles. */
static bool marked(const uint8_t *data, size_t n, const char *mark) {
    enum { LOOKED_AT = 1 << 16 };
    size_t part = n < LOOKED_AT ? n : LOOKED_AT;
    return !mark || holds(data, part, mark) || holds(data + n - part, part, mark);
}
static bool begins(const uint8_t *data, size_t n, const struct other_format *f) {
    size_t length = f->begin ? strlen(f->begin) : 0;
    return n >= length && f->at <= n - length && (!length || !memcmp(data + f->at, f->begin, length));
}
static const struct other_format *file_kind(const char *path, const uint8_t *data, size_t n) {
    if (n == 0) return &empty;
    for (size_t k = 0; k < sizeof rows / sizeof *rows; k++)
        if (begins(data, n, &rows[k]) && (!rows[k].ending || ends_with(path, rows[k].ending)) &&
            marked(data, n, rows[k].mark))
            return &rows[k];
    return NULL;
}
static const struct other_format *folder_kind(struct arena *a, const char *path) {
    struct stat st;
    if (stat(path, &st) != 0 || !S_ISDIR(st.st_mode)) return NULL;
    if (access(arena_printf(a, "%s/saved_model.pb", path), F_OK) == 0) return &saved_model;
    if (access(arena_printf(a, "%s/Manifest.json", path), F_OK) == 0) return &ml_package;
    return access(arena_printf(a, "%s/config.json", path), F_OK) == 0 ? &hugging_face : NULL;
}
/* A path with special characters of the shell is shown as FILE. */
static const char *route_of(struct arena *a, const struct other_format *f, const char *path) {
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-/+=,@";
    const char *at = strstr(f->route, "FILE");
    if (!at || path[strspn(path, plain)] || strlen(path) > 200) return f->route;
    return arena_printf(a, "%.*s%s%s", (int)(at - f->route), f->route, path, at + strlen("FILE"));
}
static bool tell(struct diags *d, const char *path, const struct other_format *f) {
    if (!f) return false;
    diag_at(d, DIAG_ERROR, E_ONNX, path, NULL, "it is %s, no ONNX model", f->what);
    diag_help(d, "%s", route_of(d->arena, f, path));
    return true;
}
bool other_format_file(struct diags *d, const char *path, const uint8_t *data, size_t n) {
    return tell(d, path, file_kind(path, data, n));
}
bool other_format_folder(struct diags *d, const char *path) { return tell(d, path, folder_kind(d->arena, path)); }
