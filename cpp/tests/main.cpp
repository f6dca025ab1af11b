#define DOCTEST_CONFIG_IMPLEMENT
#include "doctest/doctest.h"
#include "support/processor.h"

int main(int count, char** arguments) {
    forebay::testing::hide_adx_if_asked();
    return doctest::Context(count, arguments).run();
}
