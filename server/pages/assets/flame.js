/* SPDX-License-Identifier: Apache-2.0 */
/* flame.js - lets one go closer into the flame graphs of a page: zoom, search, callers and callees, rows that have all of the time joined.
 *
 * The pictures of the server stay what they are where no script runs. Here the tree is made anew of their boxes (names and times are attributes of
 * these) and drawn by d3-flame-graph. What one looks at stands behind the '#' of the address, so it can be sent to somebody; of pictures whose boxes are
 * links it is the link's own argument `at`, which the server understands as well. */
"use strict";

/* What stands behind the '#': shared with timeline.js and tabs.js. */
window.stallbox = {
    waiting: null, /* what is to stand there: a browser takes no more than some changes a second */
    get(name) {
        return (this.waiting || new URLSearchParams(location.hash.slice(1))).get(name) || "";
    },
    set(name, value) {
        if (this.get(name) === value) {
            return;
        }
        const all = this.waiting || new URLSearchParams(location.hash.slice(1));
        for (const [key, word] of [...all]) {
            if (word === "") {
                all.delete(key); /* the name of a section, to which a link led */
                const section = document.getElementById(key)?.closest(".tabs > section");
                if (section) {
                    all.set("tab", section.id);
                }
            }
        }
        if (value) {
            all.set(name, value);
        } else {
            all.delete(name);
        }
        if (!this.waiting) {
            setTimeout(() => {
                const text = this.waiting.toString();
                this.waiting = null;
                history.replaceState(null, "", location.pathname + location.search + (text ? "#" + text : ""));
            }, 200);
        }
        this.waiting = all;
    },
    element(name, attributes, ...children) {
        const made = document.createElement(name);
        for (const [key, value] of Object.entries(attributes || {})) {
            if (key.startsWith("on")) {
                made.addEventListener(key.slice(2), value);
            } else {
                made.setAttribute(key, value);
            }
        }
        made.append(...children);
        return made;
    },
};

