/// Something that should have happened by now did not.
struct TookTooLong: Error, CustomStringConvertible {
    let description: String
}

/// Asks again and again until it is true: for what another process does and nobody announces. The bound is a safety
/// net, generous because machines are slow; no test is right or wrong by how long something takes.
func eventually(
    _ what: String, within bound: Duration = .seconds(60), _ isTrue: () async throws -> Bool
) async throws {
    let clock = ContinuousClock()
    let end = clock.now + bound
    while try await !isTrue() {
        guard clock.now < end else { throw TookTooLong(description: "waited \(bound) for: \(what)") }
        try await Task.sleep(for: .milliseconds(20))
    }
}

/// Lets a few worlds exist at a time: each has processes of its own, and there may be two cores.
actor Turnstile {
    private var free: Int
    private var waiting: [CheckedContinuation<Void, Never>] = []

    init(places: Int) { free = places }

    func enter() async {
        guard free == 0 else {
            free -= 1
            return
        }
        await withCheckedContinuation { waiting.append($0) }
    }

    func leave() {
        if waiting.isEmpty { free += 1 } else { waiting.removeFirst().resume() }
    }
}
