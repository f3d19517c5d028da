// SPDX-License-Identifier: Apache-2.0
// cxx_module.cc - a C++ program's allocations: operator new and delete of libstdc++.
extern "C" void cxx_allocate(int count);

extern "C" void cxx_allocate(int count)
{
    for (int i = 0; i < count; i++) {
        char *volatile memory = new char[100];
        delete[] memory;
    }
}
