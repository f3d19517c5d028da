/* SPDX-License-Identifier: Apache-2.0 */
/* timeline.js - lets one go closer into the timeline of a stall: pan and zoom by pointer and keys, and the stack of a thread at a time.
 *
 * The pictures of the server stay where no script runs. Here what they draw comes from /v1/snapshots/ID.timeline, whole, and is drawn by d3. What one
 * looks at stands behind the '#' of the address: `from` and `to` in milliseconds, `thread` and `time` of the stack. */
"use strict";
(() => {
    const { element } = window.stallbox, get = (name) => window.stallbox.get(name), set = (name, value) => window.stallbox.set(name, value);
    const LANES = 12, ROW = 26, BAR = 20, AXIS = 34, MESSAGES = 8, MARGIN = 24; /* of the last time on the axis */

    function ms(value) {
        const size = Math.abs(value), sign = value < 0 ? "\u2212" : "";
        return sign + (size >= 1000 ? `${(size / 1000).toFixed(2)} s` : size >= 10 ? `${size.toFixed(1)} ms` : `${size.toFixed(3)} ms`);
    }

    /* A mark of the axis: as many digits as it has. */
    function mark(value) {
        const size = Math.abs(value), sign = value < 0 ? "\u2212" : "";
        return size >= 1000 ? `${sign}${Number((size / 1000).toFixed(3))} s` : `${sign}${Number(size.toFixed(3))} ms`;
    }

    /* ---- what is drawn ---- */

    function onCpu(thread) {
        return thread.pieces.reduce((sum, [begin, end, state]) => sum + (state === 1 ? end - begin : 0), 0);
    }

    /* The judged thread, the culprit, whom arrows lead to, then who computed most. */
    function orderOf(data) {
        const linked = new Set([...data.waits, ...data.tasks].flatMap((arrow) => [arrow.from, arrow.to]));
        const score = (thread) => (thread.judged ? 1e12 : thread.culprit ? 1e11 : linked.has(thread.thread) ? 1e10 : 0) + onCpu(thread);
        return data.threads.filter((thread) => thread.pieces.length > 0 || linked.has(thread.thread) || thread.judged)
            .sort((a, b) => score(b) - score(a));
    }

    /* Frames of a node, leaf first. */
    function framesOf(data, node) {
        const frames = [];
        for (let at = node; at !== 0; at = data.nodes[at][0]) {
            frames.push(data.frames[data.nodes[at][1]]);
        }
        return frames;
    }

    /* Pieces between two times; those narrower than a pixel are joined into what has most of it. */
    function visiblePieces(thread, scale, begin, end) {
        const shown = [];
        const first = d3.bisector((piece) => piece[1]).left(thread.pieces, begin);
        for (let i = first; i < thread.pieces.length && thread.pieces[i][0] < end; i++) {
            const piece = thread.pieces[i], last = shown[shown.length - 1];
            const left = scale(Math.max(piece[0], begin)), right = scale(Math.min(piece[1], end));
            if (last && right - last.left < 1.5) {
                last.right = right;
                if (piece[1] - piece[0] > last.piece[1] - last.piece[0]) {
                    last.piece = piece;
                }
            } else {
                shown.push({ piece, left, right });
            }
        }
        return shown;
    }

    /* ---- the picture ---- */

    function enliven(section, data) {
        const ordered = orderOf(data);
        const whole = [data.begin_ms, Math.max(data.end_ms, 1)];
        const [judgedBegin, judgedEnd] = data.judged_ms;
        const margin = (judgedEnd - judgedBegin) / 12;
        const judged = judgedEnd > judgedBegin ? [Math.max(whole[0], judgedBegin - margin), Math.min(whole[1], judgedEnd + margin)] : whole;
        let lanes = ordered.slice(0, LANES), range = null, chosen = null, width = 0, labels = 0, right = 0;

        const svg = d3.create("svg").attr("tabindex", 0).attr("role", "application").attr("class", "timeline-chart")
            .attr("aria-label", "Timeline. Left and right pan, plus and minus zoom, 0 shows all, J the judged interval; up and down choose a thread, comma and period a stretch of it.");
        const button = (text, label, act) => element("button", { type: "button", title: label, "aria-label": label, onclick: act }, text);
        const tools = element("div", { class: "timeline-tools" },
            button("Judged interval", "Show the judged interval", () => go(judged)),
            button("Whole history", "Show the whole history", () => go(whole)),
            button("+", "Zoom in", () => scale(0.5)), button("\u2212", "Zoom out", () => scale(2)),
            button("\u2190", "Earlier", () => shift(-0.25)), button("\u2192", "Later", () => shift(0.25)));
        if (ordered.length > LANES) {
            const more = button(`All ${ordered.length} threads`, "Show all threads", () => {
                lanes = lanes.length > LANES ? ordered.slice(0, LANES) : ordered;
                more.textContent = lanes.length > LANES ? `${LANES} threads` : `All ${ordered.length} threads`;
                draw();
            });
            tools.append(more);
        }
        const panel = element("div", { class: "timeline-stack", id: "stack-at", role: "status" }, "Choose a stretch of a thread: its stack at that time stands here.");
        const picture = element("div", { class: "timeline-picture" }, svg.node());
        const live = element("div", { class: "timeline-live" }, tools, picture, legendOf(data), panel,
            element("p", { class: "note" }, "Drag or use the arrow keys to pan; Ctrl and the wheel, two fingers, or + and \u2212 to zoom; J shows the judged interval, 0 all. Up and down choose a thread, comma and period the stretch before and behind."));
        section.append(live);
        section.querySelectorAll(":scope > div:not(.timeline-live)").forEach((one) => one.classList.add("is-replaced"));

        const height = () => AXIS + lanes.reduce((sum, lane) => sum + rowOf(lane), 0);
        const rowOf = (lane) => ROW + (lane.messages.length > 0 ? MESSAGES + 2 : 0);
        const topOf = (index) => AXIS + lanes.slice(0, index).reduce((sum, lane) => sum + rowOf(lane), 0);
        const barOf = (index) => topOf(index) + (lanes[index].messages.length > 0 ? MESSAGES + 2 : 0);
        const xOf = () => d3.scaleLinear().domain(range).range([labels, right]);

        /* ---- where one looks ---- */

        function clamp([begin, end]) {
            const least = 0.02, all = whole[1] - whole[0];
            const length = Math.min(Math.max(end - begin, least), all);
            const from = Math.min(Math.max(begin, whole[0]), whole[1] - length);
            return [from, from + length];
        }
        function go(to) {
            range = clamp(to);
            const text = (value) => String(Math.round(value * 1000) / 1000);
            const isDefault = range.every((value, i) => Math.abs(value - start()[i]) < 1e-6);
            set("from", isDefault ? "" : text(range[0]));
            set("to", isDefault ? "" : text(range[1]));
            /* The zoom's own notion of where it is, for the next drag. */
            const factor = (whole[1] - whole[0]) / (range[1] - range[0]);
            const base = d3.scaleLinear().domain(whole).range([labels, right]);
            svg.property("__zoom", d3.zoomIdentity.translate(labels - base(range[0]) * factor, 0).scale(factor));
            draw();
        }
        function start() {
            return clamp(new URLSearchParams(location.search).get("view") === "history" ? whole : judged);
        }
        function scale(factor) {
            const middle = chosen ? Math.min(Math.max(chosen.time, range[0]), range[1]) : (range[0] + range[1]) / 2;
            go([middle - (middle - range[0]) * factor, middle + (range[1] - middle) * factor]);
        }
        function shift(part) {
            const step = (range[1] - range[0]) * part;
            go([range[0] + step, range[1] + step]);
        }

        /* ---- a stack ---- */

        function pieceAt(lane, time) {
            return lane.pieces.find((piece) => piece[0] <= time && time <= piece[1]);
        }
        function choose(lane, piece, time) {
            if (!piece) {
                return;
            }
            chosen = { lane, piece, time };
            set("thread", String(lane.thread));
            set("time", String(Math.round(time * 1000) / 1000));
            const frames = framesOf(data, piece[3]);
            const list = element("ol", { class: "stack" });
            for (const frame of frames) {
                const item = element("li", {}, element("code", {}, frame.function));
                if (frame.module) {
                    item.append(" ", element("span", { class: "module" }, frame.module));
                }
                if (frame.file) {
                    item.append(" ", element("span", { class: "place" }, `${frame.file}:${frame.line}`));
                }
                list.append(item);
            }
            panel.replaceChildren(
                element("h3", {}, `${lane.name} at ${ms(time)}`),
                element("p", { class: "note" }, `${data.states[piece[2]].name} for ${ms(piece[1] - piece[0])}, from ${ms(piece[0])} to ${ms(piece[1])}`),
                frames.length ? list : element("p", { class: "quiet" }, "No stack is known there."));
            draw();
        }
        function step(by) {
            const lane = chosen ? chosen.lane : lanes[0];
            const at = chosen ? lane.pieces.indexOf(chosen.piece) : -1;
            const next = at < 0 ? pieceAt(lane, (range[0] + range[1]) / 2) || lane.pieces[0] : lane.pieces[at + by];
            if (next) {
                choose(lane, next, (Math.max(next[0], whole[0]) + next[1]) / 2);
                if (next[1] < range[0] || next[0] > range[1]) {
                    shift(next[1] < range[0] ? -0.5 : 0.5);
                }
            }
        }
        function stepLane(by) {
            const at = chosen ? lanes.indexOf(chosen.lane) + by : 0;
            const lane = lanes[at], time = chosen ? chosen.time : (range[0] + range[1]) / 2;
            if (lane) {
                const piece = pieceAt(lane, time) || lane.pieces[d3.bisector((one) => one[0]).center(lane.pieces, time)];
                choose(lane, piece, piece ? Math.min(Math.max(time, piece[0]), piece[1]) : time);
            }
        }

        /* ---- drawing ---- */

        function drawLane(lane, index, x) {
            const group = svg.append("g").attr("class", "lane").attr("data-thread", lane.thread);
            const top = barOf(index);
            group.append("text").attr("class", lane.judged ? "lane-name judged" : "lane-name").attr("x", labels - 8).attr("y", top + 14)
                .attr("text-anchor", "end").text(lane.name).append("title").text(`${lane.name}, thread ${lane.thread}`);
            for (const [begin, end, count, isJudged] of lane.messages) {
                if (end >= range[0] && begin <= range[1] && x(end) - x(begin) >= 0.5) {
                    group.append("rect").attr("class", isJudged ? "message judged" : "message").attr("x", Math.max(x(begin), labels))
                        .attr("y", top - MESSAGES - 2).attr("width", Math.max(Math.min(x(end), right) - Math.max(x(begin), labels) - 0.5, 1))
                        .attr("height", MESSAGES).append("title").text(`${count} message${count > 1 ? "s" : ""}, ${ms(end - begin)}`);
                }
            }
            const pieces = group.selectAll("g.piece").data(visiblePieces(lane, x, range[0], range[1])).join("g").attr("class", "piece");
            pieces.append("rect").attr("x", (d) => d.left).attr("y", top).attr("width", (d) => Math.max(d.right - d.left, 0.75)).attr("height", BAR)
                .attr("fill", (d) => data.states[d.piece[2]].fill)
                .classed("chosen", (d) => chosen && d.piece === chosen.piece);
            pieces.append("title").text((d) => {
                const frames = framesOf(data, d.piece[3]);
                return `${data.states[d.piece[2]].name} ${ms(d.piece[1] - d.piece[0])}${frames.length ? ", " + frames.slice(0, 3).map((one) => one.function).join(" \u2190 ") : ""}`;
            });
            pieces.filter((d) => d.right - d.left > 46 && d.piece[2] !== 9).append("text").attr("x", (d) => d.left + 4).attr("y", top + 14)
                .attr("fill", (d) => data.states[d.piece[2]].ink)
                .text((d) => {
                    const frames = framesOf(data, d.piece[3]), name = frames.length ? frames[0].function : data.states[d.piece[2]].name;
                    const room = Math.floor((d.right - d.left - 8) / 6.6);
                    return name.length > room ? name.slice(0, room - 1) + "\u2026" : name;
                });
            pieces.on("click", (event, d) => {
                const time = x.invert(d3.pointer(event, svg.node())[0]);
                choose(lane, d.piece, Math.min(Math.max(time, d.piece[0]), d.piece[1]));
            });
        }
        function drawArrow(arrow, kind, x) {
            const from = lanes.findIndex((lane) => lane.thread === arrow.from), to = lanes.findIndex((lane) => lane.thread === arrow.to);
            if ((from < 0 && to < 0) || Math.max(arrow.from_ms, arrow.to_ms) < range[0] || Math.min(arrow.from_ms, arrow.to_ms) > range[1]) {
                return;
            }
            const near = (value) => Math.min(Math.max(x(value), labels), right);
            const x2 = near(arrow.to_ms), x1 = from < 0 ? x2 - 12 : near(arrow.from_ms);
            const below = from >= 0 && to >= 0 && from > to;
            const y1 = from < 0 ? barOf(to) - 7 : barOf(from) + BAR / 2;
            const y2 = to < 0 ? barOf(from) + BAR + 6 : below ? barOf(to) + BAR : barOf(to);
            const group = svg.append("g").attr("class", `arrow ${kind}`);
            group.append("title").text(arrow.text);
            group.append("path").attr("class", "under").attr("d", `M${x1},${y1}L${x2},${y2}`);
            group.append("path").attr("d", `M${x1},${y1}L${x2},${y2}M${x2 - 4},${y2 + (below ? 6 : -6)}L${x2},${y2}L${x2 + 4},${y2 + (below ? 6 : -6)}`)
                .attr("stroke-dasharray", kind === "held" ? "4 3" : null);
        }
        function measure() {
            width = Math.max(picture.clientWidth, 240);
            labels = width < 600 ? 84 : 150;
            right = width - MARGIN;
        }
        function draw() {
            measure();
            const x = xOf(), tall = height();
            svg.attr("width", width).attr("height", tall).attr("viewBox", `0 0 ${width} ${tall}`);
            svg.selectAll("*").remove();
            const clip = (value) => Math.min(Math.max(x(value), labels), right);
            if (judgedEnd > judgedBegin && judgedEnd >= range[0] && judgedBegin <= range[1]) {
                svg.append("rect").attr("class", "judged-band").attr("x", clip(judgedBegin)).attr("y", AXIS - 6)
                    .attr("width", Math.max(clip(judgedEnd) - clip(judgedBegin), 1)).attr("height", tall - AXIS + 6);
            }
            svg.append("g").attr("class", "axis").attr("transform", `translate(0,${AXIS - 8})`)
                .call(d3.axisTop(x).ticks(Math.max(2, Math.floor((right - labels) / 110))).tickFormat(mark).tickSizeInner(-(tall - AXIS)));
            lanes.forEach((lane, index) => drawLane(lane, index, x));
            if (range[0] <= 0 && range[1] >= 0) {
                svg.append("line").attr("class", "trigger").attr("x1", x(0)).attr("x2", x(0)).attr("y1", AXIS - 8).attr("y2", tall)
                    .append("title").text(`trigger: ${data.trigger}`);
            }
            data.waits.forEach((arrow) => drawArrow(arrow, arrow.woke ? "woke" : "held", x));
            data.tasks.forEach((arrow) => drawArrow(arrow, "queued", x));
            if (chosen && lanes.includes(chosen.lane) && chosen.time >= range[0] && chosen.time <= range[1]) {
                const top = barOf(lanes.indexOf(chosen.lane));
                svg.append("line").attr("class", "cursor").attr("x1", x(chosen.time)).attr("x2", x(chosen.time)).attr("y1", top - 3).attr("y2", top + BAR + 3);
            }
        }

        /* ---- pointer and keys ---- */

        /* The zoom works on the whole history as it lies at scale 1. */
        let isOwn = false;
        const zoom = d3.zoom().filter((event) => (event.type === "wheel" ? event.ctrlKey || event.metaKey : !event.button))
            .scaleExtent([1, 1e6]).on("zoom", (event) => {
                if (!event.sourceEvent || isOwn) {
                    return;
                }
                const base = d3.scaleLinear().domain(whole).range([labels, right]);
                const moved = event.transform.rescaleX(base).domain();
                isOwn = true;
                go(moved);
                isOwn = false;
            });
        svg.call(zoom).on("dblclick.zoom", null);
        svg.on("keydown", (event) => {
            if (event.ctrlKey || event.metaKey || event.altKey) {
                return;
            }
            const steps = {
                ArrowLeft: () => shift(-0.2), ArrowRight: () => shift(0.2), "+": () => scale(0.5), "=": () => scale(0.5), "-": () => scale(2),
                0: () => go(whole), Home: () => go(whole), j: () => go(judged), J: () => go(judged),
                ArrowUp: () => stepLane(-1), ArrowDown: () => stepLane(1), ",": () => step(-1), ".": () => step(1), Enter: () => step(0),
            };
            if (steps[event.key]) {
                event.preventDefault();
                steps[event.key]();
            }
        });

        function restore() {
            const from = get("from"), to = get("to"), thread = get("thread"), time = get("time");
            showFirst(from !== "" && to !== "" && Number(from) < Number(to) ? [Number(from), Number(to)] : start());
            const lane = thread !== "" && ordered.find((one) => String(one.thread) === thread);
            if (lane) {
                lanes = lanes.includes(lane) ? lanes : [...lanes, lane];
                choose(lane, pieceAt(lane, Number(time)), Number(time));
            }
        }
        function showFirst(to) {
            range = clamp(to);
            measure();
            go(range);
        }
        restore();
        addEventListener("hashchange", restore);
        new ResizeObserver(() => go(range)).observe(picture);
        if (data.cut) {
            panel.before(element("p", { class: "note" }, "There is more than can be shown: some stretches of other threads are left out."));
        }
    }

    function legendOf(data) {
        const used = new Set(data.threads.flatMap((thread) => thread.pieces.map((piece) => piece[2])));
        const legend = element("p", { class: "note timeline-legend" });
        data.states.forEach((state, index) => {
            if (used.has(index) && index !== 0) {
                const swatch = element("span", { class: "swatch" });
                swatch.style.background = state.fill;
                legend.append(element("span", {}, swatch, state.name));
            }
        });
        if (data.waits.length) {
            legend.append(element("span", {}, "arrow: who ended the wait; dashed: who holds the lock"));
        }
        if (data.tasks.length) {
            legend.append(element("span", {}, "blue: who queued it"));
        }
        return legend;
    }

    async function begin() {
        const section = document.getElementById("timeline"), id = (/^\/stalls\/([0-9a-f]{32})$/.exec(location.pathname) || [])[1];
        if (!section || !id || !window.d3) {
            return;
        }
        for (let tries = 0; tries < 10; tries++) { /* it may have to be made first */
            const answer = await fetch(`/v1/snapshots/${id}.timeline`);
            if (answer.ok) {
                enliven(section, await answer.json());
                return;
            }
            if (answer.status !== 503) {
                return; /* the pictures of the server stay */
            }
            await new Promise((resolve) => setTimeout(resolve, 1000));
        }
    }
    begin();
})();
