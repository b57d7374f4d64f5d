// bf16 products by the CPU's own instructions (AVX512_BF16, AMX) through oneDNN's matmul primitive, with
// bf16 in and out and f32 in between. A primitive is compiled for its sizes and strides, which takes far
// longer than running it; so they are kept. A primitive may run on several workers at once: its scratch
// memory is theirs.
// In: blocks that oneDNN can read in place. Out: a row-major block. oneDNN throws; nothing leaves here.
#include <array>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include <dnnl.hpp>

#include "hunch/ops/matmul_cpu.h"

namespace hunch::ops::cpu {

class Bf16Product {
 public:
  Bf16Product(const Block& a, const Block& b, int64_t target_leading)
      : a_(description(a.rows, a.columns, layout_of(a))),
        b_(description(b.rows, b.columns, layout_of(b))),
        target_(description(a.rows, b.columns, {true, false, target_leading})) {
    dnnl::primitive_attr attributes;
    attributes.set_scratchpad_mode(dnnl::scratchpad_mode::user);
    const dnnl::matmul::primitive_desc plan(dnnl::matmul::desc(a_, b_, target_), attributes, engine());
    scratch_ = plan.scratchpad_desc();
    primitive_ = dnnl::matmul(plan);
  }

  void run(const std::byte* a, const std::byte* b, std::byte* target) const {
    static thread_local dnnl::stream stream(engine());
    static thread_local std::vector<std::byte> scratch;
    if (scratch.size() < scratch_.get_size()) scratch.resize(scratch_.get_size());
    primitive_.execute(stream, {{DNNL_ARG_SRC, memory(a_, a)},
                                {DNNL_ARG_WEIGHTS, memory(b_, b)},
                                {DNNL_ARG_DST, memory(target_, target)},
                                {DNNL_ARG_SCRATCHPAD, memory(scratch_, scratch.data())}});
    stream.wait();
  }

 private:
  static dnnl::engine& engine() {
    static dnnl::engine cpu(dnnl::engine::kind::cpu, 0);
    return cpu;
  }
  static dnnl::memory::desc description(int64_t rows, int64_t columns, const Layout& layout) {
    const dnnl::memory::dims strides =
        layout.transposed ? dnnl::memory::dims{1, layout.leading} : dnnl::memory::dims{layout.leading, 1};
    return {{rows, columns}, dnnl::memory::data_type::bf16, strides};
  }
  static dnnl::memory memory(const dnnl::memory::desc& description, const void* data) {
    return {description, engine(), const_cast<void*>(data)};
  }

  dnnl::memory::desc a_, b_, target_, scratch_;
  dnnl::matmul primitive_;
};

bool has_native_bf16() {
  static const bool native = [] {
    const auto isa = dnnl::get_effective_cpu_isa();
    return isa == dnnl::cpu_isa::avx512_core_bf16 || isa == dnnl::cpu_isa::avx512_core_amx;
  }();
  return native;
}

const Bf16Product* find_bf16_product(const Block& a, const Block& b, int64_t target_leading) {
  using Key = std::array<int64_t, 8>;
  static std::mutex mutex;
  static auto* kept =
      new std::map<Key, std::unique_ptr<Bf16Product>>;  // never freed: workers may outlive statics
  const Layout layout_a = layout_of(a), layout_b = layout_of(b);
  const Key key = {a.rows,           b.rows,           b.columns,           layout_a.transposed,
                   layout_a.leading, layout_b.leading, layout_b.transposed, target_leading};
  std::lock_guard lock(mutex);
  const auto [found, fresh] = kept->try_emplace(key);
  if (fresh) {
    try {
      found->second = std::make_unique<Bf16Product>(a, b, target_leading);
    } catch (const dnnl::error&) {  // stays null: this kind is widened instead
    }
  }
  return found->second.get();
}

void run(const Bf16Product& product, const std::byte* a, const std::byte* b, std::byte* target) {
  product.run(a, b, target);
}

}  // namespace hunch::ops::cpu
