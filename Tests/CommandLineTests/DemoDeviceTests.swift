import CommandLine
import Testing

@Suite("The demonstration's phones")
struct DemoDeviceTests {
    @Test("count by provider, each in one place")
    func counted() {
        #expect(
            DemoDevice.sentence(upTo: 1_000)
                == "Of phone-1 to phone-1000, 500 have tokens of APNs, 200 of its sandbox, and 300 of FCM")
    }
}
