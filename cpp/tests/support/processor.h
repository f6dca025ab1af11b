#pragma once

namespace forebay::testing {

// With FOREBAY_TEST_WITHOUT_ADX set, neither blst nor ours finds the ADX instructions: Bochs 2.7 leaves the
// wrong overflow flag after adox.
void hide_adx_if_asked();

}  // namespace forebay::testing
