// cuBLASLt without linking it: the functions that matmul uses, looked up in the library when the first
// product needs them, and the check around their results.
//
// In: nothing. Out: the table, or the Error that says which library is missing and what to install.
#pragma once

#include <cublasLt.h>

#include "hunch/base/result.h"

namespace hunch::ops::cuda {

struct CublasLt {
  decltype(&cublasLtCreate) create = nullptr;
  decltype(&cublasLtGetStatusString) status_text = nullptr;
  decltype(&cublasLtMatmul) matmul = nullptr;
  decltype(&cublasLtMatmulAlgoGetHeuristic) heuristic = nullptr;
  decltype(&cublasLtMatmulDescCreate) create_product = nullptr;
  decltype(&cublasLtMatmulDescSetAttribute) set_product = nullptr;
  decltype(&cublasLtMatrixLayoutCreate) create_layout = nullptr;
  decltype(&cublasLtMatrixLayoutSetAttribute) set_layout = nullptr;
  decltype(&cublasLtMatmulPreferenceCreate) create_preference = nullptr;
  decltype(&cublasLtMatmulPreferenceSetAttribute) set_preference = nullptr;
  decltype(&cublasLtMatmulPreferenceDestroy) destroy_preference = nullptr;
};

// Opened at the first call, once for the process.
const base::Result<CublasLt>& find_cublaslt();
// The same, where it must be there: that it is was asked before (matmul_missing).
const CublasLt& cublaslt();

// Aborts with the library's own words unless `status` is success.
void check_cublaslt(cublasStatus_t status, const char* call, const char* file, int line);

}  // namespace hunch::ops::cuda

#define HUNCH_CUBLASLT_CHECK(call) ::hunch::ops::cuda::check_cublaslt(call, #call, __FILE__, __LINE__)
