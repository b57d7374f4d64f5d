# PyTorch's C++ library, where there is an installed PyTorch: HUNCH_TORCH=AUTO takes it when found, ON insists,
# OFF leaves it out. Looked for below CMAKE_PREFIX_PATH (what `python3 -c 'import torch;
# print(torch.utils.cmake_prefix_path)'` prints, or PyTorch's own folder), Torch_ROOT and Torch_DIR, then where
# python3 has it. Sets HUNCH_HAS_TORCH; then hunch_libtorch is what a plug-in links.
#
# PyTorch's own CMake package is not used: it wants the whole CUDA toolkit, and changes its caller's flags.
set(HUNCH_TORCH AUTO CACHE STRING "Build the PyTorch plug-in: AUTO, ON or OFF")
set_property(CACHE HUNCH_TORCH PROPERTY STRINGS AUTO ON OFF)
set(HUNCH_HAS_TORCH 0)
if(HUNCH_TORCH STREQUAL "OFF")
  return()
endif()

set(roots ${Torch_ROOT} $ENV{Torch_ROOT})
foreach(prefix ${CMAKE_PREFIX_PATH} ${Torch_DIR})
  list(APPEND roots ${prefix} ${prefix}/../.. ${prefix}/../../..)
endforeach()
find_program(HUNCH_TORCH_PYTHON python3)
if(HUNCH_TORCH_PYTHON AND NOT HUNCH_TORCH_INCLUDE_DIR)
  execute_process(COMMAND ${HUNCH_TORCH_PYTHON} -c
    "import importlib.util as u; s = u.find_spec('torch'); print(s.submodule_search_locations[0] if s else '')"
    OUTPUT_VARIABLE of_python OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
  list(APPEND roots ${of_python})
endif()
list(TRANSFORM roots APPEND /include OUTPUT_VARIABLE include_folders)
find_path(HUNCH_TORCH_INCLUDE_DIR ATen/record_function.h PATHS ${include_folders} NO_DEFAULT_PATH)
get_filename_component(root "${HUNCH_TORCH_INCLUDE_DIR}/.." ABSOLUTE)
foreach(library torch torch_cpu c10)
  find_library(HUNCH_LIB_${library} ${library} PATHS ${root}/lib NO_DEFAULT_PATH)
endforeach()

if(HUNCH_TORCH_INCLUDE_DIR AND HUNCH_LIB_torch AND HUNCH_LIB_torch_cpu AND HUNCH_LIB_c10)
  set(HUNCH_HAS_TORCH 1)
  # A PyTorch with CUDA: its stream and its allocator need the runtime's headers. Those that pip brings beside
  # it may lack crt/, which a toolkit has.
  find_library(HUNCH_LIB_c10_cuda c10_cuda PATHS ${root}/lib NO_DEFAULT_PATH)
  file(GLOB beside ${root}/../nvidia/cu*/include ${root}/../nvidia/cuda_runtime/include)
  find_path(HUNCH_TORCH_CUDA_INCLUDE_DIR crt/host_config.h
    HINTS ${beside} ${CUDAToolkit_INCLUDE_DIRS} PATHS /usr/local/cuda/include)
  add_library(hunch_libtorch INTERFACE)
  target_include_directories(hunch_libtorch SYSTEM INTERFACE
    ${HUNCH_TORCH_INCLUDE_DIR} ${HUNCH_TORCH_INCLUDE_DIR}/torch/csrc/api/include)
  target_link_directories(hunch_libtorch INTERFACE ${root}/lib)
  # libtorch.so has no symbol that anyone names; it brings PyTorch's CUDA part with it.
  target_link_libraries(hunch_libtorch INTERFACE
    -Wl,--no-as-needed ${HUNCH_LIB_torch} -Wl,--as-needed ${HUNCH_LIB_torch_cpu} ${HUNCH_LIB_c10})
  if(HUNCH_LIB_c10_cuda AND HUNCH_TORCH_CUDA_INCLUDE_DIR)
    target_compile_definitions(hunch_libtorch INTERFACE HUNCH_TORCH_CUDA=1)
    target_include_directories(hunch_libtorch SYSTEM INTERFACE ${HUNCH_TORCH_CUDA_INCLUDE_DIR})
    target_link_libraries(hunch_libtorch INTERFACE ${HUNCH_LIB_c10_cuda})
  endif()
elseif(HUNCH_TORCH STREQUAL "ON")
  message(FATAL_ERROR "HUNCH_TORCH=ON, and no PyTorch was found: pip install torch, and have it in python3's path "
    "or its folder in CMAKE_PREFIX_PATH")
endif()
message(STATUS "PyTorch plug-in: ${HUNCH_HAS_TORCH} ${HUNCH_TORCH_INCLUDE_DIR}")
