import DeliveryRules
import PushModel
import Testing

@Suite("A lane whose credential is refused")
struct RefusedLaneTests {
    private func refused() -> LaneWorld {
        var world = LaneWorld()
        world.demand()
        world.tell(.opened(world.dialled[0]))
        world.tell(.draining(world.dialled[0], refused: true))
        world.tell(.closed(world.dialled[0], failure: nil))
        return world
    }

    @Test("blocks at the first word, and dials nobody for minutes")
    func blocks() {
        var world = refused()
        #expect(world.blocks == [.credentialRefused])
        world.pass(.seconds(299))
        #expect(world.dialled.count == 1)
        world.pass(.seconds(2))
        #expect(world.dialled.count == 2)
    }

    @Test("tries once when somebody has mended it")
    func retry() {
        var world = refused()
        world.tell(.retry)
        #expect(world.dialled.count == 2)
        world.tell(.opened(world.dialled[1]))
        world.tell(.draining(world.dialled[1], refused: true))
        world.tell(.closed(world.dialled[1], failure: nil))
        world.pass(.seconds(200))
        #expect(world.dialled.count == 2)
        #expect(world.blocks.count == 1, "the block is known")
    }
}
