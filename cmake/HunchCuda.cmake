# CUDA, where there is a compiler for it: HUNCH_CUDA=AUTO takes it when found, ON insists, OFF leaves it out.
# Architectures are always named. Sets HUNCH_HAS_CUDA and HUNCH_HAS_CUDNN, which code sees as 0 or 1.
#
# The runtime is linked statically. cuBLASLt, CUPTI and cuDNN are needed as headers only: the program opens
# them when it first uses them, so that it starts without them. cuDNN also wants its C++ headers, cudnn-frontend
# (tools/setup.sh installs them where there is a CUDA compiler).
set(HUNCH_CUDA AUTO CACHE STRING "Build the CUDA kernels: AUTO, ON or OFF")
set_property(CACHE HUNCH_CUDA PROPERTY STRINGS AUTO ON OFF)
set(HUNCH_CUDA_ARCHITECTURES "80;86;89;90a" CACHE STRING "GPU architectures to compile for")
set(HUNCH_HAS_CUDA 0)
set(HUNCH_HAS_CUDNN 0)
if(NOT HUNCH_CUDA STREQUAL "OFF")
  include(CheckLanguage)
  check_language(CUDA)
  if(CMAKE_CUDA_COMPILER)
    set(CMAKE_CUDA_ARCHITECTURES ${HUNCH_CUDA_ARCHITECTURES})
    if(HUNCH_CCACHE AND NOT CMAKE_CUDA_COMPILER_LAUNCHER)
      set(CMAKE_CUDA_COMPILER_LAUNCHER ${HUNCH_CCACHE})
    endif()
    enable_language(CUDA)
    find_package(CUDAToolkit REQUIRED)
    set(HUNCH_HAS_CUDA 1)
  elseif(HUNCH_CUDA STREQUAL "ON")
    message(FATAL_ERROR "HUNCH_CUDA=ON, and no CUDA compiler was found: put nvcc on PATH or set CMAKE_CUDA_COMPILER")
  endif()
endif()

if(HUNCH_HAS_CUDA)
  find_path(HUNCH_CUDNN_INCLUDE_DIR cudnn.h HINTS ${CUDAToolkit_INCLUDE_DIRS})
  find_path(HUNCH_CUDNN_FRONTEND_INCLUDE_DIR cudnn_frontend.h
    HINTS ${PROJECT_SOURCE_DIR}/.deps/include ${CUDAToolkit_INCLUDE_DIRS})
  if(HUNCH_CUDNN_INCLUDE_DIR AND HUNCH_CUDNN_FRONTEND_INCLUDE_DIR)
    set(HUNCH_HAS_CUDNN 1)
  endif()
  add_library(hunch_cudnn INTERFACE)
  target_include_directories(hunch_cudnn SYSTEM INTERFACE
    $<BUILD_INTERFACE:$<$<BOOL:${HUNCH_HAS_CUDNN}>:${HUNCH_CUDNN_INCLUDE_DIR};${HUNCH_CUDNN_FRONTEND_INCLUDE_DIR}>>)
endif()
target_compile_definitions(hunch_compile INTERFACE HUNCH_HAS_CUDA=${HUNCH_HAS_CUDA} HUNCH_HAS_CUDNN=${HUNCH_HAS_CUDNN})
message(STATUS "CUDA kernels: ${HUNCH_HAS_CUDA}, cuDNN: ${HUNCH_HAS_CUDNN}")

# Files that only a build with CUDA compiles.
set(HUNCH_CUDA_SOURCES "(_cuda|/cuda_device)\\.cc$|/cupti/[^/]*\\.cc$|\\.cu$")
