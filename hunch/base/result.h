// Result: a value or one Error. Expected failures (bad input, missing file, unsupported problem) travel as
// values; bugs hit a check (check.h). Code of hunch does not throw.
//
// In:  anything that can fail for a reason the user can act on.
// Out: the value, or an Error that says what failed, where (file and byte), and what to try.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include <tl/expected.hpp>

namespace hunch::base {

enum class ErrorCode {
  usage,        // wrong words on the command line, a guess with a typo
  not_found,    // a file or a name that does not exist
  io,           // the system refused to read or write
  parse,        // bytes that are not what they should be
  unsupported,  // well-formed, and not something this build or device can do
  environment,  // this machine lacks something
};

struct Error {
  ErrorCode code = ErrorCode::usage;
  std::string message;                // what failed, without a full stop
  std::string file = {};              // where: the file's name as the user gave it, or empty
  std::optional<uint64_t> byte = {};  // where: offset from the start of that file, from 0
  std::string remedy = {};            // what to try, or empty
};

template <class T>
using Result = tl::expected<T, Error>;
using Status = Result<void>;

// "FILE: byte N: message (try: remedy)", one line.
std::string describe(const Error& error);

inline tl::unexpected<Error> fail(ErrorCode code, std::string message, std::string remedy = {}) {
  return tl::unexpected<Error>(Error{code, std::move(message), {}, {}, std::move(remedy)});
}
inline tl::unexpected<Error> fail(Error error) { return tl::unexpected<Error>(std::move(error)); }

}  // namespace hunch::base

// Returns the error of `expression` from the enclosing function, if it has one.
#define HUNCH_RETURN_IF_ERROR(expression)                                  \
  do {                                                                     \
    if (auto hunch_status = (expression); !hunch_status)                   \
      return ::tl::unexpected<::hunch::base::Error>(hunch_status.error()); \
  } while (false)

// HUNCH_ASSIGN(auto x, f()): x is f()'s value; f()'s error returns from the enclosing function.
#define HUNCH_ASSIGN(declaration, expression) \
  HUNCH_ASSIGN_IMPL(HUNCH_CONCAT(hunch_result_, __LINE__), declaration, expression)
// NOLINTBEGIN(bugprone-macro-parentheses): a declaration takes none.
#define HUNCH_ASSIGN_IMPL(temporary, declaration, expression)                           \
  auto temporary = (expression);                                                        \
  if (!(temporary)) return ::tl::unexpected<::hunch::base::Error>((temporary).error()); \
  declaration = std::move(*(temporary))
// NOLINTEND(bugprone-macro-parentheses)
#define HUNCH_CONCAT(a, b) HUNCH_CONCAT_IMPL(a, b)
#define HUNCH_CONCAT_IMPL(a, b) a##b
