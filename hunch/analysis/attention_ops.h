// Which attention backend a forward took, from the ops that it called and the kernels that they launched.
#pragma once

#include <span>
#include <string_view>

#include "hunch/analysis/analysis.h"

namespace hunch::analysis {

// The backend that an op's name gives: "aten::_scaled_dot_product_flash_attention" (and its backward, and
// autograd's node for it) is "flash". Empty: not an attention op, or one that stands for several backends
// ("aten::scaled_dot_product_attention").
std::string_view attention_backend_of_op(std::string_view op);

// Every name that a forward's backend can consist of, in order: "aiter", ..., "flash", ..., "naive".
std::vector<std::string_view> known_backends();

// Collects what all runs of one forward show.
class BackendCollector {
 public:
  // Needs the analysis' timeline and facts.
  explicit BackendCollector(const Analysis& analysis);

  // By StringId: the backend of that op name, or empty. Ops with one are worth adding.
  std::string_view backend_of(trace::StringId name) const;
  bool any_attention_op() const { return any_; }

  // "flash+math" of one forward: the attention ops that its runs called, launched work or not; kernels whose
  // names tell a backend where no such op launched them; "naive" where matmul, softmax, matmul follow each
  // other with nothing but scaling, masks, dropout and copies between, outside of attention ops.
  std::string backend(const Forward& forward, std::span<const EventId> attention_ops) const;

 private:
  // What a piece of device work is to attention by hand.
  enum class Role : uint8_t { between, product, softmax, other };

  bool inside_attention_op(EventId device_event) const;
  Role role_of(EventId device_event) const;
  bool has_attention_by_hand(const ForwardRun& run) const;

  const Analysis& analysis_;
  std::vector<std::string_view> by_name_;  // by StringId: an op name's backend
  std::vector<bool> is_layer_;             // by StringId: ops and kernels of layers other than attention
  std::vector<Role> roles_;                // by EventId; between for host events
  bool any_ = false;
};

}  // namespace hunch::analysis
