-- stall.lua - a script with slow functions, for examples/lua_provider.c

local function spin(seconds)
    local ends, x = os.clock() + seconds, 0
    while os.clock() < ends do
        for i = 1, 1000000 do
            x = x + i % 7
        end
    end
    return x
end

function compute()
    local result = spin(1.5) -- not "return spin(1.5)": a tail call leaves no trace of who made it
    return result
end

function wait()
    sleep_ms(1200)
end

function build()
    local ends, parts = os.clock() + 1.5, {}
    while os.clock() < ends do
        for i = 1, 1000 do
            parts[i] = { i, tostring(i) }
        end
    end
end

-- The same inside a coroutine: who resumed it stands below it.
function resumed()
    local step = coroutine.wrap(function() spin(1.5) end)
    step()
end

-- A plug-in in a state of its own, called by a function of C that this script calls.
function nested()
    in_plugin("compute")
end

-- The same state, entered a second time.
function entered_twice()
    again("compute")
end
