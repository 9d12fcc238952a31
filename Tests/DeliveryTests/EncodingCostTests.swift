import CAllocationCounter
import Delivery
import JSON
import PushModel
import Reactor
import Testing

/// What it costs to make pushes ready, in allocations: they are counted, so that the bound holds on every machine.
@Suite("Encoding a parcel's pushes")
struct EncodingCostTests {
    private static let few = 500
    private static let many = 4_500

    /// Allocations for each push beyond the first few hundred: what a batch costs once is not counted.
    private static func perPush(_ content: MessageContent, _ target: PushTarget) async throws -> Double {
        let message = try CompiledMessage.compile(content, message: TemplateWorld.id)
        let thread = try EncodingThread()
        defer { thread.loop.stop() }
        func cost(_ count: Int) async throws -> Int {
            let devices = (0..<count).map { place in message.holes.fields.map { _ in "name \"\(place)\"" } }
            let locales = (0..<count).map { $0 % 2 == 0 ? "fr-CA" : "en" }
            let world = TemplateWorld(message, devices, locales: locales)
            let encoder = try #require(ParcelEncoder(world.parcel, message, world.values, target))
            return await thread.allocations(of: encoder, count: count)
        }
        _ = try await cost(few)
        return Double(try await cost(many) - cost(few)) / Double(many - few)
    }

    private static let plain = MessageContent(
        notification: NotificationText(title: "Carillon", body: "Noon"),
        localizations: [Localization(locale: "fr", text: NotificationText(body: "Midi"))], badge: .increment,
        data: [DataMember(name: "article", json: JSONText(42))])
    private static var template: MessageContent {
        var content = plain
        content.notification = NotificationText(
            title: "Hi {{attributes.name | default: 'you'}}", body: "Noon, {{user}}")
        content.data.append(DataMember(name: "nested", json: JSONText(["name": "{{attributes.name}}"])))
        content.isTemplate = true
        return content
    }

    @Test(
        "allocates nothing for a push of its own", arguments: [false, true],
        [TemplateWorld.topic, TemplateWorld.project])
    func allocations(isTemplate: Bool, target: PushTarget) async throws {
        let perPush = try await Self.perPush(isTemplate ? Self.template : Self.plain, target)
        #expect(perPush < Self.perPushMax, "\(perPush) allocations for each push")
    }

    #if DEBUG
        /// Without the optimiser each call that hands a copy on makes one.
        private static let perPushMax = 20.0
    #else
        /// Arrays that double in size are left: a handful in thousands of pushes.
        private static let perPushMax = 0.02
    #endif
}

/// A thread of its own, so that what is counted is counted on one.
private actor EncodingThread: PinnedActor {
    nonisolated let loop: ReactorLoop

    init() throws { loop = try ReactorLoop(name: "encoding") }

    func allocations(of encoder: ParcelEncoder, count: Int) async -> Int {
        let positions = (0..<count).map(Int32.init)
        let before = allocations_of_this_thread()
        let pushes = await encoder.batch(
            of: positions, now: TemplateWorld.now, noStreamAfter: MonotonicInstant(nanoseconds: .max))
        let after = allocations_of_this_thread()
        #expect(pushes.batch.requests.count == count)
        return after - before
    }
}
