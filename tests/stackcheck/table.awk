# SPDX-License-Identifier: Apache-2.0
# table.awk - the report of `run` as the tables of docs/UNWINDING.md.
#
# program: 2 label, 3 stacks, 4 frames, 5 deepest, 6 equal, 7 both stopped, 8 ours stopped, 9 libunwind stopped, 10 other
#          frame, 11 other end, 12 unexplained, 13 to 15 without frame pointer: equal, shorter, wrong, 16 blocked, 17 of
#          them shorter, 18 with links of frame pointers, 19 alike and shown to libdw, 20 of them alike there too
# class:   2 label, 3 count, 4 name, 5 module, 6 opinion of libdw, 7 example
$1 == "version" { version[$2] = $3 }
$1 == "program" {
    order[++programs] = $2
    for (i = 3; i <= 20; i++) {
        value[$2, i] = $i
        total[i] = i == 5 ? ($i > total[i] ? $i : total[i]) : total[i] + $i
    }
}
$1 == "class" {
    if (!($4 in classes)) {
        names[++class_count] = $4
        example[$4] = $7
    }
    classes[$4] += $3
    opinions[$4, $6] += $3
    where[$4, $2] = 1
}
function row(label, version_text, get_total,    i, text) {
    text = "| " label " | " version_text " |"
    split("3 4 5 6 7 8 9 10 11 12", columns, " ")
    for (i = 1; i <= 10; i++) {
        text = text " " (get_total ? total[columns[i]] : value[label, columns[i]]) " |"
    }
    print text
}
END {
    print "| program | version | stacks | frames | deepest | equal | both stopped | ours stopped | libunwind stopped | other frame | other end | unexplained |"
    print "|---|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|"
    for (p = 1; p <= programs; p++) {
        row(order[p], version[order[p]], 0)
    }
    row("all", "", 1)
    print ""
    print "| program | without fp: equal | shorter | wrong | blocked | of them shorter | with links of frame pointers | alike, shown to libdw | alike there too |"
    print "|---|---:|---:|---:|---:|---:|---:|---:|---:|"
    for (p = 1; p <= programs; p++) {
        printf "| %s |", order[p]
        for (i = 13; i <= 20; i++) {
            printf " %d |", value[order[p], i]
        }
        print ""
    }
    printf "| all |"
    for (i = 13; i <= 20; i++) {
        printf " %d |", total[i]
    }
    print "\n"
    print "| class | stacks | libdw: as ours | as libunwind | all alike in address | neither | programs | for example |"
    print "|---|---:|---:|---:|---:|---:|---|---|"
    for (c = 1; c <= class_count; c++) {
        name = names[c]
        seen = ""
        for (p = 1; p <= programs; p++) {
            if ((name, order[p]) in where) {
                seen = seen (seen == "" ? "" : ", ") order[p]
            }
        }
        printf "| %s | %d | %d | %d | %d | %d | %s | %s |\n", name, classes[name], opinions[name, "o"], opinions[name, "p"],
            opinions[name, "b"], opinions[name, "n"], seen, example[name]
    }
}
