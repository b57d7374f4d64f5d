// Reads what `nsys export --type sqlite` writes: kernels, copies, memsets, CUDA calls, synchronisations,
// graphs traced as a whole, and NVTX ranges, which become annotations or, where PyTorch's emit_nvtx wrote
// them, ops. Versions differ in their tables and columns: what is missing is "not in this trace", never an
// error.
#pragma once

#include "hunch/formats/reader.h"

namespace hunch::formats::nsys_sqlite {

class NsysSqliteReader final : public Reader {
 public:
  std::string_view name() const override { return "nsys_sqlite"; }
  bool sniff(std::string_view first_bytes) const override;
  base::Status read(Input& input, trace::TraceBuilder& builder, const ReadOptions& options) const override;
};

}  // namespace hunch::formats::nsys_sqlite
