# Writes the C file OUTPUT that holds the bytes of INPUTS, each as sbx_NAME[] and sbx_NAME_bytes (assets.h).
# Run as: cmake -DOUTPUT=assets.c -DINPUTS=style.css:icon.svg -DFOLDER=... -P embed.cmake
string(REPLACE ":" ";" inputs "${INPUTS}")
set(text "#include \"assets.h\"\n")
foreach(input IN LISTS inputs)
    string(MAKE_C_IDENTIFIER "${input}" name)
    file(READ "${FOLDER}/${input}" hex HEX)
    string(REGEX REPLACE "(..)" "0x\\1," bytes "${hex}")
    string(APPEND text "const unsigned char sbx_${name}[] = {${bytes}};\n")
    string(APPEND text "const size_t sbx_${name}_bytes = sizeof(sbx_${name});\n")
endforeach()
file(WRITE "${OUTPUT}" "${text}")
