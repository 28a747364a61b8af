/* Files that are given for an ONNX model by mistake: what they are, and what to do. First of all on the way from model
 * to source, and only when the way ends at once. */
#include "compiler/import/onnx_import.h"
#include <string.h>

/* Where the bytes are that tell such a file. */
static const struct foreign {
    size_t at;
    const char *begin, *help;
} foreign[] = {
    {0, "version https://git-lfs", "it is a pointer of Git LFS; `git lfs pull` fetches the model"},
    {4, "ORTM", "it has ONNX Runtime's own format; take the ONNX model that it was made from"},
    {0, "PK\3\4",
     "it is a zip archive, as PyTorch and Keras write; unpack it, or export the model to ONNX (torch.onnx.export)"},
    {0, "\200\2",
     "it is a Python pickle, as older PyTorch writes; load it there and export it to ONNX (torch.onnx.export)"},
    {0, "\211HDF", "it is an HDF5 file, as Keras writes; load it there and export it to ONNX (tf2onnx)"},
    {8, "{\"", "it is a safetensors file: weights without a graph; export the model to ONNX where it is loaded"},
    {0, "GGUF", "it is a GGUF file: weights without a graph; export the model to ONNX where it came from"},
    {0, "<", "it is a page of the web or another text in XML, not what a download should have given"},
    {0, "\37\213", "it is compressed; unpack it first (gunzip)"},
    {0,
     "\375"
     "7zXZ",
     "it is compressed; unpack it first (unxz)"},
    {0, "\50\265\57\375", "it is compressed; unpack it first (unzstd)"},
};

const char *foreign_file(const uint8_t *data, size_t n) {
    for (size_t k = 0; k < sizeof foreign / sizeof *foreign; k++) {
        const struct foreign *f = &foreign[k];
        size_t length = strlen(f->begin);
        if (n >= length && f->at <= n - length && !memcmp(data + f->at, f->begin, length)) return f->help;
    }
    return NULL;
}
