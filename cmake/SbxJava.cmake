# The program `java` of a JDK of this version, wherever packages put it; the version itself where there is none, which tests say (tests/hotspot/is_known_java.sh).
# What was found is kept: each question starts a machine.
function(sbx_find_java version java_out)
    if(NOT EXISTS "${STALLBOX_JAVA_${version}}")
        set(found ${version})
        file(GLOB javas /usr/lib/jvm/*/bin/java)
        foreach(java IN LISTS javas)
            execute_process(COMMAND ${java} -XshowSettings:properties -version ERROR_VARIABLE told OUTPUT_QUIET)
            if(told MATCHES "java.specification.version = ${version}\n")
                set(found ${java})
                break()
            endif()
        endforeach()
        set(STALLBOX_JAVA_${version} ${found} CACHE INTERNAL "")
    endif()
    set(${java_out} ${STALLBOX_JAVA_${version}} PARENT_SCOPE)
endfunction()

# A compiler that runs for a second is done before its own machine has compiled it well, or needs a second processor to collect what it leaves.
set(SBX_JAVAC_BRIEF -J-XX:TieredStopAtLevel=1 -J-XX:+UseSerialGC)
