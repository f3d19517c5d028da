/* SPDX-License-Identifier: Apache-2.0 */
/* name_tables.c - tables of known names. A process's own names are compared with them, and an index is sent instead of
 * a text.
 *
 * Append-only: an index that was once sent has the same meaning for ever. So new entries go to the end, even if they do
 * not fit the order there. */
#include "name_tables.h"

#include <stdbool.h>
#include <string.h>

#define ENTRIES(table) (sizeof(table) / sizeof((table)[0]))

/* Base names as the dynamic linker asks for them (sonames). Append only. */
/* clang-format off */
static const char *const system_modules[] = {
    NULL, /* 0: none */
    /* C library and loader */
    "linux-vdso.so.1", "ld-linux-x86-64.so.2", "ld-linux-aarch64.so.1", "libc.so.6", "libpthread.so.0", "libm.so.6",
    "libdl.so.2", "librt.so.1", "libresolv.so.2", "libutil.so.1", "libnsl.so.1", "libnsl.so.2", "libanl.so.1",
    "libmvec.so.1", "libthread_db.so.1", "libnss_files.so.2", "libnss_dns.so.2", "libnss_compat.so.2",
    "libnss_systemd.so.2", "libnss_myhostname.so.2", "libnss_mymachines.so.2", "libnss_resolve.so.2",
    "libnss_mdns4_minimal.so.2", "ld-musl-x86_64.so.1", "ld-musl-aarch64.so.1", "libcrypt.so.1",
    /* compilers' run-time libraries */
    "libgcc_s.so.1", "libstdc++.so.6", "libatomic.so.1", "libgomp.so.1", "libquadmath.so.0", "libgfortran.so.5",
    "libc++.so.1", "libc++abi.so.1", "libunwind.so.8", "libunwind-x86_64.so.8", "libomp.so.5", "libitm.so.1",
    "libasan.so.8", "libubsan.so.1", "libtsan.so.2", "liblsan.so.0", "libLLVM-14.so.1", "libLLVM-15.so.1",
    /* allocators */
    "libjemalloc.so.2", "libtcmalloc.so.4", "libtcmalloc_minimal.so.4", "libmimalloc.so.2", "libtbbmalloc.so.2",
    "libtbb.so.12", "libnuma.so.1", "libhwloc.so.15",
    /* cryptography, names, network */
    "libssl.so.3", "libcrypto.so.3", "libssl.so.1.1", "libcrypto.so.1.1", "libgnutls.so.30", "libnettle.so.8",
    "libhogweed.so.6", "libgmp.so.10", "libgcrypt.so.20", "libgpg-error.so.0", "libmbedcrypto.so.7",
    "libmbedtls.so.14", "libmbedx509.so.1", "libsodium.so.23", "libtasn1.so.6", "libp11-kit.so.0", "libcurl.so.4",
    "libcurl-gnutls.so.4", "libnghttp2.so.14", "libcares.so.2", "libssh2.so.1", "libssh.so.4", "libidn2.so.0",
    "libunistring.so.2", "libpsl.so.5", "librtmp.so.1", "libldap-2.5.so.0", "liblber-2.5.so.0", "libsasl2.so.2",
    "libkrb5.so.3", "libk5crypto.so.3", "libgssapi_krb5.so.2", "libkrb5support.so.0", "libcom_err.so.2",
    "libkeyutils.so.1", "libtirpc.so.3", "libmicrohttpd.so.12", "libsoup-2.4.so.1", "libsoup-3.0.so.0", "libzmq.so.5",
    "libnss3.so", "libnspr4.so", "libsmime3.so", "libnssutil3.so", "libplc4.so", "libplds4.so",
    /* event loops, system services */
    "libuv.so.1", "libevent-2.1.so.7", "libevent_core-2.1.so.7", "libevent_pthreads-2.1.so.7", "libev.so.4",
    "liburing.so.2", "libaio.so.1", "libsystemd.so.0", "libudev.so.1", "libdbus-1.so.3", "libcap.so.2",
    "libcap-ng.so.0", "libseccomp.so.2", "libselinux.so.1", "libapparmor.so.1", "libaudit.so.1", "libpam.so.0",
    "libmount.so.1", "libblkid.so.1", "libuuid.so.1", "libacl.so.1", "libattr.so.1", "libbsd.so.0", "libmd.so.0",
    "libavahi-client.so.3", "libavahi-common.so.3", "libusb-1.0.so.0",
    /* compression, text, data */
    "libz.so.1", "libzstd.so.1", "liblz4.so.1", "liblzma.so.5", "libbz2.so.1.0", "libsnappy.so.1", "liblzf.so.1",
    "libbrotlidec.so.1", "libbrotlienc.so.1", "libbrotlicommon.so.1", "libdeflate.so.0", "libarchive.so.13",
    "libpcre.so.3", "libpcre2-8.so.0", "libxml2.so.2", "libxslt.so.1", "libexpat.so.1", "libyaml-0.so.2",
    "libjansson.so.4", "libjson-c.so.5", "libjson-glib-1.0.so.0", "libicuuc.so.72", "libicui18n.so.72",
    "libicudata.so.72", "libsqlite3.so.0", "libpq.so.5", "libmariadb.so.3", "libmysqlclient.so.21",
    "libhiredis.so.0.14", "libdb-5.3.so", "librocksdb.so.7.8", "libleveldb.so.1d", "liblmdb.so.0",
    "libprotobuf.so.32", "libprotobuf-lite.so.32", "libprotobuf-c.so.1", "libprotoc.so.32", "libgrpc.so.29",
    "libgrpc++.so.1.51", "libreadline.so.8", "libncursesw.so.6", "libtinfo.so.6", "libedit.so.2", "libelf.so.1",
    "libdw.so.1", "libgpgme.so.11", "libmagic.so.1", "libffi.so.8",
    /* interpreters and runtimes */
    "liblua5.1.so.0", "liblua5.1-cjson.so.0", "liblua5.3.so.0", "liblua5.4.so.0", "libluajit-5.1.so.2",
    "libpython3.11.so.1.0", "libperl.so.5.36", "libruby-3.1.so.3.1", "libnode.so.108", "libjvm.so", "libjli.so",
    "libmono-2.0.so.1", "libguile-3.0.so.1", "libtcl8.6.so", "libcoreclr.so",
    /* GLib, GTK and the libraries they draw with */
    "libglib-2.0.so.0", "libgobject-2.0.so.0", "libgio-2.0.so.0", "libgmodule-2.0.so.0", "libgthread-2.0.so.0",
    "libgtk-3.so.0", "libgdk-3.so.0", "libgtk-4.so.1", "libgtk-x11-2.0.so.0", "libgdk-x11-2.0.so.0",
    "libgdk_pixbuf-2.0.so.0", "libcairo.so.2", "libcairo-gobject.so.2", "libpango-1.0.so.0", "libpangocairo-1.0.so.0",
    "libpangoft2-1.0.so.0", "libharfbuzz.so.0", "libfribidi.so.0", "libfreetype.so.6", "libfontconfig.so.1",
    "libpixman-1.so.0", "libgraphene-1.0.so.0", "libepoxy.so.0", "libatk-1.0.so.0", "libatk-bridge-2.0.so.0",
    "libatspi.so.0", "libdconfsettings.so", "libgvfsdbus.so", "libsecret-1.so.0", "librsvg-2.so.2",
    "libadwaita-1.so.0", "libwebkit2gtk-4.1.so.0", "libjavascriptcoregtk-4.1.so.0", "libcolord.so.2",
    /* Qt */
    "libQt5Core.so.5", "libQt5Gui.so.5", "libQt5Widgets.so.5", "libQt5Network.so.5", "libQt5DBus.so.5",
    "libQt5Qml.so.5", "libQt5Quick.so.5", "libQt5XcbQpa.so.5", "libQt5Svg.so.5", "libQt5Sql.so.5",
    "libQt5WebEngineCore.so.5", "libQt6Core.so.6", "libQt6Gui.so.6", "libQt6Widgets.so.6", "libQt6Network.so.6",
    "libQt6DBus.so.6", "libQt6Qml.so.6", "libQt6Quick.so.6", "libQt6XcbQpa.so.6", "libQt6OpenGL.so.6", "libqxcb.so",
    "libqwayland-generic.so",
    /* games, graphics, windows */
    "libSDL2-2.0.so.0", "libSDL2_image-2.0.so.0", "libSDL2_mixer-2.0.so.0", "libSDL2_ttf-2.0.so.0",
    "libSDL2_net-2.0.so.0", "libSDL-1.2.so.0", "libglfw.so.3", "libGL.so.1", "libEGL.so.1", "libGLX.so.0",
    "libGLdispatch.so.0", "libOpenGL.so.0", "libGLESv2.so.2", "libGLESv1_CM.so.1", "libGLX_mesa.so.0",
    "libEGL_mesa.so.0", "libGLU.so.1", "libvulkan.so.1", "libgbm.so.1", "libglapi.so.0", "libgallium.so",
    "swrast_dri.so", "radeonsi_dri.so", "iris_dri.so", "nouveau_dri.so", "libdrm.so.2", "libdrm_amdgpu.so.1",
    "libdrm_intel.so.1", "libdrm_nouveau.so.2", "libdrm_radeon.so.1", "libX11.so.6", "libX11-xcb.so.1",
    "libXext.so.6", "libXi.so.6", "libXrandr.so.2", "libXrender.so.1", "libXfixes.so.3", "libXcursor.so.1",
    "libXcomposite.so.1", "libXdamage.so.1", "libXinerama.so.1", "libXau.so.6", "libXdmcp.so.6", "libXss.so.1",
    "libXtst.so.6", "libXxf86vm.so.1", "libSM.so.6", "libICE.so.6", "libxcb.so.1", "libxcb-shm.so.0",
    "libxcb-render.so.0", "libxcb-randr.so.0", "libxcb-xkb.so.1", "libxcb-dri3.so.0", "libxcb-present.so.0",
    "libxshmfence.so.1", "libxkbcommon.so.0", "libxkbcommon-x11.so.0", "libwayland-client.so.0",
    "libwayland-server.so.0", "libwayland-egl.so.1", "libwayland-cursor.so.0", "libdecor-0.so.0", "libinput.so.10",
    "libva.so.2", "libvdpau.so.1", "libopenal.so.1", "libsensors.so.5",
    /* sound, pictures, video */
    "libasound.so.2", "libpulse.so.0", "libpulse-simple.so.0", "libpulsecommon-16.1.so",
    "libpulse-mainloop-glib.so.0", "libpipewire-0.3.so.0", "libjack.so.0", "libsndfile.so.1", "libogg.so.0",
    "libvorbis.so.0", "libvorbisfile.so.3", "libvorbisenc.so.2", "libopus.so.0", "libFLAC.so.12", "libmpg123.so.0",
    "libmp3lame.so.0", "libsamplerate.so.0", "libpng16.so.16", "libjpeg.so.62", "libtiff.so.6", "libwebp.so.7",
    "libgif.so.7", "libavcodec.so.59", "libavformat.so.59", "libavutil.so.57", "libavfilter.so.8", "libswscale.so.6",
    "libswresample.so.4", "libx264.so.164", "libx265.so.199", "libvpx.so.7", "libdav1d.so.6", "libaom.so.3",
    "libgstreamer-1.0.so.0", "libgstbase-1.0.so.0", "libgstvideo-1.0.so.0", "libgstaudio-1.0.so.0",
    "libgstapp-1.0.so.0", "libcups.so.2",
    /* numbers */
    "libblas.so.3", "liblapack.so.3", "libopenblas.so.0", "libfftw3.so.3", "libmpfr.so.6",
    "libboost_system.so.1.74.0", "libboost_thread.so.1.74.0", "libboost_filesystem.so.1.74.0",
    "libboost_regex.so.1.74.0", "libspdlog.so.1.10", "libfmt.so.9", "libglog.so.1", "libgflags.so.2.2",
    "libgeos_c.so.1", "libgdal.so.32",
};
/* clang-format on */

