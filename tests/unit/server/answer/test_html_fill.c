/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "html_fill.h"

enum link {
    LINK_ID,
    LINK_TITLE,
    LINK_TEXT,
    LINK_PARTS,
};
static const struct sbx_piece link_pieces[] = {{"<a href=\"/", 10, SBX_PLACE_URL},
                                               {"\" title=\"", 9, SBX_PLACE_ATTRIBUTE},
                                               {"\">", 2, SBX_PLACE_TEXT},
                                               {"</a>", 4, SBX_PLACE_PARTS},
                                               {"<hr>", 4, SBX_PLACE_END}};
static const struct sbx_fragment link_fragment = {link_pieces};
static const struct sbx_markup break_markup = {"<br>", 4};

static void test_values_are_escaped_as_their_place_demands(void **state)
{
    (void)state;
    static const char hostile[] = "\"><b>:'";
    struct sbx_byte_buffer page = {0};
    SBX_FILL(&page, link, at) {
    case LINK_ID:
        sbx_fill_text(&at, hostile);
        break;
    case LINK_TITLE:
        sbx_fill_textf(&at, "%s%u", hostile, 7u);
        break;
    case LINK_TEXT:
        sbx_fill_text(&at, hostile);
        break;
    case LINK_PARTS:
        sbx_fill_markup(&page, &break_markup);
        sbx_fill_markup(&page, &break_markup);
        break;
    }
    assert_false(page.failed);
    assert_string_equal(page.data, "<a href=\"/%22%3E%3Cb%3E%3A%27\" title=\"&quot;&gt;&lt;b&gt;:&#39;7\">"
                                   "&quot;&gt;&lt;b&gt;:&#39;</a><br><br><hr>");
    sbx_byte_buffer_finish(&page);
}

static void test_a_place_may_stay_empty(void **state)
{
    (void)state;
    struct sbx_byte_buffer page = {0};
    SBX_FILL(&page, link, at) {
    case LINK_ID:
    case LINK_TITLE:
    case LINK_TEXT:
        sbx_fill_text(&at, NULL);
        break;
    case LINK_PARTS:
        break;
    }
    assert_string_equal(page.data, "<a href=\"/\" title=\"\"></a><hr>");
    sbx_byte_buffer_finish(&page);
}

/* Use the place `where` in a way that it does not allow, and expect that the page fails. */
static void assert_fails_at(enum link where, void (*misuse)(struct sbx_fill *at))
{
    struct sbx_byte_buffer page = {0};
    SBX_FILL(&page, link, at) {
    case LINK_ID:
    case LINK_TITLE:
    case LINK_TEXT:
    case LINK_PARTS:
        if (at.place == (int)where)
            misuse(&at);
        break;
    }
    assert_true(page.failed);
    sbx_byte_buffer_finish(&page);
}

static void put_fragment(struct sbx_fill *at)
{
    sbx_fill_markup(at->page, &break_markup);
}

static void put_text(struct sbx_fill *at)
{
    sbx_fill_text(at, "text");
}

static void put_picture(struct sbx_fill *at)
{
    static char svg[] = "<svg></svg>";
    sbx_fill_picture(at, &(struct sbx_byte_buffer){.data = svg, .used = sizeof(svg) - 1});
}

static void put_no_picture(struct sbx_fill *at)
{
    static char script[] = "<script>";
    sbx_fill_picture(at, &(struct sbx_byte_buffer){.data = script, .used = sizeof(script) - 1});
}

static void put_failed_rendering(struct sbx_fill *at)
{
    sbx_fill_rendering(at, &(struct sbx_byte_buffer){.failed = true});
}

static void test_html_in_a_place_for_a_value_fails_the_page(void **state)
{
    (void)state;
    assert_fails_at(LINK_ID, put_fragment);
    assert_fails_at(LINK_TITLE, put_fragment);
    assert_fails_at(LINK_TEXT, put_fragment);
    assert_fails_at(LINK_TEXT, put_picture);
}

static void test_text_in_a_place_for_parts_fails_the_page(void **state)
{
    (void)state;
    assert_fails_at(LINK_PARTS, put_text);
}

static void test_only_a_picture_passes_as_a_picture(void **state)
{
    (void)state;
    assert_fails_at(LINK_PARTS, put_no_picture);
    assert_fails_at(LINK_PARTS, put_failed_rendering);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_values_are_escaped_as_their_place_demands),
        cmocka_unit_test(test_a_place_may_stay_empty),
        cmocka_unit_test(test_html_in_a_place_for_a_value_fails_the_page),
        cmocka_unit_test(test_text_in_a_place_for_parts_fails_the_page),
        cmocka_unit_test(test_only_a_picture_passes_as_a_picture),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
