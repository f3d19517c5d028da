# SPDX-License-Identifier: Apache-2.0
"""scale_picture - the pictures of bench_scale: small plots side by side in one SVG of text, readable on a light and on a dark page."""
from collections import namedtuple
from xml.sax.saxutils import escape

# points: [(label, value, low, high)]; low and high may be None. `floor`: what the axis shows at least, from and to.
Plot = namedtuple("Plot", "title unit points floor")
WIDTH, HEIGHT, LEFT, TOP, BELOW, COLUMNS = 320, 210, 52, 40, 32, 3
STYLE = """text{font:12px sans-serif;fill:#333}.title{font-size:13px;font-weight:bold}.page{fill:#fff}.grid{stroke:#ddd}.line{stroke:#3b6ea5;fill:none;stroke-width:2}
.bar{stroke:#3b6ea5}.dot{fill:#3b6ea5}
@media(prefers-color-scheme:dark){text{fill:#ddd}.page{fill:#16191d}.grid{stroke:#3a3f46}.line,.bar{stroke:#7fb2e5}.dot{fill:#7fb2e5}}"""


def steps(low, high):
    """Round numbers from at most `low` to at least `high`, three to six of them."""
    size = 1e-6
    while (high - low) / size > 5:
        size *= 2.5 if str("%g" % size).strip("0.").startswith("2") else 2
    first = int(low / size + 1e-9) * size
    found = [first]
    while found[-1] < high - size * 1e-6:
        found.append(found[-1] + size)
    return found


def plot_lines(plot, x, y):
    values = [value for point in plot.points for value in point[1:] if value is not None] + list(plot.floor)
    marks = steps(min(values), max(values))
    low, high = marks[0], marks[-1]
    inner_width, inner_height = WIDTH - LEFT - 16, HEIGHT - TOP - BELOW

    def at(value):
        return y + TOP + inner_height * (1 - (value - low) / (high - low))
    out = ['<text class="title" x="%d" y="%d">%s</text>' % (x + 8, y + 16, escape(plot.title)),
           '<text x="%d" y="%d">%s</text>' % (x + 8, y + 31, escape(plot.unit))]
    for mark in marks:
        out.append('<line class="grid" x1="%d" x2="%d" y1="%.1f" y2="%.1f"/>' % (x + LEFT, x + WIDTH - 16, at(mark), at(mark)))
        out.append('<text x="%d" y="%.1f" text-anchor="end">%s</text>' % (x + LEFT - 6, at(mark) + 4, "%.4g" % mark))
    step = inner_width / len(plot.points)
    places = [x + LEFT + step * (number + 0.5) for number in range(len(plot.points))]
    for place, (label, value, least, most) in zip(places, plot.points):
        out.append('<text x="%.1f" y="%d" text-anchor="middle">%s</text>' % (place, y + HEIGHT - BELOW + 16, escape(label)))
        if least is not None:
            out.append('<line class="bar" x1="%.1f" x2="%.1f" y1="%.1f" y2="%.1f"/>' % (place, place, at(least), at(most)))
        out.append('<circle class="dot" cx="%.1f" cy="%.1f" r="3.5"/>' % (place, at(value)))
    out.append('<polyline class="line" points="%s"/>' % " ".join("%.1f,%.1f" % (place, at(point[1])) for place, point in zip(places, plot.points)))
    return out


def draw(title, plots):
    rows = (len(plots) + COLUMNS - 1) // COLUMNS
    width, height = COLUMNS * WIDTH, rows * HEIGHT + 8
    out = ['<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d">' % (width, height), "<title>%s</title>" % escape(title),
           "<style>%s</style>" % STYLE, '<rect class="page" width="%d" height="%d"/>' % (width, height)]
    for number, plot in enumerate(plots):
        out += plot_lines(plot, number % COLUMNS * WIDTH, number // COLUMNS * HEIGHT)
    return "\n".join(out + ["</svg>"]) + "\n"
