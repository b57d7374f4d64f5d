#include "hunch/base/result.h"

#include <fmt/format.h>

namespace hunch::base {

std::string describe(const Error& error) {
  std::string text;
  if (!error.file.empty()) text += error.file + ": ";
  if (error.byte) text += fmt::format("byte {}: ", *error.byte);
  text += error.message;
  // A question is its own remedy: "did you mean 'flash'?" reads badly behind "try:".
  const bool question = error.remedy.ends_with('?');
  if (!error.remedy.empty()) text += question ? " (" + error.remedy + ")" : " (try: " + error.remedy + ")";
  return text;
}

}  // namespace hunch::base
