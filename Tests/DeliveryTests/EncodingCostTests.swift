import Basis
import CAllocationCounter
import CInstructionCounter
import Delivery
import JSON
import Model
import ProviderInterface
import Reactor
import Testing

/// Measures the cost of encoding pushes, in allocations and in instructions. Both are counted, so the limits hold on
/// every machine.
@Suite("Encoding a parcel's pushes", .timeLimit(.minutes(5)))
struct EncodingCostTests {
    /// Returns the cost of each push without the fixed cost of a batch.
    private static func perPush(
        _ content: MessageContent, _ target: PushTarget, few: Int, many: Int,
        _ count: (EncodingThread, ParcelEncoder, Int) async -> Int
    ) async throws -> Double {
        let message = CompiledMessage(content, message: TemplateWorld.id)
        let thread = try EncodingThread()
        defer { thread.loop.stop() }
        func cost(_ pushes: Int) async throws -> Int {
            let devices = (0..<pushes).map { place in message.placeholders.fields.map { _ in "name \"\(place)\"" } }
            let locales = (0..<pushes).map { $0 % 2 == 0 ? "fr-CA" : "en" }
            let world = TemplateWorld(message, devices, locales: locales)
            let encoder = try #require(ParcelEncoder(world.parcel, message, world.values, target))
            return await count(thread, encoder, pushes)
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
        let perPush = try await Self.perPush(isTemplate ? Self.template : Self.plain, target, few: 500, many: 4_500) {
            thread, encoder, pushes in await thread.allocations(of: encoder, count: pushes)
        }
        #expect(perPush < Self.allocationsMax, "\(perPush) allocations for each push")
    }

    @Test(
        "takes at most a fifth of sending's instructions, with a badge and placeholders",
        .enabled(if: EncodingCostTests.areInstructionsCounted, Comment(rawValue: EncodingCostTests.whyNot)))
    func instructions() async throws {
        let perPush = try await Self.perPush(Self.template, TemplateWorld.topic, few: 5, many: 35) {
            thread, encoder, pushes in await thread.instructions(of: encoder, count: pushes)
        }
        print("making a push ready takes \(Int(perPush)) instructions")
        #expect(perPush <= Self.instructionsMax, "\(perPush) instructions for each push")
        #expect(perPush > 0, "the machine counted no instructions")
    }

    #if DEBUG
        /// Without the optimiser, each call that passes a copy on allocates.
        private static let allocationsMax = 20.0
        static let areInstructionsCounted = false
        static let whyNot = "without the optimiser a push takes many times as many instructions"
    #else
        /// Only arrays that double in size allocate, a few times in thousands of pushes.
        private static let allocationsMax = 0.02
        static let areInstructionsCounted = instructions_can_be_counted()
        static let whyNot = "this machine cannot stop a thread after each instruction (the trap flag of x86-64)"
    #endif
    /// A fifth of the instructions that sending a push may take.
    private static let instructionsMax = 5_400.0
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

    func instructions(of encoder: ParcelEncoder, count: Int) async -> Int {
        let positions = (0..<count).map(Int32.init)
        let before = instructions_of_this_thread()
        begin_counting_instructions()
        let pushes = await encoder.batch(
            of: positions, now: TemplateWorld.now, noStreamAfter: MonotonicInstant(nanoseconds: .max))
        end_counting_instructions()
        #expect(pushes.batch.requests.count == count)
        return instructions_of_this_thread() - before
    }
}
