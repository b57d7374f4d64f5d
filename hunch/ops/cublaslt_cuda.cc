// Opens cuBLASLt and looks its functions up. The library of the headers' major version: within one the
// interface only grows.
#include <string>

#include "hunch/base/check.h"
#include "hunch/base/nvidia_libraries.h"
#include "hunch/base/shared_library.h"
#include "hunch/ops/cublaslt.cuh"
#include "hunch/ops/kernels_cuda.h"

namespace hunch::ops::cuda {
namespace {

static_assert(CUBLAS_VER_MAJOR >= 12, "cuBLASLt 12 or later");

std::string remedy() {
  return "install cuBLAS " + std::to_string(CUBLAS_VER_MAJOR) +
         " (Debian and Ubuntu, from NVIDIA's repository: libcublas-" + std::to_string(CUBLAS_VER_MAJOR) +
         "-" + std::to_string(CUBLAS_VER_MINOR) + "), or add its folder to LD_LIBRARY_PATH";
}

base::Result<CublasLt> open() {
  const auto library =
      base::SharedLibrary::open(base::nvidia::cublaslt(CUBLAS_VER_MAJOR), base::cuda_library_folders());
  if (!library)
    return base::fail(base::ErrorCode::environment,
                      "matmul on CUDA needs cuBLASLt: " + library.error().message, remedy());
  CublasLt table;
  std::string missing;
  const auto find = [&](auto& function, const char* symbol) {
    function = library->function<std::remove_pointer_t<std::remove_reference_t<decltype(function)>>>(symbol);
    if (function == nullptr) missing = symbol;
  };
  find(table.create, "cublasLtCreate");
  find(table.status_text, "cublasLtGetStatusString");
  find(table.matmul, "cublasLtMatmul");
  find(table.heuristic, "cublasLtMatmulAlgoGetHeuristic");
  find(table.create_product, "cublasLtMatmulDescCreate");
  find(table.set_product, "cublasLtMatmulDescSetAttribute");
  find(table.create_layout, "cublasLtMatrixLayoutCreate");
  find(table.set_layout, "cublasLtMatrixLayoutSetAttribute");
  find(table.create_preference, "cublasLtMatmulPreferenceCreate");
  find(table.set_preference, "cublasLtMatmulPreferenceSetAttribute");
  find(table.destroy_preference, "cublasLtMatmulPreferenceDestroy");
  if (!missing.empty())
    return base::fail(base::ErrorCode::environment, library->name() + " has no " + missing, remedy());
  return table;
}

}  // namespace

const base::Result<CublasLt>& find_cublaslt() {
  static const base::Result<CublasLt> table = open();
  return table;
}

const CublasLt& cublaslt() {
  const auto& table = find_cublaslt();
  HUNCH_CHECK(table.has_value(), table ? "" : base::describe(table.error()));
  return *table;
}

void check_cublaslt(cublasStatus_t status, const char* call, const char* file, int line) {
  if (status != CUBLAS_STATUS_SUCCESS) base::check_failed(call, file, line, cublaslt().status_text(status));
}

std::string matmul_missing() {
  const auto& table = find_cublaslt();
  return table ? std::string() : base::describe(table.error());
}

}  // namespace hunch::ops::cuda
