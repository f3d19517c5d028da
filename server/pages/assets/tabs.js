/* SPDX-License-Identifier: Apache-2.0 */
/* tabs.js - the tabs of a stall's page keep what else the address says: how far one has gone into the timeline and the flame graph.
 *
 * Where no script runs, a tab is a link to its section and the style shows that one (style.css). */
"use strict";

addEventListener("DOMContentLoaded", () => {
    const tabs = document.querySelector(".tabs");
    if (!tabs) {
        return;
    }
    const links = [...tabs.querySelectorAll("nav a")], first = links[0].hash.slice(1);

    /* The section that holds what a link leads to, else the one that was chosen. */
    function chosen() {
        const id = decodeURIComponent(location.hash.slice(1));
        const aim = id && !id.includes("=") ? document.getElementById(id) : null, section = aim && aim.closest(".tabs > section");
        return section ? section.id : stallbox.get("tab") || first;
    }
    function show(id) {
        const known = links.some((link) => link.hash.slice(1) === id) ? id : first;
        tabs.dataset.tab = known;
        for (const link of links) {
            if (link.hash.slice(1) === known) {
                link.setAttribute("aria-current", "true");
            } else {
                link.removeAttribute("aria-current");
            }
        }
    }
    tabs.querySelector("nav").addEventListener("click", (event) => {
        const link = event.target.closest("a");
        if (link && !event.ctrlKey && !event.metaKey && !event.shiftKey) {
            event.preventDefault();
            stallbox.set("tab", link.hash.slice(1) === first ? "" : link.hash.slice(1));
            show(link.hash.slice(1));
            dispatchEvent(new Event("resize")); /* pictures that were hidden have no width yet */
        }
    });
    addEventListener("hashchange", () => show(chosen()));
    show(chosen());
});
