import Expressions
import Testing

@Suite("A number of any size")
struct DecimalNumberTests {
    @Test(
        "has no exponent that is out of range",
        arguments: [
            "1e-9223372036854775808", "1e9223372036854775807", "1e99999999999999999999", "-1.5E+9223372036854775807",
        ])
    func exponents(text: String) { #expect(DecimalNumber(text) == nil) }
}
