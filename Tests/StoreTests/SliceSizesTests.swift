import Basis
import Model
import Store
import Testing

@Suite("The slice size of a filtered audience")
struct SliceSizesTests {
    private let one = StoreWorld.message(1)
    private let other = StoreWorld.message(2)

    @Test("follows the time that the previous slice took, and grows tenfold at most")
    func measured() {
        let sizes = SliceSizes()
        #expect(sizes.ids(of: one) == SliceSizes.first)
        sizes.note(SliceSizes.aim * 10, for: 2_000, of: one)
        #expect(sizes.ids(of: one) == 200 && sizes.ids(of: other) == SliceSizes.first)
        sizes.note(.seconds(300), for: 200, of: one)
        #expect(sizes.ids(of: one) == SliceSizes.least)
        sizes.note(.zero, for: 100, of: one)
        #expect(sizes.ids(of: one) == 1_000)
        sizes.note(SliceSizes.aim / 2, for: 1_000, of: one)
        #expect(sizes.ids(of: one) == 2_000)
        sizes.noteFailed(2_000, of: one)
        #expect(sizes.ids(of: one) == 500)
    }

    @Test("starts with 2,000 ids, for local hours too, and later slices cover the other members")
    func planned() async throws {
        for isLocal in [false, true] {
            try await withStores { world in
                _ = await world.stores.registry.register(
                    (1...4_100).map { StoreWorld.registration("i\($0)", token: $0) }, app: world.app,
                    now: StoreWorld.dawn)
                var message = world.newMessage(audience: Audience(.filter("provider == 'apns'")))
                if isLocal {
                    message.localSending = LocalSending(hour: LocalHour(inUTC: StoreWorld.dawn + .seconds(3_600)))
                }
                #expect(try await world.stores.messages.accept([message], now: StoreWorld.dawn) == .accepted)
                var members: [Int] = []
                while let slice = try await world.stores.messages.plan(
                    atMost: 1, knownFormats: [1], now: StoreWorld.dawn
                ).slice {
                    members.append(slice.members)
                }
                // The sizes of the later slices depend on the speed of the machine.
                #expect(members.first == 2_000 && members.reduce(0, +) == 4_100)
            }
        }
    }
}
