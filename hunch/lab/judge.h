// The judge of a run: the same call in double precision, on all rows or on a sample, and the design's bound.
//
// In:  a call, once; then each variant's result. Out: its largest error and whether that is allowed.
// Holds: the sample depends on the call's sizes and the seed alone, and has the first and the last query of
// every head it looks at; a NaN where a number belongs never passes; a row without any attended key must be
// exactly zero, or NaN from attention by hand, whose formula gives that.
#pragma once

#include <cstdint>
#include <vector>

#include "hunch/attention/problem.h"

namespace hunch::lab {

struct Judgement {
  double max_abs_error = 0;  // infinite where a number is missing
  bool ok = false;
};

class Judge {
 public:
  // Computes the reference: well under a second on the calling thread for problems whose single rows allow
  // it.
  Judge(const attention::Call& call, uint64_t seed);

  // `out` [batch, heads, length, value_dim]; synchronizes its device.
  Judgement judge(const tensor::Tensor& out, bool by_hand) const;

  double error_bound() const { return bound_; }
  int64_t rows() const;  // how many were sampled

 private:
  // Some queries of one head, or all queries of all heads.
  struct Part {
    bool whole = false;
    int64_t batch = 0;
    int64_t head = 0;
    std::vector<int64_t> queries;  // where not whole
    std::vector<double> exact;     // [rows, value_dim]
    std::vector<bool> empty;       // rows without any attended key
  };
  void add_part(Part part, const attention::Call& call, std::vector<double>& plain);

  std::vector<Part> parts_;
  int64_t value_dim_ = 0;
  double bound_ = 0;
};

}  // namespace hunch::lab