(() => {
    const { element } = window.stallbox, get = (name) => window.stallbox.get(name), set = (name, value) => window.stallbox.set(name, value);
    const MARKED = "#ffe066"; /* boxes that were searched for, as in the server's pictures */
    const INK = "#1b2430";
    const ALL_OF_IT = 0.999;
    const ROW = 20;
    const duration = matchMedia("(prefers-reduced-motion: reduce)").matches ? 0 : 200;

    /* ---- the tree ---- */

    function readBox(group) {
        const rect = group.querySelector("rect"), text = group.querySelector("text");
        const link = group.closest("a");
        const left = Number(rect.getAttribute("x"));
        return {
            name: group.dataset.name,
            value: Number(group.dataset.us),
            title: group.querySelector("title").textContent,
            fill: rect.getAttribute("fill"),
            ink: text ? text.getAttribute("fill") : INK,
            href: link ? link.getAttribute("href") : "",
            left,
            right: left + Number(rect.getAttribute("width")),
            top: Number(rect.getAttribute("y")),
            children: [],
        };
    }

    /* Boxes lie below the one that called them. */
    function readTree(svg) {
        const boxes = [...svg.querySelectorAll("g[data-us]")].map(readBox).sort((a, b) => a.top - b.top || a.left - b.left);
        let row = [], above = [];
        for (const box of boxes) {
            if (row.length && row[0].top !== box.top) {
                above = row;
                row = [];
            }
            const middle = (box.left + box.right) / 2;
            const parent = above.find((one) => one.left <= middle && middle <= one.right + 0.75);
            if (parent) {
                parent.children.push(box);
            }
            row.push(box);
        }
        return boxes[0];
    }

    /* Calls that have all of their caller's time, from the outermost on, as one box. */
    function joinShared(root) {
        let rows = 0, at = root.children.length === 1 ? root.children[0] : null;
        while (at && at.children.length > 0 && at.children[0].value >= ALL_OF_IT * at.value) {
            at = at.children[0];
            rows++;
        }
        if (rows === 0) {
            return { tree: root, rows: 0 };
        }
        const joined = { ...at, name: `${at.name} (called by ${rows} more)`, function: at.name };
        return { tree: { ...root, children: [joined] }, rows: rows + 1 };
    }

    function nameOf(node) {
        return node.function || node.name;
    }

    function addTo(parent, like, value) {
        let child = parent.children.find((one) => one.name === nameOf(like));
        if (!child) {
            child = { ...like, name: nameOf(like), function: undefined, href: "", value: 0, children: [] };
            parent.children.push(child);
        }
        child.value += value;
        return child;
    }

    function ms(us) {
        return us < 1e6 ? `${(us / 1e3).toPrecision(3)} ms` : `${(us / 1e6).toPrecision(3)} s`;
    }

    function retitle(node, whole) {
        node.title = `${node.name}: ${ms(node.value)}, ${((100 * node.value) / whole).toFixed(1)} % of the time`;
        node.children.sort((a, b) => b.value - a.value);
        node.children.forEach((child) => retitle(child, whole));
    }

    /* Who called the function, from it outwards, and what it called; of a call inside of itself the outermost counts. */
    function treesAround(root, name) {
        const callers = { name, value: 0, children: [], fill: "#d5dae1", ink: INK }, callees = { ...callers, children: [] };
        const addCallees = (into, node) => node.children.forEach((child) => addCallees(addTo(into, child, child.value), child));
        const visit = (node, outwards) => {
            if (nameOf(node) === name) {
                Object.assign(callers, { fill: node.fill, ink: node.ink, value: callers.value + node.value });
                Object.assign(callees, { fill: node.fill, ink: node.ink, value: callees.value + node.value });
                let into = callers;
                for (const caller of outwards) {
                    into = addTo(into, caller, node.value);
                }
                addCallees(callees, node);
                return;
            }
            node.children.forEach((child) => visit(child, [node, ...outwards]));
        };
        root.children.forEach((child) => visit(child, []));
        retitle(callers, root.value);
        retitle(callees, root.value);
        return callers.value > 0 ? { callers, callees } : null;
    }

    function matches(node, text) {
        return nameOf(node).toLowerCase().includes(text.toLowerCase());
    }

    /* How much of the time is in functions with the text in their name; a chain counts once. */
    function timeOf(node, text) {
        return matches(node, text) ? node.value : node.children.reduce((sum, child) => sum + timeOf(child, text), 0);
    }

    function findByPath(root, path) {
        let at = root;
        for (const name of path.split("\n")) {
            at = at && at.children && at.children.find((one) => nameOf(one.data) === name);
        }
        return at;
    }

    function pathOf(node) {
        return node.ancestors().reverse().slice(1).map((one) => nameOf(one.data)).join("\n");
    }

    /* ---- one chart ---- */

    /* A chart of the tree in `place`; `chosen` is told of boxes that were chosen, and whether by zooming there; `pointed` of those that the pointer is over, or null. */
    function drawChart(place, tree, chosen, pointed) {
        const chart = flamegraph.default();
        const selection = d3.select(place).datum(tree);
        let focused = null;

        /* The library draws boxes; what makes them usable without a mouse is put on each after it drew. */
        function decorate() {
            selection.selectAll("g.frame").attr("role", "button").attr("tabindex", (d) => (d === (focused || selection.datum()) ? 0 : -1))
                .attr("aria-label", (d) => d.data.title)
                .each(function (d) {
                    this.querySelector("div").style.color = d.highlight ? INK : d.data.ink;
                });
        }
        const isVisible = (d) => (d.x1 - d.x0) * chart.width() >= 1;
        const boxOf = (d) => selection.selectAll("g.frame").filter((one) => one === d).node();
        function focus(d) {
            if (!d || !isVisible(d) || !boxOf(d)) {
                return;
            }
            focused = d;
            decorate();
            boxOf(d).focus();
        }
        function besides(d, step) {
            const all = selection.datum().descendants().filter((one) => one.depth === d.depth && isVisible(one)).sort((a, b) => a.x0 - b.x0);
            return all[all.indexOf(d) + step];
        }
        function draw() {
            chart.width(Math.max(place.clientWidth, 120)).update();
            decorate();
        }
        function zoomTo(d) {
            chart.zoomTo(d);
            decorate();
        }
        chart.width(Math.max(place.clientWidth, 120)).cellHeight(ROW).inverted(true).sort(false).transitionDuration(duration)
            .minFrameSize(0.3).resetHeightOnZoom(true)
            .setColorMapper((d) => (d.highlight ? MARKED : d.data.fill))
            .setLabelHandler((d) => d.data.title)
            .setSearchMatch((d, text) => matches(d.data, text))
            .setSearchHandler(() => {})
            .onClick((d) => {
                focused = d;
                decorate();
                chosen(d, true);
            });
        selection.call(chart);
        place.addEventListener("focusin", (event) => {
            const box = event.target.closest("g.frame");
            if (box) {
                focused = d3.select(box).datum();
                chosen(focused, false);
            }
        });
        place.addEventListener("mouseover", (event) => {
            const box = event.target.closest("g.frame");
            pointed(box ? d3.select(box).datum() : null);
        });
        place.addEventListener("mouseleave", () => pointed(null));
        place.addEventListener("keydown", (event) => {
            const box = event.target.closest("g.frame");
            if (!box || event.ctrlKey || event.metaKey || event.altKey) {
                return;
            }
            const d = d3.select(box).datum();
            const steps = {
                ArrowDown: () => focus((d.children || []).find(isVisible)),
                ArrowUp: () => focus(d.parent),
                ArrowLeft: () => focus(besides(d, -1)),
                ArrowRight: () => focus(besides(d, 1)),
                Enter: () => zoomTo(d),
                " ": () => zoomTo(d),
                Escape: () => zoomTo(selection.datum()),
            };
            if (steps[event.key]) {
                event.preventDefault();
                steps[event.key]();
            }
        });
        new ResizeObserver(draw).observe(place);
        decorate();
        return {
            zoomTo,
            root: () => selection.datum(),
            mark(text) {
                if (text) {
                    chart.search(text);
                } else {
                    chart.clear();
                }
                decorate();
            },
        };
    }

    /* ---- one picture, with what stands around it ---- */

    /* Words and swatches below the boxes. */
    function copyLegend(svg) {
        const legend = element("p", { class: "flame-legend note" });
        for (const child of svg.children) {
            if (child.tagName === "rect" && Number(child.getAttribute("width")) < 100) {
                const swatch = element("span", { class: "swatch" });
                swatch.style.background = child.getAttribute("fill");
                legend.append(swatch);
            } else if (child.tagName === "text" && Number(child.getAttribute("font-size")) <= 11.5) {
                const isOfSwatch = legend.lastChild && legend.lastChild.className === "swatch";
                legend.append(`${isOfSwatch || !legend.lastChild ? "" : " \u00b7 "}${child.textContent} `);
            }
        }
        return legend;
    }

    /* Callers and callees of a function in the stalls that a link of a box is about; "" of a stall. */
    function linkAround(box, name) {
        const href = box.href || "";
        const from = new URLSearchParams(href.split("?")[1] || "");
        if (!href.startsWith("/profile?")) {
            return "";
        }
        from.delete("at");
        from.set("function", name);
        return `/profile?${from}`;
    }

    function enliven(picture, index) {
        const svg = picture.querySelector("svg");
        const whole = svg && readTree(svg);
        if (!whole || whole.children.length === 0) {
            return;
        }
        const key = (name) => (index === 0 ? name : `${name}.${index}`);
        const isOfMany = (whole.href || "") !== "", isPage = isOfMany && location.pathname === "/profile", given = location.search;
        const shared = location.pathname.startsWith("/stalls/") ? joinShared(whole) : { tree: whole, rows: 0 }; /* the server joins those of many stalls */
        let chart = null, chosen = null;

        const found = element("span", { class: "found", role: "status" });
        const search = element("input", { type: "search", placeholder: "function", oninput: () => mark(search.value) });
        const joins = element("input", { type: "checkbox", onchange: () => join(joins.checked) });
        const reset = element("button", { type: "button", onclick: () => show("") }, "All of it");
        const tools = element("div", { class: "flame-tools" }, element("label", {}, "Search ", search), found, reset);
        const words = element("span", {});
        const zoom = element("button", { type: "button", onclick: () => chosen && chosen.chart.zoomTo(chosen.box) }, "Zoom in");
        const around = element("button", { type: "button", onclick: () => chosen && goAround(chosen.box) }, "Callers and callees");
        const detail = element("div", { class: "flame-detail" }, words, zoom, around);
        const charts = element("div", { class: "flame-charts" });
        if (shared.rows > 0) {
            tools.append(element("label", {}, joins, ` Join the ${shared.rows} outermost rows, which have all of the time`));
        }
        const keys = element("p", { class: "note" }, "Keys in the picture: arrows go from box to box, Enter zooms in, Escape out.");

        function choose(box, chartOf, isZoom) {
            chosen = { box, chart: chartOf };
            words.textContent = box.data.title;
            detail.classList.add("has-box");
            around.disabled = box.depth === 0;
            if (isZoom && isPage) {
                const at = new URLSearchParams((box.data.href || "").split("?")[1] || "").get("at") || "";
                const query = new URLSearchParams(given);
                query.set("at", at);
                history.replaceState(null, "", location.pathname + (box.depth > 0 && at ? `?${query}` : given) + location.hash);
            } else if (isZoom && !get(key("around"))) {
                set(key("zoom"), pathOf(box));
            }
        }
        function point(box) {
            words.textContent = box ? box.data.title : chosen ? chosen.box.data.title : "Choose a box.";
        }
        function goAround(box) {
            const name = nameOf(box.data);
            const href = linkAround(whole, name);
            if (href) {
                location.assign(href);
            } else {
                show(name);
            }
        }
        function drawInto(tree, title) {
            const place = element("div", { class: "flame-chart" });
            if (title) {
                charts.append(element("h3", {}, title));
            }
            charts.append(place);
            const made = drawChart(place, tree, (box, isZoom) => choose(box, made, isZoom), point);
            return made;
        }
        /* The whole picture, or around a function. */
        function show(name) {
            const trees = name && treesAround(whole, name);
            charts.replaceChildren();
            detail.classList.remove("has-box");
            words.textContent = "Choose a box.";
            chosen = null;
            set(key("around"), trees ? name : "");
            if (trees) {
                set(key("zoom"), "");
                chart = [drawInto(trees.callers, `Who called ${name}`), drawInto(trees.callees, `What ${name} called`)];
            } else {
                set(key("zoom"), "");
                chart = [drawInto(structuredClone(joins.checked ? shared.tree : whole), "")];
            }
            mark(search.value);
        }
        function mark(text) {
            chart.forEach((one) => one.mark(text));
            found.textContent = text ? `${((100 * timeOf(whole, text)) / whole.value).toFixed(1)} % of the time` : "";
            set(key("find"), text);
        }
        function join(isJoined) {
            set(key("full"), isJoined || shared.rows === 0 ? "" : "1");
            show("");
        }
        function restore() {
            const path = get(key("zoom")), name = get(key("around")), text = get(key("find"));
            search.value = text || (isOfMany ? new URLSearchParams(location.search).get("find") || "" : "");
            joins.checked = shared.rows > 0 && get(key("full")) !== "1";
            show(name);
            const box = path && !name && findByPath(chart[0].root(), path);
            if (box) {
                chart[0].zoomTo(box);
            }
        }
        picture.after(element("div", { class: "flame-live" }, tools, charts, detail, copyLegend(svg), keys));
        picture.classList.add("is-replaced");
        restore();
        addEventListener("hashchange", restore);
    }

    if (window.d3 && window.flamegraph) {
        document.querySelectorAll(".picture.flame").forEach(enliven);
    }
})();
