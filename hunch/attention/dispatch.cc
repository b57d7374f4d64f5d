// Which backend a call gets. The order of preference is fixed; a guard can narrow it; every candidate is
// asked for all its reasons even when an earlier one already took the call, because people ask "why not that
// one". In:  a Call. Out: a Choice, or the result of the chosen backend. Holds: by-hand backends are never
// candidates; the same call on the same thread gets the same backend.
#include "hunch/attention/dispatch.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "hunch/base/probe.h"
#include "hunch/base/strings.h"

namespace hunch::attention {
namespace {

using base::ErrorCode;

constexpr const char* kSpan = "hunch::scaled_dot_product_attention";

// Fused first, then what always works; cuDNN last, for where nothing else was asked for.
constexpr std::array<std::string_view, 4> kPreference = {"flash", "efficient", "math", "cudnn"};

// The guards of this thread, the innermost last.
thread_local std::vector<std::vector<std::string>> pins;

const std::vector<std::string>* pinned() { return pins.empty() ? nullptr : &pins.back(); }

bool is_allowed(std::string_view name) {
  const auto* names = pinned();
  return names == nullptr || std::find(names->begin(), names->end(), name) != names->end();
}

base::Status check_pins() {
  const auto* names = pinned();
  if (names == nullptr) return {};
  const auto candidates = base::join(std::vector<std::string>(kPreference.begin(), kPreference.end()), ", ");
  if (names->empty())
    return base::fail(ErrorCode::usage, "the dispatch is pinned to no backend at all",
                      "one of " + candidates);
  for (const auto& name : *names) {
    if (std::find(kPreference.begin(), kPreference.end(), name) != kPreference.end()) continue;
    if (find_backend(name) != nullptr)
      return base::fail(
          ErrorCode::usage,
          fmt::format("backend '{}' is attention by hand, which the dispatcher never picks", name),
          "one of " + candidates);
    return base::fail(ErrorCode::usage, fmt::format("no backend is named '{}'", name),
                      base::did_you_mean(name, kPreference));
  }
  return {};
}

base::Error nothing_fits(const Choice& choice) {
  std::vector<std::string> lines;
  for (const auto& opinion : choice.opinions) {
    std::vector<std::string> reasons = opinion.refusals;
    if (!opinion.allowed) reasons.insert(reasons.begin(), "not among the pinned backends");
    lines.push_back(fmt::format("{}: {}", opinion.backend->name(), base::join(reasons, ", ")));
  }
  std::string remedy;
  for (const auto& opinion : choice.opinions)
    if (!opinion.allowed && opinion.refusals.empty()) {
      remedy = fmt::format("allow '{}', which takes this call", opinion.backend->name());
      break;
    }
  return {ErrorCode::unsupported, "no backend takes this call; " + base::join(lines, "; "), {}, {}, remedy};
}

Choice opinions_on(const Call& call, const base::Status& valid) {
  Choice choice;
  for (const auto name : kPreference) {
    const Backend* backend = find_backend(name);
    if (backend == nullptr) continue;
    Opinion opinion{backend, is_allowed(name), {}};
    if (valid) {
      opinion.refusals = backend->refusals(call);
    } else {
      opinion.refusals = {valid.error().message};
    }
    if (choice.backend == nullptr && opinion.allowed && opinion.refusals.empty()) choice.backend = backend;
    choice.opinions.push_back(std::move(opinion));
  }
  return choice;
}

}  // namespace

Choice choose_backend(const Call& call) { return opinions_on(call, validate(call)); }

base::Result<Output> scaled_dot_product_attention(const Call& call) {
  HUNCH_RETURN_IF_ERROR(validate(call));
  HUNCH_RETURN_IF_ERROR(check_pins());
  const base::Span span(base::SpanKind::op, kSpan, tensor::dims_text({&call.query, &call.key, &call.value}));
  const Choice choice = opinions_on(call, {});
  if (choice.backend == nullptr) return base::fail(nothing_fits(choice));
  return choice.backend->forward(choice.backend->prepare(call));
}

base::Result<Output> run_backend(const Backend& backend, const Prepared& prepared) {
  if (backend.by_hand() || backend.provider() != kNative) return backend.forward(prepared);
  const Call& call = prepared.call;
  const base::Span span(base::SpanKind::op, kSpan, tensor::dims_text({&call.query, &call.key, &call.value}));
  return backend.forward(prepared);
}

PinBackends::PinBackends(std::vector<std::string> names) { pins.push_back(std::move(names)); }
PinBackends::~PinBackends() { pins.pop_back(); }

}  // namespace hunch::attention
