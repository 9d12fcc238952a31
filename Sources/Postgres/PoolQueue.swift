/// The callers that wait for a connection, by share. The shares take turns.
struct PoolQueue {
    /// The shares with waiters. The first one is served next.
    private var turns: [PoolShare] = []
    private var waiters: [PoolShare: [Int]] = [:]  // lookup only
    private(set) var count = 0

    func count(of share: PoolShare) -> Int { waiters[share]?.count ?? 0 }

    mutating func append(_ waiter: Int, of share: PoolShare) {
        if waiters[share] == nil { turns.append(share) }
        waiters[share, default: []].append(waiter)
        count += 1
    }

    /// Takes the first waiter of the share whose turn it is.
    ///
    /// - Parameter strangersToo: false: strangers may have no connection now, and keep their turn.
    mutating func takeNext(strangersToo: Bool) -> (waiter: Int, share: PoolShare)? {
        guard let turn = turns.firstIndex(where: { strangersToo || $0 != .strangers }) else { return nil }
        let share = turns.remove(at: turn)
        guard let waiter = waiters[share]?.removeFirst() else { preconditionFailure("a share with a turn has waiters") }
        count -= 1
        if count(of: share) == 0 { waiters[share] = nil } else { turns.append(share) }
        return (waiter, share)
    }

    /// Returns false if it does not wait.
    mutating func remove(_ waiter: Int) -> Bool {
        for share in turns {
            guard let index = waiters[share]?.firstIndex(of: waiter) else { continue }
            waiters[share]?.remove(at: index)
            count -= 1
            if count(of: share) == 0 {
                waiters[share] = nil
                turns.removeAll { $0 == share }
            }
            return true
        }
        return false
    }

    mutating func takeAll() -> [Int] {
        defer { self = PoolQueue() }
        // By number, which rises with their arrival.
        return turns.flatMap { waiters[$0] ?? [] }.sorted()
    }
}
