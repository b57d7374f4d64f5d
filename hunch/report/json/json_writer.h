// A small JSON writer: what hunch prints, and nothing else. Keys appear in the order of the calls, so output
// is stable. Strings are escaped and bytes that are not UTF-8 become U+FFFD; a double that is not finite
// becomes null, so the result always parses. Objects and arrays of objects take a line per entry, `compact`
// ones one line.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace hunch::report::json {

std::string quoted(std::string_view text);

class Writer {
 public:
  void begin_object(bool compact = false) { begin('{', compact); }
  void end_object() { end('}'); }
  void begin_array(bool compact = false) { begin('[', compact); }
  void end_array() { end(']'); }

  void key(std::string_view name);
  void string(std::string_view value);
  void number(int64_t value);
  void number(uint64_t value);
  void number(double value);  // shortest text that reads back as the same double
  void boolean(bool value);
  void null();
  void literal(std::string_view json) { raw(json); }  // a value that is JSON text already

  void field(std::string_view name, std::string_view value) { key(name), string(value); }
  void field(std::string_view name, const char* value) { key(name), string(value); }
  void field(std::string_view name, int64_t value) { key(name), number(value); }
  void field(std::string_view name, uint64_t value) { key(name), number(value); }
  void field(std::string_view name, int value) { key(name), number(static_cast<int64_t>(value)); }
  void field(std::string_view name, double value) { key(name), number(value); }
  void field(std::string_view name, bool value) { key(name), boolean(value); }

  // The text so far, with a newline at its end; every begin must have its end.
  std::string take();

 private:
  struct Level {
    bool compact = false;
    bool empty = true;
  };
  void begin(char open, bool compact);
  void end(char close);
  void separate();  // the comma and line before the next entry
  void raw(std::string_view text);

  std::string out_;
  std::vector<Level> levels_;
  bool after_key_ = false;
};

}  // namespace hunch::report::json
