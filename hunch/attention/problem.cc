// The problem as text and numbers: parsing what a person types, printing it back, its floating-point work,
// and the limits that keep every later product of sizes free of overflow.
// In:  "8x16x1024x64" and fields set one by one. Out: a Problem, or an error that says what to write instead.
// Holds: after validate() no tensor of the problem exceeds kMaxTensorBytes, so its sizes fit int64. Pair
// counts (length x kv_length) may still be huge; whoever sizes a score matrix counts in double.
#include "hunch/attention/problem.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "hunch/base/strings.h"
#include "hunch/base/units.h"

namespace hunch::attention {
namespace {

using base::ErrorCode;

constexpr std::array<std::pair<MaskKind, std::string_view>, 4> kMasks = {{{MaskKind::none, "none"},
                                                                          {MaskKind::causal, "causal"},
                                                                          {MaskKind::boolean, "bool"},
                                                                          {MaskKind::floating, "float"}}};

constexpr std::array<std::string_view, 4> kSizeNames = {"batch", "heads", "length", "head_dim"};
constexpr const char* kForm = "batch x heads x length x head_dim, such as 8x16x1024x64";

// The largest size of one dimension; the products are checked apart.
constexpr int64_t kMaxSize = int64_t{1} << 31;

base::Result<int64_t> parse_size(std::string_view part, std::string_view name, int64_t least,
                                 std::string_view whole) {
  const auto text = base::trim(part);
  const bool digits = !text.empty() && text.find_first_not_of("0123456789") == std::string_view::npos;
  if (!digits) {
    return base::fail(
        ErrorCode::usage,
        text.empty() ? fmt::format("the {} of problem '{}' is missing", name, whole)
                     : fmt::format("'{}' is not a whole number (the {} of problem '{}')", text, name, whole),
        kForm);
  }
  const auto size = base::parse_int(text);  // empty: beyond int64
  if (!size || *size > kMaxSize) {
    return base::fail(ErrorCode::usage, fmt::format("{} {} of problem '{}' is too large", name, text, whole),
                      fmt::format("a {} of at most {}", name, kMaxSize));
  }
  if (*size < least) {
    return base::fail(ErrorCode::usage, fmt::format("{} is {} in problem '{}'", name, *size, whole),
                      fmt::format("a {} of at least {}", name, least));
  }
  return *size;
}

base::Status check_range(std::string_view name, int64_t size, int64_t least) {
  if (size < least)
    return base::fail(ErrorCode::usage, fmt::format("{} is {}", name, size),
                      fmt::format("at least {}", least));
  if (size > kMaxSize)
    return base::fail(ErrorCode::usage, fmt::format("{} {} is too large", name, size),
                      fmt::format("at most {}", kMaxSize));
  return {};
}

// Bytes of a dense tensor, in double: it may be far beyond int64. Empty dimensions count as 1, because
// strides are products too.
double dense_bytes(std::array<int64_t, 4> sizes, tensor::DType dtype) {
  double bytes = static_cast<double>(tensor::size_of(dtype));
  for (const auto size : sizes) bytes *= static_cast<double>(std::max<int64_t>(size, 1));
  return bytes;
}

base::Status check_bytes(std::string_view what, double bytes) {
  if (bytes <= static_cast<double>(kMaxTensorBytes)) return {};
  return base::fail(ErrorCode::usage, fmt::format("the {} would take {:.3g} bytes", what, bytes),
                    fmt::format("sizes whose product stays below {}", base::format_bytes(kMaxTensorBytes)));
}

}  // namespace

std::string_view name_of(MaskKind kind) {
  for (const auto& [mask, name] : kMasks)
    if (mask == kind) return name;
  return "unknown";
}

std::optional<MaskKind> parse_mask(std::string_view name) {
  for (const auto& [mask, mask_name] : kMasks)
    if (mask_name == name) return mask;
  return std::nullopt;
}

std::string Problem::text() const {
  std::string text = fmt::format("{} x {} x {} x {}", batch, heads, length, head_dim);
  if (kv_heads != heads) text += fmt::format(", kv_heads {}", kv_heads);
  if (kv_length != length) text += fmt::format(", kv_length {}", kv_length);
  text += fmt::format(", {}, {}", tensor::name_of(dtype),
                      mask == MaskKind::none      ? "no mask"
                      : mask == MaskKind::causal  ? "causal"
                      : mask == MaskKind::boolean ? "bool mask"
                                                  : "float mask");
  if (window) text += fmt::format(", window {}", *window);
  if (scale) text += fmt::format(", scale {:g}", *scale);
  if (softcap) text += fmt::format(", softcap {:g}", *softcap);
  return text;
}

double Problem::flops() const {
  const double rows = static_cast<double>(length);
  const double columns = static_cast<double>(kv_length);
  double pairs = rows * columns;
  if (mask == MaskKind::causal) {
    // By area, not by counting the diagonal: half of the square, as the field counts; rows below it see all.
    pairs = rows <= columns ? rows * rows / 2 : columns * columns / 2 + (rows - columns) * columns;
    if (window) {  // what it hides of that: the same triangle, that much further down
      const double hiding = std::max(0.0, rows - static_cast<double>(*window));
      pairs -= hiding <= columns ? hiding * hiding / 2 : columns * columns / 2 + (hiding - columns) * columns;
    }
  }
  return 4.0 * static_cast<double>(batch) * static_cast<double>(heads) * pairs *
         static_cast<double>(head_dim);
}

base::Result<Problem> parse_problem(std::string_view text) {
  const auto whole = base::trim(text);
  if (whole.empty()) return base::fail(ErrorCode::usage, "the problem is empty", kForm);
  std::string lower(whole);
  std::replace(lower.begin(), lower.end(), 'X', 'x');
  const auto parts = base::split(lower, 'x');
  if (parts.size() != kSizeNames.size()) {
    return base::fail(ErrorCode::usage,
                      fmt::format("problem '{}' has {} size{} instead of 4", whole, parts.size(),
                                  parts.size() == 1 ? "" : "s"),
                      kForm);
  }
  std::array<int64_t, 4> sizes = {};
  for (std::size_t i = 0; i < parts.size(); ++i) {
    HUNCH_ASSIGN(sizes[i], parse_size(parts[i], kSizeNames[i], i == 0 ? 0 : 1, whole));
  }
  Problem problem;
  problem.batch = sizes[0];
  problem.heads = problem.kv_heads = sizes[1];
  problem.length = problem.kv_length = sizes[2];
  problem.head_dim = sizes[3];
  // At 4 bytes an element, so that no later choice of dtype can make an accepted text too large.
  HUNCH_RETURN_IF_ERROR(
      check_bytes(fmt::format("query of problem '{}'", whole), dense_bytes(sizes, tensor::DType::f32)));
  return problem;
}

base::Status validate(const Problem& problem) {
  HUNCH_RETURN_IF_ERROR(check_range("batch", problem.batch, 0));
  HUNCH_RETURN_IF_ERROR(check_range("heads", problem.heads, 1));
  HUNCH_RETURN_IF_ERROR(check_range("kv_heads", problem.kv_heads, 1));
  HUNCH_RETURN_IF_ERROR(check_range("length", problem.length, 0));
  HUNCH_RETURN_IF_ERROR(check_range("kv_length", problem.kv_length, 0));
  HUNCH_RETURN_IF_ERROR(check_range("head_dim", problem.head_dim, 1));
  if (problem.heads % problem.kv_heads != 0) {
    return base::fail(
        ErrorCode::usage,
        fmt::format("{} heads cannot share {} key and value heads evenly", problem.heads, problem.kv_heads),
        "a number of kv_heads that divides heads");
  }
  if (problem.dtype == tensor::DType::boolean)
    return base::fail(ErrorCode::usage, "attention cannot be computed in bool", "f32, bf16 or f16");
  if (problem.scale && !std::isfinite(*problem.scale))
    return base::fail(ErrorCode::usage, fmt::format("scale {} is not finite", *problem.scale),
                      "a finite scale");
  if (problem.window && problem.mask != MaskKind::causal)
    return base::fail(ErrorCode::usage, "a window without a causal mask", "a causal mask, or no window");
  HUNCH_RETURN_IF_ERROR(check_extras(problem.window, problem.softcap));
  const auto& p = problem;
  HUNCH_RETURN_IF_ERROR(check_bytes("query", dense_bytes({p.batch, p.heads, p.length, p.head_dim}, p.dtype)));
  HUNCH_RETURN_IF_ERROR(
      check_bytes("key", dense_bytes({p.batch, p.kv_heads, p.kv_length, p.head_dim}, p.dtype)));
  if (p.mask == MaskKind::boolean || p.mask == MaskKind::floating) {
    const auto dtype = p.mask == MaskKind::boolean ? tensor::DType::boolean : p.dtype;
    HUNCH_RETURN_IF_ERROR(check_bytes("mask", dense_bytes({1, 1, p.length, p.kv_length}, dtype)));
  }
  return {};
}

}  // namespace hunch::attention
