// What the host sides of the ops share: the shapes' text for a span, and broadcasting.
#pragma once

#include <initializer_list>
#include <string>

#include "hunch/base/check.h"
#include "hunch/base/probe.h"
#include "hunch/ops/kernels.h"

namespace hunch::ops {

// The inputs' shapes for a span: empty when nobody listens, so that silence costs nothing.
inline std::string span_dims(std::initializer_list<const Tensor*> inputs) {
  return base::current_probe() == nullptr ? std::string() : tensor::dims_text(inputs);
}

// The shape both broadcast to; that there is one is the caller's to know.
inline Shape broadcast_shape(const Shape& a, const Shape& b) {
  bool ok = false;
  const Shape shape = Shape::broadcast(a, b, ok);
  HUNCH_CHECK(ok, "shapes that do not broadcast");
  return shape;
}

}  // namespace hunch::ops
