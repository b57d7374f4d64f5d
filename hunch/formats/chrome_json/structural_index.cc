#include "hunch/formats/chrome_json/structural_index.h"

#include <simdjson.h>

namespace hunch::formats::chrome_json {

struct StructuralIndex::State {
  std::unique_ptr<simdjson::internal::dom_parser_implementation> parser;
};

StructuralIndex::StructuralIndex() : state_(std::make_unique<State>()) {}
StructuralIndex::~StructuralIndex() = default;
StructuralIndex::StructuralIndex(StructuralIndex&&) noexcept = default;
StructuralIndex& StructuralIndex::operator=(StructuralIndex&&) noexcept = default;

bool StructuralIndex::index(std::string_view window) {
  if (window.empty() || window.size() > kMaxWindow) return false;
  auto& parser = state_->parser;
  if (parser == nullptr || parser->capacity() < window.size()) {
    parser.reset();
    const auto error =
        simdjson::get_active_implementation()->create_dom_parser_implementation(window.size(), 1, parser);
    if (error != simdjson::SUCCESS) return false;
  }
  const auto* bytes = reinterpret_cast<const uint8_t*>(window.data());
  return parser->stage1(bytes, window.size(), simdjson::stage1_mode::regular) == simdjson::SUCCESS;
}

std::span<const uint32_t> StructuralIndex::tokens() const {
  if (state_->parser == nullptr) return {};
  return {state_->parser->structural_indexes.get(), state_->parser->n_structural_indexes};
}

}  // namespace hunch::formats::chrome_json
