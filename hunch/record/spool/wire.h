// Numbers and texts as bytes, and back. One list of fields a record serves writing and reading (records.h).
#pragma once

#include <concepts>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <type_traits>

namespace hunch::record::spool {

class Output {
 public:
  template <class T>
  requires std::is_integral_v<T>
  void field(const T& value) {
    using Bits = std::make_unsigned_t<std::conditional_t<std::is_same_v<T, bool>, uint8_t, T>>;
    auto bits = static_cast<Bits>(value);
    for (std::size_t i = 0; i < sizeof(T); ++i) {
      bytes_ += static_cast<char>(bits & 0xFF);
      bits = static_cast<Bits>(sizeof(T) > 1 ? bits >> 8 : 0);
    }
  }
  void field(std::string_view text) {
    field(static_cast<uint32_t>(text.size()));
    bytes_.append(text);
  }

  const std::string& bytes() const { return bytes_; }
  bool empty() const { return bytes_.empty(); }
  void clear() { bytes_.clear(); }
  // A length written before it is known.
  std::size_t reserve_length() {
    field(uint32_t{0});
    return bytes_.size();
  }
  void set_length(std::size_t reserved) {
    const auto length = static_cast<uint32_t>(bytes_.size() - reserved);
    for (std::size_t i = 0; i < 4; ++i)
      bytes_[reserved - 4 + i] = static_cast<char>((length >> (8 * i)) & 0xFF);
  }

 private:
  std::string bytes_;
};

// After a field that is not all there, `ok` is false and stays so; values are then zero.
class Input {
 public:
  explicit Input(std::string_view bytes) : bytes_(bytes) {}

  template <class T>
  requires std::is_integral_v<T>
  void field(T& value) {
    using Bits = std::make_unsigned_t<std::conditional_t<std::is_same_v<T, bool>, uint8_t, T>>;
    Bits bits = 0;
    if (ok_ && bytes_.size() - at_ >= sizeof(T)) {
      for (std::size_t i = sizeof(T); i-- > 0;)
        bits =
            static_cast<Bits>((sizeof(T) > 1 ? bits << 8 : 0) | static_cast<unsigned char>(bytes_[at_ + i]));
      at_ += sizeof(T);
    } else {
      ok_ = false;
    }
    if constexpr (std::is_same_v<T, bool>)
      value = bits != 0;
    else
      value = static_cast<T>(bits);
  }
  void field(std::string_view& text) {
    uint32_t length = 0;
    field(length);
    if (!ok_ || bytes_.size() - at_ < length) {
      ok_ = false;
      text = {};
      return;
    }
    text = bytes_.substr(at_, length);
    at_ += length;
  }
  void field(std::string& text) {
    std::string_view view;
    field(view);
    text = view;
  }

  bool ok() const { return ok_; }
  bool at_end() const { return at_ == bytes_.size(); }
  std::size_t at() const { return at_; }

 private:
  std::string_view bytes_;
  std::size_t at_ = 0;
  bool ok_ = true;
};

}  // namespace hunch::record::spool
