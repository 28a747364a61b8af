"""open_batch.py MODEL OUT: opens the first dimension of all inputs and outputs, as the symbol `batch`."""
import sys

import onnx

model = onnx.load(sys.argv[1])
for value in [*model.graph.input, *model.graph.output]:
    value.type.tensor_type.shape.dim[0].dim_param = "batch"
del model.graph.value_info[:]
onnx.save(model, sys.argv[2])
