#include "hunch/attention/extras.h"

#include <fmt/format.h>

namespace hunch::attention {

void add_extra_refusals(const Call& call, std::vector<std::string>& reasons) {
  if (call.window)
    reasons.push_back(fmt::format("it has no sliding window, and this one has {} keys", *call.window));
  if (call.softcap) reasons.push_back(fmt::format("it caps no scores, and softcap is {:g}", *call.softcap));
}

}  // namespace hunch::attention
