import Model
import Testing

@Suite("A device token")
struct DeviceTokenTests {
    @Test("prints a description that contains no byte of its text")
    func descriptionHidesToken() {
        let token = DeviceToken(bytes: Array("a1b2c3d4e5f6a7b8".utf8))
        #expect(token.description.hasPrefix("token#"))
        #expect(token.description.utf8.count <= 12)
        #expect(token.description != DeviceToken(bytes: Array("a1b2c3d4e5f6a7b9".utf8)).description)
    }
}
