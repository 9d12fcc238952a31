import Basis
import Testing

@Suite("A secret")
struct SecretTests {
    private struct Holder {
        let key: Secret<String>
        let bytes: Secret<[UInt8]>?
        let list: [Secret<String>]
    }

    @Test("never shows its value when it or anything that holds it is printed")
    func hides() {
        let holder = Holder(key: Secret("hush-hush"), bytes: Secret([217, 218]), list: [Secret("hush-hush")])
        var dumped = ""
        dump(holder, to: &dumped)
        for text in ["\(holder)", String(reflecting: holder), dumped] {
            // Two consecutive numbers: a private type is printed with an address, which can contain any digits.
            #expect(!text.contains("hush") && !text.contains("217, 218"), "\(text)")
            #expect(text.contains("secret") || text.contains("Secret"))
        }
        #expect(holder.key.revealed == "hush-hush")
    }
}
