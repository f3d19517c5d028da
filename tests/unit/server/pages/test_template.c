/* SPDX-License-Identifier: Apache-2.0 */
/* test_template.c - the template compiler: its output for a valid template, and its message for an invalid one. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "template.h"

static void assert_is_refused(const char *text, const char *wanted)
{
    char why[SBX_TEMPLATE_WHY_BYTES] = "it was taken";
    struct sbx_template *page = sbx_template_read("pages/broken.html", text, strlen(text), why);
    if (page != NULL || strcmp(why, wanted) != 0)
        fail_msg("\"%s\": \"%s\" for \"%s\"", text, why, wanted);
}

static void test_a_broken_template_is_refused_with_file_line_and_reason(void **state)
{
    (void)state;
    static const char *const cases[][2] = {
        {"<p>\n{{a</p>", "2: {{ without }}"},
        {"a }} b", "1: }} without {{"},
        {"{{}}", "1: \"\" is no name: small letters, digits and _"},
        {"\n\n{{a-b}}", "3: \"a-b\" is no name: small letters, digits and _"},
        {"{{a}}\n{{a}}", "2: there is a place \"a\" already in broken"},
        {"<b>{{#x}}1{{/x}}</b>\n{{:x}}2{{/x}}", "2: there is a section \"x\" already, in line 1"},
        {"\n{{#x}}1", "2: the section \"x\" does not end"},
        {"1{{/x}}", "1: {{/x}} ends a section that has not begun"},
        {"{{#x}}\n{{#y}}\n{{/x}}", "3: {{/x}} where \"y\" of line 2 is open"},
        {"<p>{{:x}}1{{/x}}</p>", "1: {{:x}} does not stand outside of everything"},
        {"{{#a}}{{b_c}}{{/a}}\n{{:a_b}}{{c}}{{/a_b}}",
         "2: \"broken_a_b_c\" is a place of broken_a and one of broken_a_b"},
        /* HTML */
        {"<div>\n<p>\n</div>", "3: </div> closes <p> of line 2"},
        {"\n<div>", "2: <div> is not closed in broken"},
        {"<div>{{#x}}</div>{{/x}}", "1: </div> closes what was not opened in broken_x"},
        {"{{#x}}<tr>{{/x}}</tr>", "1: <tr> is not closed in broken_x"},
        {"a < b", "1: \"<\" without an element's name; as text it is &lt;"},
        {"a > b", "1: \">\" without a tag; as text it is &gt;"},
        {"<!-- a -->", "1: a comment of a template is {{! such }}"},
        {"<p class=a></p>", "1: the value of class is not in double quotes"},
        {"<p class='a'></p>", "1: the value of class is not in double quotes"},
        {"<p class=\"a></p>", "1: '>' in the value of class; is a quote missing?"},
        {"<p class=\"a\nb\"></p>", "1: the line ends in the value of class"},
        {"<p>\n<script>", "2: <script> has no place on a page but by its src"},
        {"<script>alert(1)</script>", "1: <script> has no place on a page but by its src"},
        {"<script defer></script>", "1: <script> has no place on a page but by its src"},
        {"<script src=\"/a.js\"/>", "1: <script> has no place on a page but by its src"},
        {"<script src=\"/a.js\">alert(1)</script>", "1: something stands within <script>"},
        {"<script src=\"/a.js\">{{a}}</script>", "1: a stands in a script"},
        {"<script src=\"/a.js\">{{>a}}</script>", "1: a stands in a script"},
        {"<script src=\"/a.js\">{{#a}}{{/a}}</script>", "1: a stands in a script"},
        {"<script src=\"/{{a}}\"></script>", "1: a stands in a script"},
        {"<script src=\"https://a.example/a.js\"></script>",
         "1: a script has a path of this server as its src, and no other value"},
        {"<script src=\"//a.example/a.js\"></script>",
         "1: a script has a path of this server as its src, and no other value"},
        {"<script src=\"\"></script>", "1: a script has a path of this server as its src, and no other value"},
        {"<script defer=\"/a.js\"></script>", "1: a script has a path of this server as its src, and no other value"},
        {"<script type=\"module\" src=\"/a.js\"></script>", "1: a script has its src, and defer"},
        {"<script {{#x}}defer {{/x}}src=\"/a.js\"></script>", "1: x stands in a script"},
        {"<style></style>", "1: <style> has no place on a page"},
        {"<p style=\"a\"></p>", "1: the attribute style has no place on a page"},
        {"<p onclick=\"{{a}}\"></p>", "1: the attribute onclick has no place on a page"},
        {"<p>a \n</p>", "1: a blank at the line's end is not seen; write {{sp}}"},
        {"a\tb", "1: a control character (09)"},
        /* Places where no text can be escaped safely. */
        {"<p {{a}}></p>", "1: {{a}} stands in a tag and not in an attribute's quoted value"},
        {"<p class={{a}}></p>", "1: {{a}} stands in a tag and not in an attribute's quoted value"},
        {"<{{a}}></p>", "1: \"<\" without an element's name; as text it is &lt;"},
        {"<p class=\"{{>a}}\"></p>", "1: {{>a}} stands in a tag"},
        {"<p class{{#x}}=\"a\"{{/x}}></p>", "1: \"=\" without an attribute"},
        {"<a href{{#x}} class{{/x}}=\"{{a}}\"></a>", "1: \"=\" without an attribute"},
        {"<p o{{#x}}nclick=\"a\"{{/x}}></p>", "1: braces stand within the name o"},
        {"<a href=\"{{#x}}\" class=\"{{/x}}\"></a>", "1: broken_x ends at another place in a tag than it began"},
        {"<p{{#x}} class=\"{{/x}}\"></p>", "1: broken_x ends at another place in a tag than it began"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        char wanted[SBX_TEMPLATE_WHY_BYTES];
        snprintf(wanted, sizeof(wanted), "pages/broken.html:%s", cases[i][1]);
        assert_is_refused(cases[i][0], wanted);
    }
}

