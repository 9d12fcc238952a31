/// Lets a limited number of tasks pass at a time, in the order of their arrival.
package actor Turnstile {
    package nonisolated let places: Int
    private var free: Int
    private var waiting: [(wanted: Int, turn: CheckedContinuation<Void, Never>)] = []

    package init(places: Int = 1) {
        self.places = places
        free = places
    }

    /// - Parameter wanted: how many places the work takes; with all of them it runs alone.
    package nonisolated func pass<Answer>(
        taking wanted: Int = 1, _ work: () async throws -> Answer
    ) async throws -> Answer {
        await enter(wanted)
        let outcome: Result<Answer, any Error>
        do { outcome = .success(try await work()) } catch { outcome = .failure(error) }
        await leave(wanted)
        return try outcome.get()
    }

    private func enter(_ wanted: Int) async {
        if waiting.isEmpty, free >= wanted {
            free -= wanted
            return
        }
        await withCheckedContinuation { waiting.append((wanted, $0)) }
    }

    private func leave(_ places: Int) {
        free += places
        while let next = waiting.first, free >= next.wanted {
            free -= next.wanted
            waiting.removeFirst().turn.resume()
        }
    }
}
