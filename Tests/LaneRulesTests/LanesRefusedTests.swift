import Testing

@Suite("A lane whose credential is refused")
struct RefusedLaneTests {
    private func refused() -> LaneWorld {
        var world = LaneWorld()
        world.demand()
        world.report(.opened(world.dialled[0]))
        world.report(.draining(world.dialled[0], refused: true))
        world.report(.closed(world.dialled[0], failure: nil))
        return world
    }

    @Test("blocks at the first refusal, and does not dial for minutes")
    func blocks() {
        var world = refused()
        #expect(world.blocks == [.credentialRefused])
        world.pass(.seconds(299))
        #expect(world.dialled.count == 1)
        world.pass(.seconds(2))
        #expect(world.dialled.count == 2)
    }

    @Test("dials once after a retry, and stays blocked if it is refused again")
    func retry() {
        var world = refused()
        world.report(.retry)
        #expect(world.dialled.count == 2)
        world.report(.opened(world.dialled[1]))
        world.report(.draining(world.dialled[1], refused: true))
        world.report(.closed(world.dialled[1], failure: nil))
        world.pass(.seconds(200))
        #expect(world.dialled.count == 2)
        #expect(world.blocks.count == 1, "a known block is not reported again")
    }
}

@Suite("A lane whose credential is refused in an answer")
struct RefusedAnswerTests {
    /// Returns a lane with two connections, one without an answer so far.
    private func working() -> LaneWorld {
        var world = LaneWorld()
        world.openOne()
        world.report(.busy(world.dialled[0]))
        world.pass(.seconds(1))
        world.demand(waitingFor: .seconds(1))
        if let id = world.dialled.last {
            world.report(.opened(id))
            world.report(.busy(id))
        }
        return world
    }

    @Test("blocks, retires its connections, and dials once after the delay, every time")
    func twice() {
        var world = working()
        for round in 1...2 {
            let before = world.dialled
            world.retired = []
            world.report(.credentialRefused)
            #expect(world.retired == before.suffix(2))
            #expect(world.blocks == Array(repeating: .credentialRefused, count: round))
            for id in before { world.report(.closed(id, failure: nil)) }
            world.demand()
            world.pass(.seconds(299))
            #expect(world.dialled.count == before.count)
            world.pass(.seconds(1))
            #expect(world.dialled.count == before.count + 1)
            if let id = world.dialled.last { world.report(.opened(id)) }
            #expect(!world.machine.canSend, "an open connection alone does not lift the block")
            world.pass(.seconds(2))
            #expect(world.machine.canSend)
            #expect(world.unblocks == round)
        }
    }

    @Test("stays blocked whatever happens to its old connections")
    func late() {
        var world = working()
        world.report(.credentialRefused)
        world.report(.proved(world.dialled[0]))
        #expect(!world.machine.canSend, "answers on old connections do not lift the block")
        world.report(.retry)
        #expect(world.dialled.count == 3, "a retry dials once at once")
        world.report(.closed(world.dialled[0], failure: .unreachable))
        world.report(.closed(world.dialled[1], failure: .unreachable))
        #expect(world.machine.breaker.block == .credentialRefused)
        #expect(world.machine.breaker.failures == 1)
    }

    @Test("reports one refusal once, however many answers carry it")
    func news() {
        var world = working()
        #expect(world.machine.isNew(refusalOn: world.dialled[0]))
        #expect(world.machine.isNew(refusalOn: nil))
        world.report(.credentialRefused)
        #expect(!world.machine.isNew(refusalOn: nil))
        world.report(.retry)
        guard let id = world.dialled.last else { return }
        world.report(.opened(id))
        world.pass(.seconds(2))
        #expect(world.machine.canSend)
        #expect(!world.machine.isNew(refusalOn: world.dialled[0]), "a late answer is about the old credential")
        #expect(world.machine.isNew(refusalOn: id))
        world.report(.drain)
        #expect(!world.machine.isNew(refusalOn: id))
    }

    @Test("retires its connections and dials at once if the credential is only suspected")
    func suspected() {
        var world = working()
        let before = world.dialled
        world.report(.credentialSuspected)
        #expect(world.retired == before && world.blocks.isEmpty && world.machine.canSend)
        #expect(!world.machine.isNew(refusalOn: before[0]), "a late answer is about an old connection")
        world.demand()
        world.pass(.seconds(1))
        #expect(world.dialled.count == before.count + 1)
        if let id = world.dialled.last { #expect(world.machine.isNew(refusalOn: id)) }
        for id in before { world.report(.closed(id, failure: .unreachable)) }
        #expect(world.machine.breaker.failures == 0)
    }

    @Test("retires its other connections if a GOAWAY on one refuses the credential")
    func goAway() {
        var world = working()
        world.report(.draining(world.dialled[0], refused: true))
        #expect(world.retired == [world.dialled[1]])
        for id in world.dialled { world.report(.closed(id, failure: nil)) }
        world.pass(.seconds(301))
        #expect(world.dialled.count == 3)
    }
}