static void assert_compiles_to(const char *text, const char *wanted)
{
    char why[SBX_TEMPLATE_WHY_BYTES] = "";
    char *header = NULL;
    size_t bytes = 0;
    struct sbx_template *page = sbx_template_read("good.html", text, strlen(text), why);
    assert_string_equal(why, "");
    assert_non_null(page);
    FILE *out = open_memstream(&header, &bytes);
    assert_non_null(out);
    sbx_template_write(page, "good.html", out);
    assert_int_equal(fclose(out), 0);
    sbx_template_destroy(page);
    if (strstr(header, wanted) == NULL)
        fail_msg("no \"%s\" in \"%s\"", wanted, header);
    free(header);
}

static void test_a_place_is_of_the_kind_that_its_surroundings_demand(void **state)
{
    (void)state;
    assert_compiles_to("<p>{{a}}</p>", "{\"<p>\", 3, SBX_PLACE_TEXT},");
    assert_compiles_to("<p title=\"{{a}}\"></p>", "{\"<p title=\\\"\", 10, SBX_PLACE_ATTRIBUTE},");
    assert_compiles_to("<a href=\"/x/{{a}}\"></a>", "{\"<a href=\\\"/x/\", 12, SBX_PLACE_URL},");
    assert_compiles_to("<script defer src=\"/a.js\"></script>{{a}}",
                       "{\"<script defer src=\\\"/a.js\\\"></script>\", 35, SBX_PLACE_TEXT},");
    assert_compiles_to("<p>{{>a}}</p>", "{\"<p>\", 3, SBX_PLACE_PARTS},");
    assert_compiles_to("<a href=\"{{#x}}/{{b}}{{/x}}\"></a>", "{\"/\", 1, SBX_PLACE_URL},");
    assert_compiles_to("<tr{{#x}} class=\"a\"{{/x}}></tr>",
                       "struct sbx_markup good_x_markup = {\n     \" class=\\\"a\\\"\", 10}");
}

static void test_every_place_is_in_the_enum_of_its_fragment(void **state)
{
    (void)state;
    assert_compiles_to("{{a}}{{#rows}}<b>{{>b}}{{c}}</b>{{/rows}}", "enum good {\n    GOOD_A,\n    GOOD_ROWS,\n};");
    assert_compiles_to("{{a}}{{#rows}}<b>{{>b}}{{c}}</b>{{/rows}}",
                       "enum good_rows {\n    GOOD_ROWS_B,\n    GOOD_ROWS_C,\n};");
}

static void test_lines_are_for_readers_and_no_part_of_the_page(void **state)
{
    (void)state;
    assert_compiles_to("{{! not\nthis }}\n<p>\n    a{{sp}}\n    b{{nl}}\n</p>\n\n", "\"<p>a b\\012</p>\", 11}");
    assert_compiles_to("<p\n    class=\"a\">?\\</p>", "\"<p class=\\\"a\\\">\\077\\\\</p>\", 19}");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_broken_template_is_refused_with_file_line_and_reason),
        cmocka_unit_test(test_a_place_is_of_the_kind_that_its_surroundings_demand),
        cmocka_unit_test(test_every_place_is_in_the_enum_of_its_fragment),
        cmocka_unit_test(test_lines_are_for_readers_and_no_part_of_the_page),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
