import Basis
import JSON
import Model
import ProviderInterface
import Providers
import Testing
import WakeUp
import WakeUpRules

@Suite("The payload of a wake-up")
struct WakeUpContentTests {
    private static let address = WakeUpAddress(app: "garden", path: NodePath(stored: "/beds"))
    private static let message = MessageID(UniversalID(high: 0x0192_f3a4_b5c6_7d8e, low: 0x8f01_2345_6789_0abc))

    private static func fits(_ provider: any PushProvider, _ presentation: WakeUpPresentation) -> WakeUpShaping.Fits {
        { (try? provider.compile(provider.wakeUp($0.data, presentation), message: message)) != nil }
    }

    /// The status of a value's payload that has so many bytes if it carries the value.
    private static func status(bytes: Int, fits: WakeUpShaping.Fits) -> JSONValue? {
        func payload(digits: Int) -> WakeUpPayload {
            WakeUpShaping.value(.json(Array(repeating: UInt8(ascii: "7"), count: digits)), of: address, fits: fits)
        }
        let payload = payload(digits: bytes - payload(digits: 1).bytes.count + 1)
        return payload.members.first { $0.name == "s" }?.value
    }

    @Test("carries the data up to 4,063 bytes to each provider", arguments: PushProviders.offered.map(\.id))
    func border(id: Provider) throws {
        let provider = try #require(PushProviders.offered(id))
        let fits = Self.fits(provider, .background)
        #expect(Self.status(bytes: 4_063, fits: fits) == "OK")
        #expect(Self.status(bytes: 4_064, fits: fits) == "TooBig")
    }

    @Test("leaves room for the two texts of an alert", arguments: PushProviders.offered.map(\.id))
    func alert(id: Provider) throws {
        let provider = try #require(PushProviders.offered(id))
        let fits = Self.fits(provider, .alert(title: "Garden", body: "Something grew"))
        #expect(Self.status(bytes: 4_063, fits: fits) == "TooBig")
        #expect(Self.status(bytes: 3_950, fits: fits) == "OK")
    }
}
