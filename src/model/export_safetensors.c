/* export_safetensors.c - a model file (model_file.h): weights by the names of PyTorch's state_dict. */
#include "model/export.h"

static pada_status write_model(const pada_export_desc *desc)
{
    return pada_model_write(desc->file, desc->about, desc->engine);
}

const pada_export pada_export_safetensors = {
    .name = "safetensors",
    .summary = "a model of pada: tensors of PyTorch's state_dict, and all about them as metadata",
    .write = write_model,
};
