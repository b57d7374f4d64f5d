// The GPU's kernels against the CPU's, on sizes and layouts that send them down each of their paths: packs
// and single elements, ends of less than a pack, masks broadcast over heads, transposed tiles, rows of every
// class of length. Exact ops agree bit for bit; results lie between guards, which nobody may touch.
#include <cstring>
#include <functional>
#include <limits>

#include "hunch/ops/kernels.h"
#include "op_testing.h"

namespace hunch::ops::testing {
namespace {

constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr DType kAll[] = {DType::f32, DType::bf16, DType::f16, DType::boolean};

CpuDevice& cpu() {
  static CpuDevice device(2);
  return device;
}

// The same values on both devices.
struct Both {
  Tensor cpu, cuda;
  template <class View>
  Both view(const View& view) const {
    return {view(cpu), view(cuda)};
  }
};

std::vector<float> values_of(uint64_t seed, DType dtype, int64_t count) {
  std::mt19937 random(static_cast<unsigned>(seed));
  std::vector<float> values(static_cast<std::size_t>(count));
  for (float& value : values) {
    const auto bits = static_cast<uint32_t>(random());
    value = dtype == DType::boolean ? static_cast<float>(bits % 4 != 0)
            : bits % 64 == 0        ? -kInf
                                    : static_cast<float>(bits) * 0x1p-29F - 4.0F;
  }
  return values;
}

Both make(uint64_t seed, DType dtype, const Shape& shape) {
  const auto values = values_of(seed, dtype, shape.numel());
  return {Tensor::from_floats(cpu(), dtype, shape, values),
          Tensor::from_floats(device(), dtype, shape, values)};
}

std::vector<std::byte> bytes_of(const Tensor& dense) {
  std::vector<std::byte> bytes(static_cast<std::size_t>(dense.numel()) * tensor::size_of(dense.dtype()));
  dense.device().synchronize();
  if (!bytes.empty()) dense.device().download(bytes.data(), dense.data(), bytes.size());
  return bytes;
}

// A dense result of `shape` inside a larger buffer, `offset` elements from its aligned start.
struct Guarded {
  Both whole, inside;
  Guarded(uint64_t seed, DType dtype, const Shape& shape, int64_t offset) {
    const int64_t count = shape.numel();
    whole = make(seed, dtype, {count + offset + 64});
    inside = whole.view([&](const Tensor& x) { return x.slice(0, offset, offset + count).view(shape); });
  }
  // Bit for bit, guards and all; and that the two calls wrote something at all, unless told otherwise.
  void expect_equal() const {
    const auto expected = bytes_of(whole.cpu), seen = bytes_of(whole.cuda);
    ASSERT_EQ(expected.size(), seen.size());
    if (std::memcmp(expected.data(), seen.data(), seen.size()) == 0) return;
    const auto size = tensor::size_of(whole.cpu.dtype());
    for (std::size_t i = 0; i < seen.size(); ++i)
      ASSERT_EQ(seen[i], expected[i])
          << "element " << i / size << " of the guarded buffer of " << inside.cpu.shape().text() << " "
          << tensor::name_of(whole.cpu.dtype());
  }
};

using View = std::function<Tensor(const Tensor&)>;
struct Case {
  const char* what;
  Shape storage;
  View view;
};

const std::vector<Case>& cases() {
  static const std::vector<Case> list = {
      {"dense", {3, 129, 1024}, [](const Tensor& x) { return x; }},
      {"dense, odd", {5, 7, 1031}, [](const Tensor& x) { return x; }},
      {"one row with an end", {100003}, [](const Tensor& x) { return x; }},
      {"less than a pack", {3}, [](const Tensor& x) { return x; }},
      {"off by one", {40001}, [](const Tensor& x) { return x.slice(0, 1, 40001); }},
      {"heads inside", {2, 64, 3, 64}, [](const Tensor& x) { return x.transpose(1, 2); }},
      {"heads inside, odd", {2, 33, 3, 30}, [](const Tensor& x) { return x.transpose(1, 2); }},
      {"transposed", {2, 3, 130, 72}, [](const Tensor& x) { return x.transpose(-1, -2); }},
      {"transposed, tiles", {3, 128, 192}, [](const Tensor& x) { return x.transpose(-1, -2); }},
      {"transposed, narrow", {5, 300, 3}, [](const Tensor& x) { return x.transpose(-1, -2); }},
      {"turned around", {40, 9, 70}, [](const Tensor& x) { return x.transpose(0, 2); }},
      {"every other", {33, 2048}, [](const Tensor& x) { return x.slice(1, 0, 2048, 2); }},
      {"columns of wider rows", {77, 640}, [](const Tensor& x) { return x.slice(1, 64, 576); }},
      {"columns, off by one", {77, 640}, [](const Tensor& x) { return x.slice(1, 1, 513); }},
      {"broadcast rows",
       {1, 512},
       [](const Tensor& x) {
         return x.expand({70, 512});
       }},
      {"broadcast columns",
       {300, 1},
       [](const Tensor& x) {
         return x.expand({300, 264});
       }},
      {"eight dimensions",
       {2, 3, 2, 3, 2, 2, 3, 8},
       [](const Tensor& x) { return x.transpose(0, 5).transpose(2, 6); }},
      {"repeated heads",
       {2, 3, 1, 65, 16},
       [](const Tensor& x) {
         return x.expand({2, 3, 4, 65, 16});
       }},
  };
  return list;
}

// body(x, seed, offset) for every case, dtype and an aligned and a misaligned result.
template <class Body>
void each_case(std::initializer_list<DType> dtypes, const Body& body) {
  uint64_t seed = 0;
  for (const Case& each : cases())
    for (const DType dtype : dtypes) {
      ++seed;
      if (::testing::Test::HasFatalFailure()) return;
      SCOPED_TRACE(std::string(each.what) + " " + std::string(tensor::name_of(dtype)));
      body(make(seed, dtype, each.storage).view(each.view), seed, seed % 3 == 0 ? 31 : 32);
    }
}

const Kernels& on_cuda() { return kernels_of(device()); }

TEST(CudaLayouts, Mul) {
  each_case({DType::f32, DType::bf16, DType::f16}, [](const Both& x, uint64_t seed, int64_t offset) {
    const Guarded out(seed, x.cpu.dtype(), x.cpu.shape(), offset);
    cpu_kernels().mul(out.inside.cpu, x.cpu, 0.37);
    on_cuda().mul(out.inside.cuda, x.cuda, 0.37);
    out.expect_equal();
  });
}

TEST(CudaLayouts, CopyAndRepeatHeads) {
  each_case({DType::f32, DType::bf16, DType::f16, DType::boolean},
            [](const Both& x, uint64_t seed, int64_t offset) {
              const Guarded out(seed, x.cpu.dtype(), x.cpu.shape(), offset);
              const CopyName name = seed % 2 == 0 ? CopyName::copy : CopyName::repeat_heads;
              cpu_kernels().copy(out.inside.cpu, x.cpu, name);
              on_cuda().copy(out.inside.cuda, x.cuda, name);
              out.expect_equal();
            });
}

TEST(CudaLayouts, CopyIntoViews) {
  uint64_t seed = 1000;
  for (const Case& each : cases())
    for (const DType dtype : kAll) {
      if (std::string(each.what).find("broadcast") == 0 || std::string(each.what).find("repeated") == 0)
        continue;
      SCOPED_TRACE(std::string(each.what) + " " + std::string(tensor::name_of(dtype)));
      const Both storage = make(++seed, dtype, each.storage);
      const Both target = storage.view(each.view);
      const Both source = make(seed + 1, dtype, target.cpu.shape());
      cpu_kernels().copy(target.cpu, source.cpu, CopyName::copy);
      on_cuda().copy(target.cuda, source.cuda, CopyName::copy);
      ASSERT_EQ(bytes_of(storage.cuda), bytes_of(storage.cpu));
    }
}

TEST(CudaLayouts, Cast) {
  for (const DType to : kAll)
    each_case({DType::f32, DType::bf16, DType::f16, DType::boolean},
              [to](const Both& x, uint64_t seed, int64_t offset) {
                if (x.cpu.dtype() == to) return;
                const Guarded out(seed, to, x.cpu.shape(), offset);
                cpu_kernels().cast(out.inside.cpu, x.cpu);
                on_cuda().cast(out.inside.cuda, x.cuda);
                out.expect_equal();
              });
}

TEST(CudaLayouts, IsNegInf) {
  each_case({DType::f32, DType::bf16, DType::f16}, [](const Both& x, uint64_t seed, int64_t offset) {
    const Guarded out(seed, DType::boolean, x.cpu.shape(), offset);
    cpu_kernels().is_neg_inf(out.inside.cpu, x.cpu);
    on_cuda().is_neg_inf(out.inside.cuda, x.cuda);
    out.expect_equal();
  });
}

TEST(CudaLayouts, Tril) {
  each_case({DType::f32, DType::bf16, DType::f16, DType::boolean},
            [](const Both& x, uint64_t seed, int64_t offset) {
              if (x.cpu.rank() < 2) return;
              const Guarded out(seed, x.cpu.dtype(), x.cpu.shape(), offset);
              cpu_kernels().tril(out.inside.cpu, x.cpu);
              on_cuda().tril(out.inside.cuda, x.cuda);
              out.expect_equal();
            });
}

TEST(CudaLayouts, Fill) {
  uint64_t seed = 0;
  for (const DType dtype : kAll)
    for (const int64_t count : {int64_t{1}, int64_t{7}, int64_t{4099}, int64_t{65536}})
      for (const int64_t offset : {int64_t{32}, int64_t{33}}) {
        const Guarded out(++seed, dtype, {count}, offset);
        cpu_kernels().fill(out.inside.cpu, -1.7);
        on_cuda().fill(out.inside.cuda, -1.7);
        out.expect_equal();
      }
}

// What a mask, a condition or an addend may look like beside x.
Shape other_shape(const Shape& whole, uint64_t seed) {
  Shape shape = whole;
  const int rank = whole.rank();
  switch (seed % 6) {
    case 0:
      break;
    case 1:  // one matrix for all
      for (int dim = 0; dim + 2 < rank; ++dim) shape[dim] = 1;
      break;
    case 2:  // one row for all
      for (int dim = 0; dim + 1 < rank; ++dim) shape[dim] = 1;
      break;
    case 5:  // one matrix for all heads, another for each batch
      if (rank >= 3) shape[rank - 3] = 1;
      break;
    case 3:  // one value a row
      shape[rank - 1] = 1;
      break;
    default:  // one value
      for (int dim = 0; dim < rank; ++dim) shape[dim] = 1;
  }
  return shape;
}

Both expanded(const Both& x, const Shape& shape) {
  return x.view([&](const Tensor& each) { return each.expand(shape); });
}

TEST(CudaLayouts, MaskedFill) {
  for (uint64_t round = 0; round < 6; ++round)
    each_case({DType::f32, DType::bf16, DType::f16, DType::boolean},
              [round](const Both& like, uint64_t seed, int64_t offset) {
                const Shape shape = like.cpu.shape();
                const Guarded x(seed, like.cpu.dtype(), shape, offset);
                Both mask = expanded(make(seed + 7, DType::boolean, other_shape(shape, round)), shape);
                if (round == 0 && shape.rank() >= 2) {  // causal: whole packs of either kind
                  Guarded causal(seed, DType::boolean, shape, 32);
                  for (const Tensor& each : {causal.inside.cpu, causal.inside.cuda}) {
                    const Tensor yes = ones(each.device(), DType::boolean, shape);
                    kernels_of(each.device()).tril(each, yes);
                  }
                  mask = causal.inside;
                }
                cpu_kernels().masked_fill(x.inside.cpu, mask.cpu, -kInf);
                on_cuda().masked_fill(x.inside.cuda, mask.cuda, -kInf);
                x.expect_equal();
              });
}

TEST(CudaLayouts, MaskedFillThroughViews) {
  uint64_t seed = 2000;
  for (const Case& each : cases()) {
    if (std::string(each.what).find("broadcast") == 0 || std::string(each.what).find("repeated") == 0)
      continue;
    SCOPED_TRACE(each.what);
    const Both storage = make(++seed, DType::bf16, each.storage);
    const Both target = storage.view(each.view);
    const Both mask = make(seed + 1, DType::boolean, target.cpu.shape());
    cpu_kernels().masked_fill(target.cpu, mask.cpu, 2.5);
    on_cuda().masked_fill(target.cuda, mask.cuda, 2.5);
    ASSERT_EQ(bytes_of(storage.cuda), bytes_of(storage.cpu));
  }
}

TEST(CudaLayouts, Where) {
  for (uint64_t round = 0; round < 6; ++round)
    each_case({DType::f32, DType::bf16, DType::f16, DType::boolean}, [round](const Both& a, uint64_t seed,
                                                                             int64_t offset) {
      const Shape shape = a.cpu.shape();
      const Both condition = expanded(make(seed + 7, DType::boolean, other_shape(shape, round)), shape);
      const Both b = expanded(make(seed + 8, a.cpu.dtype(), other_shape(shape, round + 2)), shape);
      const Guarded out(seed, a.cpu.dtype(), shape, offset);
      cpu_kernels().where(out.inside.cpu, condition.cpu, a.cpu, b.cpu);
      on_cuda().where(out.inside.cuda, condition.cuda, a.cuda, b.cuda);
      out.expect_equal();
    });
}

TEST(CudaLayouts, Add) {
  for (uint64_t round = 0; round < 6; ++round)
    for (const DType other : kAll)
      each_case({DType::f32, DType::bf16, DType::f16, DType::boolean},
                [round, other](const Both& a, uint64_t seed, int64_t offset) {
                  const DType dtype = a.cpu.dtype();
                  if (dtype == DType::boolean && other == DType::boolean) return;
                  if (round > 0 && dtype == DType::boolean) return;
                  const Shape shape = a.cpu.shape();
                  const Both b = expanded(make(seed + 7, other, other_shape(shape, round)), shape);
                  const DType wide = dtype == other || other == DType::boolean ? dtype
                                     : dtype == DType::boolean                 ? other
                                                                               : DType::f32;
                  const Guarded out(seed, wide, shape, offset);
                  cpu_kernels().add(out.inside.cpu, a.cpu, b.cpu);
                  on_cuda().add(out.inside.cuda, a.cuda, b.cuda);
                  out.expect_equal();
                });
}

TEST(CudaLayouts, All) {
  uint64_t seed = 0;
  for (const int64_t length : {1, 16, 31, 512, 1000, 1024, 8192, 8191, 20000})
    for (const int64_t offset : {int64_t{32}, int64_t{33}}) {
      const int64_t rows = 37;
      std::vector<float> values(static_cast<std::size_t>(rows * (length + 3)), 1.0F);
      std::mt19937 random(static_cast<unsigned>(++seed));
      for (int64_t row = 0; row < rows; row += 2)  // one false somewhere in every other row
        values[static_cast<std::size_t>(row * length) + random() % static_cast<std::size_t>(length)] = 0.0F;
      const Both storage = {Tensor::from_floats(cpu(), DType::boolean, {rows * (length + 3)}, values),
                            Tensor::from_floats(device(), DType::boolean, {rows * (length + 3)}, values)};
      for (const int64_t start : {int64_t{0}, int64_t{1}}) {
        const Both x = storage.view([&](const Tensor& each) {
          return each.slice(0, start, start + rows * length).view({rows, length});
        });
        const Guarded out(seed, DType::boolean, {rows, 1}, offset);
        cpu_kernels().all(out.inside.cpu, x.cpu);
        on_cuda().all(out.inside.cuda, x.cuda);
        out.expect_equal();
      }
    }
}

// Against the formula in double, and the guards bit for bit.
void expect_softmax(const Both& x, uint64_t seed, int64_t offset) {
  const Guarded out(seed, x.cpu.dtype(), x.cpu.shape(), offset);
  const auto before = bytes_of(out.whole.cpu);
  on_cuda().softmax(out.inside.cuda, x.cuda);
  const auto after = bytes_of(out.whole.cuda);
  const std::size_t size = tensor::size_of(x.cpu.dtype());
  const auto start = static_cast<std::size_t>(offset) * size;
  const auto end = start + static_cast<std::size_t>(x.cpu.numel()) * size;
  ASSERT_EQ(std::memcmp(before.data(), after.data(), start), 0);
  ASSERT_EQ(std::memcmp(before.data() + end, after.data() + end, before.size() - end), 0);
  const auto in = x.cpu.to_doubles(), seen = out.inside.cuda.to_doubles();
  const auto length = static_cast<std::size_t>(x.cpu.size(-1));
  for (std::size_t row = 0; row < in.size(); row += length) {
    double most = -kInf, sum = 0;
    for (std::size_t i = 0; i < length; ++i) most = std::max(most, in[row + i]);
    for (std::size_t i = 0; i < length; ++i) sum += std::exp(in[row + i] - most);
    for (std::size_t i = 0; i < length; ++i) {
      const double expected = std::exp(in[row + i] - most) / sum;
      if (std::isnan(expected)) {
        ASSERT_TRUE(std::isnan(seen[row + i]));
        continue;
      }
      const double bound = expected * (2e-6 + 1.01 * epsilon(x.cpu.dtype())) +
                           (x.cpu.dtype() == DType::f16 ? 0x1p-25 : 0x1p-126);
      ASSERT_NEAR(seen[row + i], expected, bound)
          << "row " << row / length << " of length " << length << ", element " << i;
    }
  }
}

TEST(CudaLayouts, SoftmaxOfEveryLength) {
  uint64_t seed = 0;
  for (const DType dtype : kFloats)
    for (const int64_t length : {1,    7,    8,    255,  256,  257,   511,   512,   1000,  1024,  1025, 2048,
                                 3001, 4096, 5000, 8192, 8193, 16384, 16400, 30001, 32768, 32769, 40000})
      for (const int64_t start : {int64_t{0}, int64_t{1}}) {
        const int64_t rows = length > 4096 ? 3 : 21;
        SCOPED_TRACE(std::string(tensor::name_of(dtype)) + " from " + std::to_string(start));
        const Both x = make(++seed, dtype, {rows * length + 1}).view([&](const Tensor& each) {
          return each.slice(0, start, start + rows * length).view({rows, length});
        });
        expect_softmax(x, seed, start == 0 ? 32 : 31);
        if (::testing::Test::HasFatalFailure()) return;
      }
}

TEST(CudaLayouts, SoftmaxOfEveryLayout) {
  each_case({DType::f32, DType::bf16, DType::f16},
            [](const Both& x, uint64_t seed, int64_t offset) { expect_softmax(x, seed, offset); });
}

// Rows of -inf, rows that begin with many, and rows with a NaN, in each kernel.
TEST(CudaLayouts, SoftmaxOfSpecialRows) {
  for (const DType dtype : kFloats)
    for (const int64_t length : {64, 1000, 2048, 20000, 32768, 40000}) {
      std::vector<float> values = values_of(5, dtype, 5 * length);
      const auto row = [&](int64_t index) { return values.begin() + index * length; };
      std::fill_n(row(0), length, -kInf);
      std::fill_n(row(1), length - 1, -kInf);
      *(row(1) + length - 1) = 3.0F;
      *(row(2) + length / 2) = std::nanf("");
      *(row(3)) = kInf;
      const auto out = softmax(Tensor::from_floats(device(), dtype, {5, length}, values)).to_doubles();
      for (int64_t i = 0; i < 5 * length; ++i) {
        const double value = out[static_cast<std::size_t>(i)];
        const int64_t at = i / length;
        ASSERT_EQ(std::isnan(value), at == 0 || at == 2 || at == 3) << i << " of " << length;
        if (at == 1) {
          ASSERT_EQ(value, i % length == length - 1 ? 1.0 : 0.0);
        }
      }
    }
}

// Products of attention's shapes and strides against the CPU's, in double's stead: both sum in float.
TEST(CudaLayouts, Matmul) {
  const auto check = [](const Both& a, const Both& b, int64_t offset) {
    if (::testing::Test::HasFatalFailure()) return;
    Shape shape = matmul(a.cpu, b.cpu).shape();
    SCOPED_TRACE(a.cpu.shape().text() + " x " + b.cpu.shape().text() + " " +
                 std::string(tensor::name_of(a.cpu.dtype())));
    const Guarded out(77, a.cpu.dtype(), shape, offset);
    const auto before = bytes_of(out.whole.cpu);
    Shape whole_a = shape, whole_b = shape;
    whole_a[-1] = whole_b[-2] = a.cpu.size(-1);
    on_cuda().matmul(out.inside.cuda, a.cuda.expand(whole_a), b.cuda.expand(whole_b));
    const auto after = bytes_of(out.whole.cuda);
    const std::size_t size = tensor::size_of(a.cpu.dtype());
    const auto start = static_cast<std::size_t>(offset) * size;
    const auto end = start + static_cast<std::size_t>(shape.numel()) * size;
    ASSERT_EQ(std::memcmp(before.data(), after.data(), start), 0);
    ASSERT_EQ(std::memcmp(before.data() + end, after.data() + end, before.size() - end), 0);
    const auto expected = matmul(a.cpu, b.cpu).to_doubles(), seen = out.inside.cuda.to_doubles();
    const auto k = static_cast<double>(a.cpu.size(-1));
    for (std::size_t i = 0; i < seen.size(); ++i)
      ASSERT_NEAR(seen[i], expected[i],
                  2.02 * epsilon(a.cpu.dtype()) * std::fabs(expected[i]) + 1e-6 * 16 * k + 1e-6)
          << "element " << i;
  };
  uint64_t seed = 0;
  const auto finite = [&seed](DType dtype, const Shape& shape) {
    auto values = values_of(++seed, dtype, shape.numel());
    for (float& value : values)
      if (std::isinf(value)) value = 0.5F;
    return Both{Tensor::from_floats(cpu(), dtype, shape, values),
                Tensor::from_floats(device(), dtype, shape, values)};
  };
  const auto swapped = [](const Both& x, int i, int j) {
    return x.view([&](const Tensor& each) { return each.transpose(i, j); });
  };
  for (const DType dtype : kFloats) {
    const Both q = finite(dtype, {2, 3, 130, 64}), k = finite(dtype, {2, 3, 97, 64});
    check(q, swapped(k, -1, -2), 32);
    const Both w = finite(dtype, {2, 3, 130, 97});
    check(w, k, 32);
    check(w, k, 33);                                                    // a result off by one element
    const Both inside = swapped(finite(dtype, {2, 130, 3, 64}), 1, 2);  // heads inside: a loop
    check(inside, swapped(k, -1, -2), 32);
    check(q, swapped(finite(dtype, {1, 1, 97, 64}), -1, -2), 32);  // broadcast
    check(q, swapped(finite(dtype, {2, 1, 97, 64}), -1, -2), 32);
    const Both odd = finite(dtype, {3, 33, 35});
    check(odd, finite(dtype, {3, 35, 31}), 31);
    check(odd.view([](const Tensor& x) { return x.slice(2, 1, 34); }), finite(dtype, {3, 33, 9}), 32);
    check(odd.view([](const Tensor& x) { return x.slice(2, 0, 35, 2); }), finite(dtype, {18, 9}),
          32);  // two strides: copied first
    check(finite(dtype, {9, 12, 1, 64}), finite(dtype, {9, 12, 64, 40}), 32);
    check(finite(dtype, {70, 2, 5, 16}), swapped(finite(dtype, {70, 16, 2, 8}), 1, 2),
          32);  // more batches than a loop takes
    check(finite(dtype, {40, 1}), finite(dtype, {1, 50}), 32);
  }
}

}  // namespace
}  // namespace hunch::ops::testing
