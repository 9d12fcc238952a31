/// The subscriptions that a client knows, one instance for each key.
struct SubscriptionCache {
    private struct Entry {
        let subscription: ItemSubscription
        /// Whether the cache shows it. An inquiry of a status that it no longer has doesn't say whether it still exists.
        var isShown = true
    }

    private var entries: [String: Entry] = [:]
    /// Counts the answers to calls that change something. An inquiry that began before one may have read older values.
    private(set) var changes = 0

    /// The oldest first: keys rise with their time.
    var shown: [ItemSubscription] {
        entries.values.filter(\.isShown).map(\.subscription).sorted { $0.key < $1.key }
    }

    subscript(key: String) -> ItemSubscription? { entries[key].flatMap { $0.isShown ? $0.subscription : nil } }

    /// Takes the answer to an activation.
    mutating func activate(_ report: SubscriptionReport) -> ItemSubscription {
        changes += 1
        return show(report)
    }

    /// Takes the answer to a modification. One that was deactivated meanwhile does not come back.
    mutating func change(_ subscription: ItemSubscription, _ report: SubscriptionReport) {
        changes += 1
        subscription.update(report)
        guard !subscription.isDeactivated else { return }
        if entries[subscription.key] == nil { entries[subscription.key] = Entry(subscription: subscription) }
        _ = show(report)
    }

    /// Takes the answer to the deactivation of one.
    mutating func end(_ subscription: ItemSubscription) {
        changes += 1
        subscription.end()
        remove(subscription.key)
    }

    /// Takes the answer to the deactivation of all that have the status; nil: of all.
    mutating func endAll(_ status: ItemSubscription.Status? = nil) {
        changes += 1
        for (key, entry) in entries where status == nil || entry.subscription.status == status { remove(key) }
    }

    /// Takes the answer to an inquiry by key, which may be that there is none.
    mutating func take(_ report: SubscriptionReport?, of key: String) -> ItemSubscription? {
        guard let report else {
            remove(key)
            return nil
        }
        return show(report)
    }

    /// Takes the answer to an inquiry of all subscriptions that have the status; nil: of all.
    mutating func take(
        _ reports: [SubscriptionReport], of status: ItemSubscription.Status?
    ) -> [ItemSubscription] {
        let found = reports.map { show($0) }
        let keys = Set(found.map(\.key))
        for (key, entry) in entries where !keys.contains(key) {
            guard let status else {
                remove(key)
                continue
            }
            if entry.subscription.status == status { entries[key]?.isShown = false }
        }
        return found
    }

    private mutating func show(_ report: SubscriptionReport) -> ItemSubscription {
        guard let known = entries[report.key]?.subscription else {
            let subscription = ItemSubscription(report)
            entries[report.key] = Entry(subscription: subscription)
            return subscription
        }
        known.update(report)
        entries[report.key]?.isShown = true
        return known
    }

    private mutating func remove(_ key: String) { entries.removeValue(forKey: key)?.subscription.end() }
}