/* The names that threads of well-known programs and libraries have. '#' stands for a run of digits, which are never
 * sent. The kernel shortens a name to 15 bytes. Entries are complete where the full name is known, and are matched
 * shortened. Append only. */
/* clang-format off */
static const char *const thread_patterns[] = {
    "other", /* 0 */
    "main",  /* 1: given to the main thread, whatever its name; no other thread gets it */
    /* redis, valkey, jemalloc */
    "bio_close_file", "bio_aof_fsync", "bio_aof", "bio_lazy_free", "io_thd_#", "jemalloc_bg_thd",
    /* GLib, GTK, desktop */
    "gmain", "gdbus", "dconf worker", "pool-#", "pool-spawner", "[pango] fontconfig", "[pango] FcInit",
    "gdk_frame_clock", "gvfs-worker", "GPollableStream",
    /* generic pools */
    "worker", "worker-#", "worker_#", "worker#", "Worker#", "Worker-#", "Thread-#", "thread-#", "thread_#",
    "Thread #", "pool-#-thread-#", "pool-worker-#", "threadpool-#", "thread-pool-#", "io-#", "io_#", "timer",
    "timer-#", "watchdog", "logger", "logging", "scheduler", "dispatcher", "listener", "acceptor", "acceptor-#",
    "background", "signal-handler",
    /* made by the kernel */
    "iou-wrk-#", "iou-sqp-#",
    /* web servers and proxies */
    "nginx", "nginx: worker process", "httpd", "apache#", "haproxy", "wrk:worker_#", "envoy", "wrk",
    /* node, V8, libuv */
    "node", "libuv-worker", "V8Worker", "DelayedTaskSche", "WorkerThread", "V8 DefaultWorke", "SignalInspector",
    /* chromium */
    "ThreadPoolForegroundWorker", "ThreadPoolBackgroundWorker", "ThreadPoolServiceThread", "ThreadPoolSingleThread",
    "Chrome_IOThread", "Chrome_ChildIOThread", "Chrome_InProcGpuThread", "Chrome_DevToolsHandlerThread", "Compositor",
    "CompositorTileWorker#", "CompositorGpuThread", "VizCompositorThread", "GpuMemoryThread", "GpuWatchdog",
    "Renderer::FrameSubmission", "CrBrowserMain", "CrRendererMain", "CrGpuMain", "CrUtilityMain", "NetworkService",
    "NetworkConfigWatcher", "AudioThread", "AudioOutputDevice", "AudioInputDevice", "CacheThread_BlockFile",
    "MemoryInfra", "PerfettoTrace", "inotify_reader", "DedicatedWorker thread", "ServiceWorker thread",
    "SharedWorker thread", "Media", "Bluez D-Bus thread", "dbus", "HangWatcher", "StackSamplingProfiler",
    "v8:ProfEvntProc", "WebRTC_Worker", "WebRTC_Signaling", "WebRTC_Network",
    /* Firefox and other Mozilla */
    "Socket Thread", "DOM Worker", "StreamTrans #", "BgIOThreadPool #", "TaskController #", "TaskCon~ller #", "Timer",
    "ImageIO", "ImgDecoder #", "Softwar~cThread", "Renderer", "WRWorker#", "WRRende~ckend#", "HTML5 Parser",
    "IPC I/O Parent", "IPC I/O Child", "IPDL Background", "Cache2 I/O", "DNS Resolver #", "StyleThread#",
    "GraphRunner", "MediaTimer #", "JS Helper", "JS Watchdog", "mozStorage #", "Permission",
    /* Qt */
    "QThread", "Thread (pooled)", "QDBusConnection", "QXcbEventQueue", "QXcbEventReader", "QSGRenderThread",
    "QQmlThread", "QNetworkAccessManager", "Qt bearer threa", "QFileInfoGather", "Qt HTTP thread",
    "WaylandEventThread",
    /* SDL, audio, graphics */
    "SDLAudioP#", "SDLAudioC#", "SDLAudioDev#", "SDLTimer", "SDL_joystick", "SDLHotplugALSA", "alsa-source",
    "alsa-sink", "threaded-ml", "pulseaudio", "data-loop.#", "pw-data-loop", "module-rt", "ALSA", "openal-mixer",
    "alsoft-mixer", "gl_thread", "gdrv#", "zfq#", "disk$#", "sh#", "shlo#", "traceq#", "amdgpu_cs:#", "radv_cs",
    "WSI swapchain q", "vkrt_helper", "vkps_update", "llvmpipe-#", "mesa_glthread", "dri#", "iris:disk$#",
    /* databases */
    "sqlite", "rocksdb:low#", "rocksdb:low", "rocksdb:high#", "rocksdb:high", "rocksdb:bottom#", "rocksdb:dump_st",
    "mysqld", "connection", "ib_io_rd-#", "ib_io_wr-#", "ib_io_ibuf", "ib_io_log", "ib_pg_flush-#", "ib_pg_flush_co",
    "ib_log_writer", "ib_log_flush", "ib_log_wr_notif", "ib_log_fl_notif", "ib_log_checkpt", "ib_srv_purge",
    "ib_srv_wkr-#", "ib_srv_mon", "ib_srv_err_mon", "ib_buf_dump", "ib_buf_resize", "ib_dict_stats", "mariadbd",
    "postgres", "conn#", "WTEvict", "WTChec.tThread", "WTJourn.Flusher", "mongod", "TCMallocBg", "memcached",
    "mc-worker", "mc-lru-maint", "mc-slabmaint", "mc-idletimeout", "etcd",
    /* languages */
    "python#", "python#.#", "ruby", "ruby-timer-thr", "perl", "tokio-runtime-worker", "async-std/runti", "rayon-#",
    "actix-rt|system", "blocking-#", "GC Thread##", "VM Thread", "VM Periodic Tas", "C# CompilerThread#", "Finalizer",
    "Reference Handl", "Signal Dispatch", "Common-Cleaner", "G# Main Marker", "G# Conc##", "G# Refine##",
    "G# Service", "G# Young RemSet", "Service Thread", "Monitor Deflati", "Notification Th", "Sweeper thread",
    "Attach Listener", "ForkJoinPool", "ForkJoinPool-#", "http-nio-#-exec-#", "http-nio-#", "qtp#-#", "qtp#",
    "netty-#", "nioEventLoopGro", ".NET ThreadPool", ".NET TP Worker", ".NET TP Gate", ".NET Finalizer",
    ".NET SigHandler", ".NET EventPipe", ".NET Sockets", ".NET Tiered Com", ".NET BGC",
    /* libraries */
    "grpc_global_tim", "grpcpp_sync_ser", "default-executo", "resolver-execut", "event_engine", "grpc-default-ex",
    "rdk:main", "rdk:broker#", "rdk:broker-#", "ZMQbg/#", "ZMQbg/Reaper", "ZMQbg/IO/#", "curl", "libusb_event",
    "OpenBLAS", "OMP-#", "MHD-single", "MHD-worker", "MHD-connection", "MHD-listen", "log4cplus", "spdlog", "glog",
    "sentry-http", "sentry-bgworker", "aio-#", "tcmalloc", "ffmpeg", "av:#", "dec#:#", "enc#:#", "demux", "muxer",
    "x264", "multiqueue#:src", "queue#:src", "GstTask", "typefind:sink", "decoder", "encoder",
    /* engines */
    "UnityGfxDeviceW", "UnityMain", "Job.Worker #", "Background Job.", "BatchDeleteObjec", "Loading.AsyncRe",
    "Loading.PreloadM", "RenderThread", "RenderThread #", "RHIThread", "TaskGraphThread", "TaskGraphNP #",
    "Foreground Worker #", "Background Worker #", "AudioMixerRende", "FMOD mixer thre", "FMOD stream thr",
    "FMOD file threa", "FAsyncLoadingThr",
    /* our own */
    "sbx-watch", "sbx-modules", "sbx-send",
};
/* clang-format on */

