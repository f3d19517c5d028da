/* SPDX-License-Identifier: Apache-2.0 */
/* names.c - the tables that let a payload carry numbers where others would carry strings.
 *
 * Both sides are compiled with them, so the text of a process is compared here and never sent. The two big tables are
 * append-only: an index that was once sent means the same entry for ever, and entries go to the end, whatever order
 * that leaves them in. The enum tables are indexed by the enum itself, so that a name cannot drift from its number. */
#include "names.h"

#include <stdbool.h>
#include <string.h>

#include "payload_numbers.h"

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
    /* GLib, GTK and what they draw with */
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

/* What threads of well-known programs and libraries call themselves. '#' stands for a run of digits, which never leave.
 * The kernel cuts a name to 15 bytes; entries are written whole where that is known and matched cut. Append only. */
/* clang-format off */
static const char *const thread_patterns[] = {
    "other", /* 0 */
    "main",  /* 1: given to the main thread whatever it is called; no other thread gets it by its name */
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
    /* kernel-made */
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

/* Does `name` (NUL-terminated, at most 15 bytes) follow `pattern`? A '#' takes a whole run of digits; a name of full
 * length may end where the pattern still goes on, because the kernel has cut it there. */
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

/* One entry of a table indexed by its enum; holes and numbers beyond the end are "unknown". */
static const char *name_at(const char *const *table, size_t entries, uint64_t number)
{
    return number < entries && table[number] != NULL ? table[number] : "unknown";
}

const char *sbx_trigger_name(uint32_t kind)
{
    static const char *const table[] = {
        [SBX_TRIGGER_NONE] = "none",
        [SBX_TRIGGER_ANR] = "anr",
        [SBX_TRIGGER_DEADLINE] = "deadline",
        [SBX_TRIGGER_SLOW_MESSAGE] = "slow_message",
        [SBX_TRIGGER_SLOW_FRAME] = "slow_frame",
        [SBX_TRIGGER_WATCHDOG] = "watchdog",
        [SBX_TRIGGER_MANUAL] = "manual",
        [SBX_TRIGGER_KILLED] = "killed",
        [SBX_TRIGGER_CRASH] = "crash",
        [SBX_TRIGGER_END] = "stall_end",
    };
    return name_at(table, ENTRIES(table), kind);
}

const char *sbx_stall_end_name(uint32_t how)
{
    static const char *const table[] = {
        [SBX_END_NONE] = "none",
        [SBX_END_ANSWERED] = "answered",
        [SBX_END_DIED] = "died",
        [SBX_END_UNSEEN] = "unseen",
    };
    return name_at(table, ENTRIES(table), how);
}

const char *sbx_signal_name(uint32_t number)
{
    static const char *const table[] = {
        /* Linux on x86-64 and aarch64 */
        [1] = "SIGHUP",   [2] = "SIGINT",     [3] = "SIGQUIT",  [4] = "SIGILL",     [5] = "SIGTRAP",  [6] = "SIGABRT",
        [7] = "SIGBUS",   [8] = "SIGFPE",     [9] = "SIGKILL",  [10] = "SIGUSR1",   [11] = "SIGSEGV", [12] = "SIGUSR2",
        [13] = "SIGPIPE", [14] = "SIGALRM",   [15] = "SIGTERM", [16] = "SIGSTKFLT", [17] = "SIGCHLD", [18] = "SIGCONT",
        [19] = "SIGSTOP", [20] = "SIGTSTP",   [21] = "SIGTTIN", [22] = "SIGTTOU",   [23] = "SIGURG",  [24] = "SIGXCPU",
        [25] = "SIGXFSZ", [26] = "SIGVTALRM", [27] = "SIGPROF", [28] = "SIGWINCH",  [29] = "SIGIO",   [30] = "SIGPWR",
        [31] = "SIGSYS",
    };
    return number >= 32 && number <= SBX_SIGNAL_MAX ? "SIGRT" : name_at(table, ENTRIES(table), number);
}

const char *sbx_fault_text(uint32_t fault)
{
    static const char *const table[] = {
        [SBX_FAULT_UNKNOWN] = "why is not known",
        [SBX_FAULT_SENT] = "sent by another process",
        [SBX_FAULT_ABORT] = "raised by the program itself",
        [SBX_FAULT_UNMAPPED] = "no memory at the address",
        [SBX_FAULT_PROTECTED] = "memory that may not be used so",
        [SBX_FAULT_WILD] = "an impossible address",
        [SBX_FAULT_ALIGNMENT] = "an address that is not aligned",
        [SBX_FAULT_BACKING] = "mapped memory beyond its file's end",
        [SBX_FAULT_HARDWARE] = "a memory error of the machine",
        [SBX_FAULT_INSTRUCTION] = "an instruction that does not exist",
        [SBX_FAULT_DIVISION] = "a division by zero",
        [SBX_FAULT_ARITHMETIC] = "an arithmetic exception",
        [SBX_FAULT_BREAKPOINT] = "a breakpoint without a debugger",
        [SBX_FAULT_SECCOMP] = "a system call that a filter forbids",
        [SBX_FAULT_STACK] = "its stack overflowed",
        [SBX_FAULT_NO_MEMORY] = "the kernel killed it for want of memory",
    };
    return name_at(table, ENTRIES(table), fault);
}

const char *sbx_record_name(uint32_t kind)
{
    static const char *const table[] = {
        [SBX_RECORD_NONE] = "none",       [SBX_RECORD_ALLOC] = "alloc",   [SBX_RECORD_ASYNC] = "async",
        [SBX_RECORD_BLOCKED] = "blocked", [SBX_RECORD_LOCK] = "lock",     [SBX_RECORD_COND] = "cond",
        [SBX_RECORD_POLL] = "poll",       [SBX_RECORD_SLEEP] = "sleep",   [SBX_RECORD_FILE] = "file",
        [SBX_RECORD_SOCKET] = "socket",   [SBX_RECORD_SYNC] = "sync",     [SBX_RECORD_IDLE] = "idle",
        [SBX_RECORD_MESSAGE] = "message", [SBX_RECORD_WAIT] = "wait",     [SBX_RECORD_PROCESS] = "process",
        [SBX_RECORD_LOADER] = "loader",   [SBX_RECORD_WAKE] = "wake",     [SBX_RECORD_FRAME] = "frame",
        [SBX_RECORD_LEAF] = "leaf",       [SBX_RECORD_MEMORY] = "memory", [SBX_RECORD_KERNEL] = "kernel",
        [SBX_RECORD_HOP] = "hop",         [SBX_RECORD_TASK] = "task",     [SBX_RECORD_AWAITED] = "awaited",
    };
    return name_at(table, ENTRIES(table), kind);
}

const char *sbx_op_name(uint32_t op)
{
    static const char *const table[] = {
        [SBX_OP_NONE] = "none",
        [SBX_OP_MALLOC] = "malloc",
        [SBX_OP_CALLOC] = "calloc",
        [SBX_OP_REALLOC] = "realloc",
        [SBX_OP_FREE] = "free",
        [SBX_OP_ALIGNED_ALLOC] = "aligned_alloc",
        [SBX_OP_MUTEX_LOCK] = "pthread_mutex_lock",
        [SBX_OP_MUTEX_TIMEDLOCK] = "pthread_mutex_timedlock",
        [SBX_OP_COND_WAIT] = "pthread_cond_wait",
        [SBX_OP_COND_TIMEDWAIT] = "pthread_cond_timedwait",
        [SBX_OP_COND_CLOCKWAIT] = "pthread_cond_clockwait",
        [SBX_OP_POLL] = "poll",
        [SBX_OP_PPOLL] = "ppoll",
        [SBX_OP_EPOLL_WAIT] = "epoll_wait",
        [SBX_OP_EPOLL_PWAIT] = "epoll_pwait",
        [SBX_OP_SELECT] = "select",
        [SBX_OP_PSELECT] = "pselect",
        [SBX_OP_EPOLL_PWAIT2] = "epoll_pwait2",
        [SBX_OP_NANOSLEEP] = "nanosleep",
        [SBX_OP_CLOCK_NANOSLEEP] = "clock_nanosleep",
        [SBX_OP_USLEEP] = "usleep",
        [SBX_OP_SLEEP] = "sleep",
        [SBX_OP_READ] = "read",
        [SBX_OP_WRITE] = "write",
        [SBX_OP_PREAD] = "pread",
        [SBX_OP_PWRITE] = "pwrite",
        [SBX_OP_READV] = "readv",
        [SBX_OP_WRITEV] = "writev",
        [SBX_OP_OPEN] = "open",
        [SBX_OP_FSYNC] = "fsync",
        [SBX_OP_FDATASYNC] = "fdatasync",
        [SBX_OP_FLOCK] = "flock",
        [SBX_OP_SYNC_FILE_RANGE] = "sync_file_range",
        [SBX_OP_CONNECT] = "connect",
        [SBX_OP_ACCEPT] = "accept",
        [SBX_OP_SEND] = "send",
        [SBX_OP_RECV] = "recv",
        [SBX_OP_SENDTO] = "sendto",
        [SBX_OP_RECVFROM] = "recvfrom",
        [SBX_OP_SENDMSG] = "sendmsg",
        [SBX_OP_RECVMSG] = "recvmsg",
        [SBX_OP_GETADDRINFO] = "getaddrinfo",
        [SBX_OP_SYSCALL] = "syscall",
        [SBX_OP_RUNNING] = "running",
        [SBX_OP_PAGE_FAULT] = "page fault",
        [SBX_OP_RWLOCK_RDLOCK] = "pthread_rwlock_rdlock",
        [SBX_OP_RWLOCK_WRLOCK] = "pthread_rwlock_wrlock",
        [SBX_OP_RWLOCK_TIMEDRDLOCK] = "pthread_rwlock_timedrdlock",
        [SBX_OP_RWLOCK_TIMEDWRLOCK] = "pthread_rwlock_timedwrlock",
        [SBX_OP_SPIN_LOCK] = "pthread_spin_lock",
        [SBX_OP_MUTEX_CLOCKLOCK] = "pthread_mutex_clocklock",
        [SBX_OP_MUTEX_UNLOCK] = "pthread_mutex_unlock",
        [SBX_OP_RWLOCK_UNLOCK] = "pthread_rwlock_unlock",
        [SBX_OP_SPIN_UNLOCK] = "pthread_spin_unlock",
        [SBX_OP_COND_SIGNAL] = "pthread_cond_signal",
        [SBX_OP_COND_BROADCAST] = "pthread_cond_broadcast",
        [SBX_OP_SEM_POST] = "sem_post",
        [SBX_OP_EVENTFD_WRITE] = "eventfd_write",
        [SBX_OP_FUTEX_WAKE] = "futex_wake",
        [SBX_OP_THREAD_EXIT] = "thread_exit",
        [SBX_OP_BARRIER_LAST] = "barrier_last",
        [SBX_OP_SEM_WAIT] = "sem_wait",
        [SBX_OP_SEM_TIMEDWAIT] = "sem_timedwait",
        [SBX_OP_BARRIER_WAIT] = "pthread_barrier_wait",
        [SBX_OP_JOIN] = "pthread_join",
        [SBX_OP_TIMEDJOIN] = "pthread_timedjoin_np",
        [SBX_OP_EVENTFD_READ] = "eventfd_read",
        [SBX_OP_FUTEX_WAIT] = "futex_wait",
        [SBX_OP_REALLOCARRAY] = "reallocarray",
        [SBX_OP_MMAP] = "mmap",
        [SBX_OP_MUNMAP] = "munmap",
        [SBX_OP_MREMAP] = "mremap",
        [SBX_OP_MADVISE] = "madvise",
        [SBX_OP_CLOSE] = "close",
        [SBX_OP_PREADV] = "preadv",
        [SBX_OP_PWRITEV] = "pwritev",
        [SBX_OP_STAT] = "stat",
        [SBX_OP_FSTAT] = "fstat",
        [SBX_OP_STATX] = "statx",
        [SBX_OP_ACCESS] = "access",
        [SBX_OP_READLINK] = "readlink",
        [SBX_OP_RENAME] = "rename",
        [SBX_OP_UNLINK] = "unlink",
        [SBX_OP_MKDIR] = "mkdir",
        [SBX_OP_RMDIR] = "rmdir",
        [SBX_OP_LINK] = "link",
        [SBX_OP_OPENDIR] = "opendir",
        [SBX_OP_READDIR] = "readdir",
        [SBX_OP_GETDENTS] = "getdents",
        [SBX_OP_FCNTL_LOCK] = "fcntl_lock",
        [SBX_OP_LOCKF] = "lockf",
        [SBX_OP_TRUNCATE] = "truncate",
        [SBX_OP_FALLOCATE] = "fallocate",
        [SBX_OP_SENDFILE] = "sendfile",
        [SBX_OP_COPY_FILE_RANGE] = "copy_file_range",
        [SBX_OP_SPLICE] = "splice",
        [SBX_OP_SYNC] = "sync",
        [SBX_OP_SYNCFS] = "syncfs",
        [SBX_OP_MSYNC] = "msync",
        [SBX_OP_STATFS] = "statfs",
        [SBX_OP_FOPEN] = "fopen",
        [SBX_OP_FCLOSE] = "fclose",
        [SBX_OP_FREAD] = "fread",
        [SBX_OP_FWRITE] = "fwrite",
        [SBX_OP_FGETS] = "fgets",
        [SBX_OP_FPUTS] = "fputs",
        [SBX_OP_FPRINTF] = "fprintf",
        [SBX_OP_FFLUSH] = "fflush",
        [SBX_OP_GETLINE] = "getline",
        [SBX_OP_PUTS] = "puts",
        [SBX_OP_FGETC] = "fgetc",
        [SBX_OP_FORK] = "fork",
        [SBX_OP_POSIX_SPAWN] = "posix_spawn",
        [SBX_OP_WAITPID] = "waitpid",
        [SBX_OP_WAITID] = "waitid",
        [SBX_OP_SYSTEM] = "system",
        [SBX_OP_POPEN] = "popen",
        [SBX_OP_PCLOSE] = "pclose",
        [SBX_OP_DLOPEN] = "dlopen",
        [SBX_OP_DLCLOSE] = "dlclose",
        [SBX_OP_CLOCK_GETTIME] = "clock_gettime",
        [SBX_OP_GETTIMEOFDAY] = "gettimeofday",
        [SBX_OP_TIME] = "time",
        [SBX_OP_SDL_RENDER_PRESENT] = "SDL_RenderPresent",
        [SBX_OP_SDL_SWAP_WINDOW] = "SDL_GL_SwapWindow",
        [SBX_OP_EGL_SWAP_BUFFERS] = "eglSwapBuffers",
        [SBX_OP_GLX_SWAP_BUFFERS] = "glXSwapBuffers",
        [SBX_OP_VK_QUEUE_PRESENT] = "vkQueuePresentKHR",
        [SBX_OP_SENDMMSG] = "sendmmsg",
        [SBX_OP_RECVMMSG] = "recvmmsg",
        [SBX_OP_GETNAMEINFO] = "getnameinfo",
        [SBX_OP_GETHOSTBYNAME] = "gethostbyname",
        [SBX_OP_PAUSE] = "pause",
        [SBX_OP_SIGSUSPEND] = "sigsuspend",
        [SBX_OP_SIGTIMEDWAIT] = "sigtimedwait",
        [SBX_OP_RUNTIME_LOCK] = "interpreter lock",
        [SBX_OP_TASK] = "task",
        [SBX_OP_G_IDLE_ADD] = "g_idle_add",
        [SBX_OP_G_TIMEOUT_ADD] = "g_timeout_add",
        [SBX_OP_G_SOURCE_ATTACH] = "g_source_attach",
        [SBX_OP_G_MAIN_CONTEXT_INVOKE] = "g_main_context_invoke",
        [SBX_OP_G_THREAD_POOL_PUSH] = "g_thread_pool_push",
        [SBX_OP_G_TASK_RUN_IN_THREAD] = "g_task_run_in_thread",
        [SBX_OP_G_ASYNC_QUEUE_PUSH] = "g_async_queue_push",
        [SBX_OP_PTHREAD_CREATE] = "pthread_create",
        [SBX_OP_UV_QUEUE_WORK] = "uv_queue_work",
        [SBX_OP_UV_ASYNC_SEND] = "uv_async_send",
        [SBX_OP_UV_TIMER_START] = "uv_timer_start",
        [SBX_OP_UV_FS] = "uv_fs",
        [SBX_OP_QT_POST_EVENT] = "QCoreApplication::postEvent",
        [SBX_OP_EVENT_ACTIVE] = "event_active",
        [SBX_OP_QT_TIMER] = "QTimer",
        [SBX_OP_QT_THREAD_POOL] = "QThreadPool::start",
        [SBX_OP_EVENT_ADD] = "event_add",
        [SBX_OP_G_DBUS_CALL] = "g_dbus_connection_call",
        [SBX_OP_IO_URING_SUBMIT] = "io_uring_submit",
        [SBX_OP_IO_URING_WAIT] = "io_uring_wait_cqe",
        [SBX_OP_CALL_SOON] = "call_soon",
        [SBX_OP_CALL_LATER] = "call_later",
        [SBX_OP_CREATE_TASK] = "create_task",
        [SBX_OP_TO_THREAD] = "to_thread",
        [SBX_OP_SUBMIT] = "submit",
    };
    return name_at(table, ENTRIES(table), op);
}

const char *sbx_point_name(uint32_t group)
{
    static const char *const table[] = {
        [SBX_GROUP_ALLOC] = "alloc",
        [SBX_GROUP_LOCK] = "lock",
        [SBX_GROUP_COND] = "cond",
        [SBX_GROUP_POLL] = "poll",
        [SBX_GROUP_SLEEP] = "sleep",
        [SBX_GROUP_FILE] = "file",
        [SBX_GROUP_SOCKET] = "socket",
        [SBX_GROUP_ASYNC] = "async",
        [SBX_GROUP_FREE] = "free",
        [SBX_GROUP_MAP] = "map",
        [SBX_GROUP_RWLOCK] = "rwlock",
        [SBX_GROUP_SPIN] = "spin",
        [SBX_GROUP_WAKE] = "wake",
        [SBX_GROUP_SEMAPHORE] = "semaphore",
        [SBX_GROUP_BARRIER] = "barrier",
        [SBX_GROUP_JOIN] = "join",
        [SBX_GROUP_EVENTFD] = "eventfd",
        [SBX_GROUP_FUTEX] = "futex",
        [SBX_GROUP_OPEN] = "open",
        [SBX_GROUP_SYNC] = "sync",
        [SBX_GROUP_STAT] = "stat",
        [SBX_GROUP_DIRECTORY] = "directory",
        [SBX_GROUP_FILE_LOCK] = "file_lock",
        [SBX_GROUP_STDIO] = "stdio",
        [SBX_GROUP_LOOKUP] = "lookup",
        [SBX_GROUP_PROCESS] = "process",
        [SBX_GROUP_LOADER] = "loader",
        [SBX_GROUP_CLOCK] = "clock",
        [SBX_GROUP_FRAME] = "frame",
        [SBX_GROUP_TASK] = "task",
        [SBX_GROUP_GLIB] = "glib",
        [SBX_GROUP_QT] = "qt",
        [SBX_GROUP_UV] = "uv",
        [SBX_GROUP_LIBEVENT] = "libevent",
        [SBX_GROUP_SELF_PIPE] = "self_pipe",
        [SBX_GROUP_URING] = "io_uring",
        [SBX_GROUP_ASYNCIO] = "asyncio",
    };
    return name_at(table, ENTRIES(table), group);
}

const char *sbx_watch_kind_name(uint32_t kind)
{
    static const char *const table[] = {
        [SBX_WATCH_NONE] = "none", [SBX_WATCH_WATCHDOG] = "watch", [SBX_WATCH_DEADLINE] = "deadline"};
    return name_at(table, ENTRIES(table), kind);
}

const char *sbx_watch_state_name(uint32_t state)
{
    static const char *const table[] = {[SBX_WATCH_FREE] = "free",
                                        [SBX_WATCH_FILLING] = "filling",
                                        [SBX_WATCH_OPEN] = "open",
                                        [SBX_WATCH_RESTING] = "resting",
                                        [SBX_WATCH_LATE] = "late"};
    return name_at(table, ENTRIES(table), state);
}

const char *sbx_runtime_name(uint32_t kind)
{
    static const char *const table[] = {
        [SBX_RUNTIME_PYTHON] = "Python",
        [SBX_RUNTIME_JAVA] = "Java",
        [SBX_RUNTIME_JAVASCRIPT] = "V8",
    };
    return name_at(table, ENTRIES(table), kind);
}

const char *sbx_runtime_state_name(uint32_t state)
{
    static const char *const table[] = {
        [SBX_RUNTIME_NOT_YET] = "not up yet",
        [SBX_RUNTIME_ATTACHED] = "its functions are named",
        [SBX_RUNTIME_LEFT_ALONE] = "left alone",
        [SBX_RUNTIME_SWITCHED_OFF] = "left alone, as STALLBOX_RUNTIMES wants it",
        [SBX_RUNTIME_NO_PROVIDER] = "left alone, without its provider",
    };
    return name_at(table, ENTRIES(table), state);
}

const char *sbx_drop_name(uint32_t drop)
{
    static const char *const table[] = {
        [SBX_DROP_NO_CHUNK] = "no_chunk",
        [SBX_DROP_NESTED] = "nested",
        [SBX_DROP_NO_THREAD] = "no_thread",
        [SBX_DROP_STACK_OVERFLOW] = "stack_overflow",
        [SBX_DROP_FRAME_OVERFLOW] = "frame_overflow",
        [SBX_DROP_TRUNCATED] = "truncated",
        [SBX_DROP_SIGNAL_LATE] = "signal_late",
        [SBX_DROP_SIGNAL_TAKEN] = "signal_taken",
        [SBX_DROP_OBSERVE_FAILED] = "observe_failed",
        [SBX_DROP_NO_MODULE] = "no_module",
        [SBX_DROP_SNAPSHOT_BUSY] = "snapshot_busy",
        [SBX_DROP_SNAPSHOT_RATE] = "snapshot_rate",
        [SBX_DROP_SNAPSHOT_FAILED] = "snapshot_failed",
        [SBX_DROP_TORN_CHUNK] = "torn_chunk",
        [SBX_DROP_BAD_RECORD] = "bad_record",
        [SBX_DROP_STALE_STACK] = "stale_stack",
        [SBX_DROP_FOREIGN_SLOT] = "foreign_slot",
        [SBX_DROP_NO_WAITER_SEAT] = "no_waiter_seat",
        [SBX_DROP_CLOCK_FOREIGN] = "clock_foreign",
        [SBX_DROP_CUT] = "cut",
        [SBX_DROP_TORN_RUN] = "torn_run",
        [SBX_DROP_LOGICAL_OVERFLOW] = "logical_overflow",
        [SBX_DROP_LOGICAL_SKIPPED] = "logical_skipped",
        [SBX_DROP_NO_WATCH] = "no_watch",
        [SBX_DROP_NO_CONSENT] = "no_consent",
        [SBX_DROP_SIGNAL_DEAF] = "signal_deaf",
        [SBX_DROP_CALL_CUT] = "call_cut",
        [SBX_DROP_THREAD_UNMET] = "thread_unmet",
        [SBX_DROP_CALL_MOVED] = "call_moved",
        [SBX_DROP_STALL_END] = "stall_end",
        [SBX_DROP_NO_TASK] = "no_task",
        [SBX_DROP_NO_QUEUE] = "no_queue",
        [SBX_DROP_UNREADABLE] = "unreadable",
        [SBX_DROP_LOADER_HELD] = "loader_held",
    };
    return name_at(table, ENTRIES(table), drop);
}

const char *sbx_walk_end_name(uint32_t reason)
{
    static const char *const table[] = {
        [SBX_WALK_COMPLETE] = "complete",       [SBX_WALK_NO_MODULE] = "no_module",
        [SBX_WALK_NO_ROW] = "no_row",           [SBX_WALK_UNSUPPORTED] = "unsupported",
        [SBX_WALK_BAD_MEMORY] = "bad_memory",   [SBX_WALK_TOO_DEEP] = "too_deep",
        [SBX_WALK_NO_PROGRESS] = "no_progress", [SBX_WALK_ROWS_PENDING] = "rows_pending",
    };
    return name_at(table, ENTRIES(table), reason);
}

const char *sbx_fd_class_name(uint32_t fd_class)
{
    static const char *const table[] = {
        [SBX_FD_UNKNOWN] = "unknown", [SBX_FD_REGULAR] = "regular", [SBX_FD_DIRECTORY] = "directory",
        [SBX_FD_PIPE] = "pipe",       [SBX_FD_SOCKET] = "socket",   [SBX_FD_TTY] = "tty",
        [SBX_FD_DEVICE] = "device",   [SBX_FD_OTHER] = "other",     [SBX_FD_UNIX] = "local socket",
    };
    return name_at(table, ENTRIES(table), fd_class);
}

const char *sbx_syscall_name(uint64_t number)
{
    /* arch/x86/entry/syscalls/syscall_64.tbl; only calls that can block, or that a blocked thread is seen in. */
    static const char *const table[] = {
        [0] = "read",
        [1] = "write",
        [2] = "open",
        [3] = "close",
        [5] = "fstat",
        [7] = "poll",
        [9] = "mmap",
        [10] = "mprotect",
        [11] = "munmap",
        [12] = "brk",
        [16] = "ioctl",
        [17] = "pread64",
        [18] = "pwrite64",
        [19] = "readv",
        [20] = "writev",
        [23] = "select",
        [24] = "sched_yield",
        [25] = "mremap",
        [26] = "msync",
        [28] = "madvise",
        [34] = "pause",
        [35] = "nanosleep",
        [40] = "sendfile",
        [42] = "connect",
        [43] = "accept",
        [44] = "sendto",
        [45] = "recvfrom",
        [46] = "sendmsg",
        [47] = "recvmsg",
        [48] = "shutdown",
        [56] = "clone",
        [57] = "fork",
        [58] = "vfork",
        [59] = "execve",
        [61] = "wait4",
        [65] = "semop",
        [69] = "msgsnd",
        [70] = "msgrcv",
        [72] = "fcntl",
        [73] = "flock",
        [74] = "fsync",
        [75] = "fdatasync",
        [76] = "truncate",
        [77] = "ftruncate",
        [78] = "getdents",
        [82] = "rename",
        [83] = "mkdir",
        [84] = "rmdir",
        [85] = "creat",
        [86] = "link",
        [87] = "unlink",
        [127] = "rt_sigpending",
        [128] = "rt_sigtimedwait",
        [130] = "rt_sigsuspend",
        [149] = "mlock",
        [151] = "mlockall",
        [162] = "sync",
        [165] = "mount",
        [166] = "umount2",
        [202] = "futex",
        [208] = "io_getevents",
        [217] = "getdents64",
        [219] = "restart_syscall",
        [220] = "semtimedop",
        [221] = "fadvise64",
        [230] = "clock_nanosleep",
        [232] = "epoll_wait",
        [242] = "mq_timedsend",
        [243] = "mq_timedreceive",
        [247] = "waitid",
        [257] = "openat",
        [263] = "unlinkat",
        [264] = "renameat",
        [270] = "pselect6",
        [271] = "ppoll",
        [275] = "splice",
        [276] = "tee",
        [277] = "sync_file_range",
        [278] = "vmsplice",
        [281] = "epoll_pwait",
        [285] = "fallocate",
        [288] = "accept4",
        [295] = "preadv",
        [296] = "pwritev",
        [299] = "recvmmsg",
        [306] = "syncfs",
        [307] = "sendmmsg",
        [316] = "renameat2",
        [318] = "getrandom",
        [324] = "membarrier",
        [325] = "mlock2",
        [326] = "copy_file_range",
        [327] = "preadv2",
        [328] = "pwritev2",
        [333] = "io_pgetevents",
        [426] = "io_uring_enter",
        [435] = "clone3",
        [437] = "openat2",
        [441] = "epoll_pwait2",
        [449] = "futex_waitv",
        [454] = "futex_wake",
        [455] = "futex_wait",
    };
    return number < ENTRIES(table) ? table[number] : NULL;
}

uint64_t sbx_app_what(const char *name)
{
    const uint64_t mask = (UINT64_C(1) << 40) - 1;
    uint64_t hash = UINT64_C(0xcbf29ce484222325);
    for (const char *at = name; *at != '\0'; at++) {
        hash = (hash ^ (uint8_t)*at) * UINT64_C(0x100000001b3);
    }
    hash = (hash ^ hash >> 40) & mask;
    return name[0] == '\0' ? 0 : hash != 0 ? hash : 1;
}

/* The low 40 bits of FNV-1a of the build-id, a number and what sort of number it is (0: that is left out). */
static uint64_t number_what(const uint8_t *app_build_id, size_t bytes, uint32_t number, uint8_t sort)
{
    uint64_t hash = UINT64_C(0xcbf29ce484222325);
    for (size_t i = 0; i < bytes; i++) {
        hash = (hash ^ app_build_id[i]) * UINT64_C(0x100000001b3);
    }
    hash = (hash ^ (number & 0xff)) * UINT64_C(0x100000001b3);
    hash = sort != 0 ? (hash ^ sort) * UINT64_C(0x100000001b3) : hash;
    return bytes == 0 || number == 0 ? 0 : hash & UINT64_C(0xffffffffff);
}

uint64_t sbx_message_kind_what(const uint8_t *app_build_id, size_t bytes, uint32_t kind)
{
    return number_what(app_build_id, bytes, kind, 0);
}

uint64_t sbx_scene_what(const uint8_t *app_build_id, size_t bytes, uint32_t scene)
{
    return number_what(app_build_id, bytes, scene, 's');
}
