import Basis
import CAllocationCounter
import CompiledMessages
import Delivery
import JSON
import Model
import ProviderInterface
import Reactor
import Testing

/// Measures the cost of encoding pushes in allocations. They are counted, so the limit holds on every machine.
@Suite("Encoding a parcel's pushes", .timeLimit(.minutes(5)))
struct EncodingCostTests {
    /// Returns the cost of each push without the fixed cost of a batch.
    private static func perPush(
        _ content: MessageContent, _ target: PushTarget, few: Int, many: Int
    ) async throws -> Double {
        let message = CompiledMessage(content, message: TemplateWorld.id)
        let thread = try EncodingThread()
        defer { thread.loop.stop() }
        func cost(_ pushes: Int) async throws -> Int {
            let devices = (0..<pushes).map { place in message.placeholders.fields.map { _ in "name \"\(place)\"" } }
            let locales = (0..<pushes).map { $0 % 2 == 0 ? "fr-CA" : "en" }
            let world = TemplateWorld(message, devices, locales: locales)
            let encoder = try #require(ParcelEncoder(world.parcel, message, world.values, target))
            return await thread.allocations(of: encoder, count: pushes)
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
        "allocates no memory per push", arguments: [false, true],
        [TemplateWorld.topic, TemplateWorld.project])
    func allocations(isTemplate: Bool, target: PushTarget) async throws {
        let perPush = try await Self.perPush(isTemplate ? Self.template : Self.plain, target, few: 500, many: 4_500)
        #expect(perPush < Self.allocationsMax, "\(perPush) allocations for each push")
    }

    #if DEBUG
        /// Without the optimiser, each call that passes a copy on allocates.
        private static let allocationsMax = 20.0
    #else
        /// Only arrays that double in size allocate, a few times in thousands of pushes.
        private static let allocationsMax = 0.02
    #endif
}

/// A separate thread, so that all counted work runs on one thread.
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
