import Testing

@Suite("The wet simulation")
struct WetWorldTests {
    @Test("of 2,000 seeds: each push ends once, as the peer treated it, whatever the connection goes through")
    func seeds() throws {
        var seen: [WetWorld.Trouble: Int] = [:]
        for seed in UInt64(1)...2_000 {
            let world = try WetWorld(seed: seed)
            try world.run()
            #expect(world.faults.isEmpty, "seed \(seed): \(world.faults.first ?? "")")
            for trouble in world.troubles { seen[trouble, default: 0] += 1 }
        }
        for trouble in WetWorld.Trouble.allCases {
            #expect(seen[trouble, default: 0] >= 50, "\(trouble) came in \(seen[trouble, default: 0]) worlds")
        }
    }

    @Test("replays: a seed says the same each time")
    func replay() throws {
        for seed in UInt64(1)...20 {
            let (one, other) = (try WetWorld(seed: seed), try WetWorld(seed: seed))
            try one.run()
            try other.run()
            #expect(one.pushes.map(\.ending) == other.pushes.map(\.ending))
        }
    }
}
