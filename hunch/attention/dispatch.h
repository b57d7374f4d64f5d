// scaled_dot_product_attention: validates, picks the first backend in the order of preference that takes
// the call, and runs it. Naive backends are never picked: they are laboratory variants.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "hunch/attention/backend.h"

namespace hunch::attention {

struct Opinion {
  const Backend* backend = nullptr;
  bool allowed = true;                // false: pinned away by PinBackends
  std::vector<std::string> refusals;  // empty: it would take the call
};

struct Choice {
  const Backend* backend = nullptr;  // null: nothing fits
  std::vector<Opinion> opinions;     // in order of preference, every candidate with every reason
};

// Which backend the dispatcher would take and why not the others. Reads no data. A call that validate()
// rejects is refused by all, in validate's words.
Choice choose_backend(const Call& call);

// Runs the chosen backend inside a span "hunch::scaled_dot_product_attention". Errors: usage (validate), or
// unsupported with every backend's reasons when nothing fits.
base::Result<Output> scaled_dot_product_attention(const Call& call);

// One forward of one backend, as its users would run it: an SDPA backend of hunch's own inside the same span
// as above, the others bare. Only for a call that the backend does not refuse; the result is ready after
// synchronize. Error: as Backend::forward.
base::Result<Output> run_backend(const Backend& backend, const Prepared& prepared);

// Restricts this thread's dispatch to the named backends for its own lifetime; the innermost guard holds.
// A name that is no backend, or a by-hand one, makes every dispatch inside fail with a usage error.
class PinBackends {
 public:
  explicit PinBackends(std::vector<std::string> names);
  ~PinBackends();
  PinBackends(const PinBackends&) = delete;
  PinBackends& operator=(const PinBackends&) = delete;
};

}  // namespace hunch::attention
