import Model

/// Bounds how many works of an app run at once. Its next ones wait in the order of arrival, and no other app's do.
package actor AppSlots {
    private struct Slots {
        var used = 0
        var waiting: [CheckedContinuation<Void, Never>] = []
    }

    private let atOnceMax: Int
    /// The apps with a work that runs.
    private var apps: [AppID: Slots] = [:]

    package init(atOnceMax: Int) {
        precondition(atOnceMax > 0)
        self.atOnceMax = atOnceMax
    }

    /// Runs the work in a slot of the app. Returns nil at once if `waitingMax` works of the app wait already.
    package func run<Value: Sendable>(
        for app: AppID, waitingMax: Int = .max, _ work: @Sendable () async -> Value
    ) async -> Value? {
        guard await take(for: app, waitingMax) else { return nil }
        defer { release(of: app) }
        return await work()
    }

    private func take(for app: AppID, _ waitingMax: Int) async -> Bool {
        let slots = apps[app] ?? Slots()
        guard slots.used >= atOnceMax else {
            apps[app, default: Slots()].used += 1
            return true
        }
        guard slots.waiting.count < waitingMax else { return false }
        await withCheckedContinuation { apps[app]?.waiting.append($0) }
        return true
    }

    /// Hands the slot to the next work, or frees it.
    private func release(of app: AppID) {
        guard var slots = apps[app] else { return }
        let next = slots.waiting.isEmpty ? nil : slots.waiting.removeFirst()
        if next == nil { slots.used -= 1 }
        apps[app] = slots.used == 0 ? nil : slots
        next?.resume()
    }
}
