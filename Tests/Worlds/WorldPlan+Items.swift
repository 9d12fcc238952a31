extension WorldPlan {
    /// Draws from a generator of its own, so that worlds without items stay the same.
    mutating func drawItems() {
        var apart = SeededRandom(seed: seed ^ 0x17e5)
        guard apart.happens(perMille: 300) else { return }
        updates = apart.within(2...40)
        (itemFollowers, itemTriggers) = apart.pick([(300, 0), (0, 1_000), (300, 300), (1_000, 1_000)])
        shortItemSubscriptions = apart.pick([0, 0, 200])
        itemEventEvery = apart.pick([nil, .seconds(1), .seconds(10)])
        itemPauses = apart.pick([[0], [0, 5], [nil, 60]])
        itemSlice = apart.pick([1, 3, 100])
    }
}
