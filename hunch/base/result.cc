#include "hunch/base/result.h"

#include <fmt/format.h>

namespace hunch::base {

std::string describe(const Error& error) {
  std::string text;
  if (!error.file.empty()) text += error.file + ": ";
  if (error.byte) text += fmt::format("byte {}: ", *error.byte);
  text += error.message;
  if (!error.remedy.empty()) text += fmt::format(" (try: {})", error.remedy);
  return text;
}

}  // namespace hunch::base
