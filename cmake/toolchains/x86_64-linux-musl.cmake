# musl by Debian's wrapper (musl-tools) around the machine's gcc. The wrapper hides /usr/include, which is glibc's; what the
# kernel says of itself (linux/*.h, asm/*.h) comes from there all the same, through a folder of links to nothing else.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR x86_64)
set(CMAKE_C_COMPILER musl-gcc)
set(CMAKE_CXX_COMPILER CMAKE_CXX_COMPILER-NOTFOUND) # there is no wrapper for C++
set(kernel_headers ${CMAKE_BINARY_DIR}/kernel-headers)
if(NOT EXISTS ${kernel_headers}/linux)
    file(MAKE_DIRECTORY ${kernel_headers})
    file(CREATE_LINK /usr/include/linux ${kernel_headers}/linux SYMBOLIC)
    file(CREATE_LINK /usr/include/asm-generic ${kernel_headers}/asm-generic SYMBOLIC)
    file(CREATE_LINK /usr/include/x86_64-linux-gnu/asm ${kernel_headers}/asm SYMBOLIC)
endif()
set(CMAKE_C_FLAGS_INIT "-idirafter ${kernel_headers}")
# A gcc configured for musl does this by itself; the wrapper's specs leave it out. Without the header there are no rows.
foreach(kind IN ITEMS EXE SHARED MODULE)
    set(CMAKE_${kind}_LINKER_FLAGS_INIT "-Wl,--eh-frame-hdr -Wl,--build-id=sha1")
endforeach()
set(CMAKE_FIND_ROOT_PATH /usr/lib/x86_64-linux-musl)
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_PACKAGE ONLY)
# pkg-config knows the packages of glibc only.
set(ENV{PKG_CONFIG_LIBDIR} /usr/lib/x86_64-linux-musl/pkgconfig)
set(STALLBOX_STACKS_END_IN program)
