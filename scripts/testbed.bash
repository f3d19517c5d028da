# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# shellcheck disable=SC2034,SC2154 # names that the sourcing script sets and reads
# testbed.bash - a server, a recorded redis-server and the ways to stall it: what demo, soak and the end-to-end test share.
#
# Sourced, not run. The caller sets `stallbox` to the binary, makes a folder for everything, and calls testbed_clean on
# exit: it ends what was started here, by process id, and nothing else.

testbed_pids=()

# Seconds and microseconds as one number of milliseconds.
now_ms() {
    local now=${EPOCHREALTIME/[.,]/}
    echo "$((now / 1000))"
}

# wait_until SECONDS COMMAND...: repeat the command until it succeeds; fails after so many seconds.
wait_until() {
    local deadline=$((SECONDS + $1))
    shift
    until "$@" >/dev/null 2>&1; do
        [ "$SECONDS" -lt "$deadline" ] || return 1
        sleep 0.05
    done
}

is_gone() { # PID
    ! kill -0 "$1" 2>/dev/null
}

port_is_free() { # PORT
    ! (exec 3<>"/dev/tcp/127.0.0.1/$1") 2>/dev/null
}

# A loopback port nobody listens on, below the range that the kernel hands out by itself.
free_port() {
    local port _
    for _ in {1..100}; do
        port=$((RANDOM % 12000 + 20000))
        if port_is_free "$port"; then
            echo "$port"
            return
        fi
    done
    echo "no free port on 127.0.0.1" >&2
    return 1
}

# end_process PID [SECONDS]: ask it to end, wait, and kill it when it does not.
end_process() {
    kill -TERM "$1" 2>/dev/null || return 0
    wait_until "${2:-10}" is_gone "$1" || kill -KILL "$1" 2>/dev/null || true
    wait "$1" 2>/dev/null || true # its status is nobody's matter, and must not end a script that runs with set -e
    return 0
}

# End everything that was started here, the youngest first: an application before its server.
testbed_clean() {
    local index
    for ((index = ${#testbed_pids[@]} - 1; index >= 0; index--)); do
        end_process "${testbed_pids[index]}"
    done
    testbed_pids=()
}

server_address() { # LOG
    sed -n 's/^stallbox serve: listening on \(http:[^ ]*\)\/ .*/\1/p' "$1" | tail -n 1
}

has_server_address() {
    [ -n "$(server_address "$1")" ]
}

# start_server DATA LOG ADDR:PORT [OPTION...]: sets server_pid and server_url.
start_server() {
    local data=$1 log=$2 listen=$3
    shift 3
    : >"$log"
    "$stallbox" serve --data "$data" --listen "$listen" "$@" 2>>"$log" &
    server_pid=$!
    testbed_pids+=("$server_pid")
    if ! wait_until 15 has_server_address "$log"; then
        echo "the server did not start:" >&2
        cat "$log" >&2
        return 1
    fi
    server_url=$(server_address "$log")
}

redis_answers() {
    [ "$(redis-cli -h 127.0.0.1 -p "$redis_port" ping 2>/dev/null)" = PONG ]
}

# start_redis FOLDER [RUN-OPTION...]: runs Debian's redis-server under `stallbox run`. Sets run_pid, redis_pid and
# redis_port; what run and redis print is in FOLDER/run.log and FOLDER/redis.log.
start_redis() {
    local folder=$1
    shift
    mkdir -p "$folder"
    redis_port=$(free_port) || return 1
    "$stallbox" run "$@" -- redis-server --port "$redis_port" --bind 127.0.0.1 --save "" --appendonly no \
        --enable-debug-command yes --dir "$folder" --logfile "$folder/redis.log" >"$folder/run.log" 2>&1 &
    run_pid=$!
    testbed_pids+=("$run_pid")
    if ! wait_until 15 redis_answers; then
        echo "redis-server did not start:" >&2
        cat "$folder/run.log" "$folder/redis.log" >&2
        return 1
    fi
    redis_pid=$(redis INFO server | tr -d '\r' | sed -n 's/^process_id://p')
}

redis() { # COMMAND...
    redis-cli -h 127.0.0.1 -p "$redis_port" "$@"
}

# Nothing but the interpreter itself: no call of redis, no allocation.
lua_loop='local x = 0 for i = 1, tonumber(ARGV[1]) do x = (x * 31 + i) % 1000003 end return x'

redis_cpu_ms() {
    redis INFO cpu | tr -d '\r' | awk -F: '$1 == "used_cpu_user" || $1 == "used_cpu_sys" { ms += $2 * 1000 } END { printf "%d\n", ms }'
}

lua_run_ms() { # ROUNDS: how much processor time the loop takes
    local began
    began=$(redis_cpu_ms)
    redis EVAL "$lua_loop" 0 "$1" >/dev/null || return 1
    echo "$(($(redis_cpu_ms) - began))"
}

# lua_rounds_for MILLISECONDS: how many rounds take about that long here, of processor time: on a busy machine the way to it takes longer, and never less. Itself it
# never computes for longer than some 100 ms. The quickest of a few runs counts: a slow one says more about the moment than about the machine.
lua_rounds_for() {
    local rounds=250000 took again _
    took=$(lua_run_ms "$rounds") || return 1
    while [ "$took" -lt 20 ]; do
        rounds=$((rounds * 3))
        took=$(lua_run_ms "$rounds") || return 1
    done
    for _ in {1..4}; do
        again=$(lua_run_ms "$rounds") || return 1
        [ "$again" -ge "$took" ] || took=$again
    done
    echo "$((rounds * $1 / took))"
}

count_files() { # FOLDER SUFFIX
    find "$1" -maxdepth 1 -name "*.$2" -type f 2>/dev/null | wc -l
}

has_files() { # FOLDER SUFFIX AT-LEAST
    [ "$(count_files "$1" "$2")" -ge "$3" ]
}