enum {
    KERNEL_NAME_BYTES = 15
}; /* TASK_COMM_LEN less the NUL */

uint32_t sbx_system_module_index(const char *base_name)
{
    if (base_name == NULL) {
        return 0;
    }
    for (uint32_t i = 1; i < ENTRIES(system_modules); i++) {
        if (strcmp(system_modules[i], base_name) == 0) {
            return i;
        }
    }
    return 0;
}

const char *sbx_system_module_name(uint32_t index)
{
    return index < ENTRIES(system_modules) ? system_modules[index] : NULL;
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* Does `name` (NUL-terminated, at most 15 bytes) match `pattern`? A '#' matches a whole run of digits. A name of full
 * length may end before the pattern does, because the kernel has shortened it. */
static bool follows_pattern(const char *pattern, const char *name, bool was_cut)
{
    while (*pattern != '\0') {
        if (*name == '\0') {
            return was_cut;
        }
        if (*pattern == '#') {
            if (is_digit(*name)) {
                while (is_digit(*name)) {
                    name++;
                }
            } else if (*name == '#') {
                name++; /* "GC Thread#0": a literal '#' */
            } else {
                return false;
            }
            pattern++;
            continue;
        }
        if (*pattern != *name) {
            return false;
        }
        pattern++;
        name++;
    }
    return *name == '\0';
}

uint32_t sbx_thread_name_index(const char *name)
{
    if (name == NULL || name[0] == '\0') {
        return 0;
    }
    bool was_cut = strnlen(name, KERNEL_NAME_BYTES + 1) == KERNEL_NAME_BYTES;
    for (uint32_t i = 2; i < ENTRIES(thread_patterns); i++) {
        if (follows_pattern(thread_patterns[i], name, was_cut)) {
            return i;
        }
    }
    return 0;
}

const char *sbx_thread_name_pattern(uint32_t index)
{
    return index < ENTRIES(thread_patterns) ? thread_patterns[index] : thread_patterns[0];
}
