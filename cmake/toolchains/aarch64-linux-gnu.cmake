# Debian's cross compiler (gcc-aarch64-linux-gnu) and its C library; programs run under qemu-user.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(CMAKE_C_COMPILER aarch64-linux-gnu-gcc)
set(CMAKE_CXX_COMPILER CMAKE_CXX_COMPILER-NOTFOUND) # a package of its own; what wants it would take the machine's
set(CMAKE_FIND_ROOT_PATH /usr/aarch64-linux-gnu)
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_PACKAGE ONLY)
# pkg-config knows the packages of this machine only.
set(ENV{PKG_CONFIG_LIBDIR} /usr/aarch64-linux-gnu/lib/pkgconfig)
# qemu-user takes memory by GLib's slices. A forked child that another thread left in the middle of them hangs for ever;
# malloc() is made for that.
set(CMAKE_CROSSCOMPILING_EMULATOR env;G_SLICE=always-malloc;qemu-aarch64;-L;/usr/aarch64-linux-gnu)
set(STALLBOX_STACKS_END_IN libc)
