// What the host sides of the ops share: the shapes' text for a span, and dispatch on the device's kind.
#pragma once

#include <initializer_list>
#include <string>

#include "hunch/base/check.h"
#include "hunch/base/probe.h"
#include "hunch/ops/ops.h"
#include "hunch/tensor/cpu_device.h"

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

// The CPU device behind `device`. Kernels of other kinds of devices get their own branch before this.
inline tensor::CpuDevice& cpu_of(Device& device) {
  tensor::CpuDevice* cpu = device.as_cpu();
  HUNCH_CHECK(cpu != nullptr, "this build has no kernel of this op for the tensor's device");
  return *cpu;
}

}  // namespace hunch::ops
