// Plain data as bytes and back, so that a rank's summary can go from one process to another. Both directions
// read one list of fields (`fields` in rank_wire.cc). For processes of one program on one kind of machine:
// the bytes are no file format.
#pragma once

#include <cstdint>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace hunch::cli {

class Packer {
 public:
  template <class... T>
  void operator()(const T&... values) {
    (put(values), ...);
  }
  std::string take() { return std::move(bytes_); }

 private:
  template <class T>
  void put(const T& value) {
    if constexpr (std::is_arithmetic_v<T> || std::is_enum_v<T>)
      bytes_.append(reinterpret_cast<const char*>(&value), sizeof value);
    else
      fields(*this, const_cast<T&>(value));  // one list for both directions; this one only reads
  }
  void put(const std::string& text) {
    put(static_cast<uint64_t>(text.size()));
    bytes_ += text;
  }
  template <class T>
  void put(const std::vector<T>& values) {
    put(static_cast<uint64_t>(values.size()));
    for (const T& value : values) put(value);
  }
  template <class T>
  void put(const std::optional<T>& value) {
    put(value.has_value());
    if (value) put(*value);
  }
  template <class A, class B>
  void put(const std::pair<A, B>& value) {
    put(value.first);
    put(value.second);
  }

  std::string bytes_;
};

class Unpacker {
 public:
  explicit Unpacker(std::string_view bytes) : bytes_(bytes) {}
  template <class... T>
  void operator()(T&... values) {
    (get(values), ...);
  }
  // False where the bytes ended too early; then the values are what was there, and default beyond.
  bool good() const { return good_; }

 private:
  template <class T>
  void get(T& value) {
    if constexpr (std::is_arithmetic_v<T> || std::is_enum_v<T>) {
      if (!has(sizeof value)) return;
      std::memcpy(&value, bytes_.data(), sizeof value);
      bytes_.remove_prefix(sizeof value);
    } else {
      fields(*this, value);
    }
  }
  void get(std::string& text) {
    uint64_t size = 0;
    get(size);
    if (!has(size)) return;
    text.assign(bytes_.substr(0, size));
    bytes_.remove_prefix(size);
  }
  template <class T>
  void get(std::vector<T>& values) {
    uint64_t size = 0;
    get(size);
    values.clear();
    for (uint64_t i = 0; i < size && good_; ++i) get(values.emplace_back());
  }
  template <class T>
  void get(std::optional<T>& value) {
    bool there = false;
    get(there);
    if (there && good_) get(value.emplace());
  }
  template <class A, class B>
  void get(std::pair<A, B>& value) {
    get(value.first);
    get(value.second);
  }
  bool has(uint64_t count) {
    good_ = good_ && bytes_.size() >= count;
    return good_;
  }

  std::string_view bytes_;
  bool good_ = true;
};

}  // namespace hunch::cli
