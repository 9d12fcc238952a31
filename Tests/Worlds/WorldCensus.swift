import Model
import QueueRules

/// The count of each kind of trouble. A simulation that never gets into trouble proves nothing.
package struct WorldCensus: Equatable, Sendable {
    package var worlds = 0
    package var events = 0
    package var pushes = 0
    /// The number of worlds in which each checker had something to judge, by its raw value.
    private var judged = [Int](repeating: 0, count: WorldChecker.allCases.count)
    /// Events by name, and how often each came about.
    private var counts: [(name: String, count: Int)] = WorldCensus.names.map { ($0, 0) }
    /// The index of each name. Never iterated.
    private static let places = Dictionary(uniqueKeysWithValues: zip(names, names.indices))

    /// Every kind of event that these worlds exist for.
    private static let names: [String] =
        Trouble.allCases.map(\.rawValue) + WorldFault.allCases.map(\.rawValue)
        + WorldFault.storms.map { "storm of \($0)" } + StepTrouble.names + AnswerKind.allCases.map { "answer \($0)" }
        + SimulatedContent.allCases.map { "delivered \($0)" }

    package init() {}

    package enum Trouble: String, CaseIterable, Sendable {
        case repeats, lapses, losers, drains, expired, poisoned
        case ambiguousSettles = "ambiguous settles"
        case handOvers = "hand-overs"
        case handOversToFCM = "hand-overs from APNs to FCM"
        case handOversToAPNs = "hand-overs from FCM to APNs"
        case retired = "retired by APNs"
        case retiredByFCM = "retired by FCM"
        case confirmed = "suspicions confirmed by APNs"
        case confirmedByFCM = "suspicions confirmed by FCM"
        case cleared = "suspicions cleared"
        case gaveUp = "gave up"
        case notRepeated = "not repeated"
        case deletedMembers = "deleted members"
        case changedUsers = "members that belong to another user"
        case changedAudiences = "members whose tags no longer fit"
        case unknownDevices = "unknown installations"
        case unknownUsers = "unknown users"
        case noneOfKind = "known receivers without a token of the kind"
        case nothingToShow = "messages without content for a provider"
        case mixed = "messages for both providers"
        case rateLimited = "requests that wait for their quota"
        case rateLimitedGroup = "requests that wait beside others of their project"
        case dividedQuotas = "heartbeats of processes that divide their project's quota"
        case cuts = "direct messages cut when they were accepted"
        case cutLeases = "parcels leased by their cut"
        case cutsReady = "parcels that their cut left ready"
        case accessRenewed = "access tokens renewed"
        case triedInSibling = "tokens tried in the other environment"
        case found = "tokens found in the other environment"
        case suspectRoutes = "tokens found in the other environment that stayed"
        case refusedInBoth = "tokens refused in both environments"
        case sidesChanged = "installations that changed providers"
        case cancelled = "cancelled"
        case paused = "messages that were paused"
        case rated = "rates that were changed"
        case quanta = "quanta of messages with a rate"
        case scheduled = "messages that waited for their time"
        case local = "messages at each device's local time"
        case tooLate = "devices whose local time had passed"
        case tooShortForQuietHours = "pushes that expired in quiet hours"
        case endedUnsent = "parcels that ended unsent"
        case withdrawn = "pushes that were taken back before they left"
        case wakeUps = "wake-ups"
        case merged = "wake-ups of several changes"
        case slices = "fan-outs that left subscriptions for the next slice"
        case followed = "subscriptions that followed their token"
        case expiredSubscriptions = "subscriptions that expired"
        case fired = "triggers that fired"
        case held = "pushes of items that were held"
        case droppedItemPushes = "pushes of items that were dropped"
        case itemSlices = "rounds that left followers for the next slice"
    }

    package mutating func add(_ world: SimulatedWorld) {
        worlds += 1
        events += world.events
        pushes += world.providers.log.count
        for pair in world.ledger.pairs { count(.repeats, max(0, world.providers.seen(pair).count - 1)) }
        count(.lapses, world.ledger.lapsedLeases)
        count(.losers, world.incidents.losers)
        count(.ambiguousSettles, world.incidents.ambiguousSettles)
        count(.handOvers, world.incidents.handOvers)
        count(.handOversToFCM, world.incidents.handOversToFCM)
        count(.handOversToAPNs, world.incidents.handOversToAPNs)
        count(.drains, world.incidents.drains)
        count(.rateLimited, world.incidents.rateLimited)
        count(.rateLimitedGroup, world.incidents.rateLimitedGroup)
        count(.dividedQuotas, world.incidents.dividedQuotas)
        count(.cuts, world.incidents.cuts)
        count(.cutLeases, world.incidents.cutLeases)
        count(.cutsReady, world.incidents.cutsReady)
        count(.accessRenewed, world.incidents.accessRenewed)
        count(.triedInSibling, world.incidents.triedInSibling)
        count(.found, world.incidents.found)
        count(.suspectRoutes, world.incidents.suspectRoutes)
        count(.refusedInBoth, world.incidents.refusedInBoth)
        count(.sidesChanged, world.incidents.sidesChanged)
        for (name, count) in world.incidents.noted { self.count(name, count) }
        count(.paused, world.incidents.paused)
        count(.rated, world.incidents.rated)
        count(.quanta, world.incidents.quanta)
        count(.endedUnsent, world.incidents.endedUnsent)
        count(.withdrawn, world.incidents.withdrawn)
        count(.wakeUps, world.wakeUps.told)
        count(.merged, world.wakeUps.merged)
        count(.slices, world.wakeUps.slices)
        count(.followed, world.wakeUps.followed)
        count(.expiredSubscriptions, world.wakeUps.expired)
        count(.fired, world.items.fired)
        count(.held, world.items.held)
        count(.droppedItemPushes, world.items.dropped)
        count(.itemSlices, world.items.slices)
        for entry in world.store.feedback { count(entry) }
        for place in judged.indices where world.incidents.judged[place] > 0 { judged[place] += 1 }
        for message in world.store.messages {
            if message.providers.count > 1 { count(.mixed) }
            if message.dueAt != nil { count(.scheduled) }
            if message.localSending != nil { count(.local) }
            for total in message.reasons { count(total) }
        }
        for seen in world.providers.log {
            count("answer \(seen.answer.kind)", 1)
            guard seen.answer.kind.isAccepted, let form = world.forms[seen.push.message] else { continue }
            count("delivered \(form.content)", 1)
        }
    }

    /// Adds the census of other worlds.
    package mutating func add(_ other: WorldCensus) {
        worlds += other.worlds
        events += other.events
        pushes += other.pushes
        for place in counts.indices { counts[place].count += other.counts[place].count }
        for place in judged.indices { judged[place] += other.judged[place] }
    }

    private mutating func count(_ trouble: Trouble, _ count: Int = 1) { self.count(trouble.rawValue, count) }

    private mutating func count(_ name: String, _ count: Int) {
        guard let place = Self.places[name] else { return }
        counts[place].count += count
    }

    private mutating func count(_ entry: FeedbackRow) {
        switch entry.verdict {
        case .retired where AnswerKind(rawValue: entry.reason)?.reportsUnregistered == true:
            count(entry.provider == .fcm ? .retiredByFCM : .retired)
        case .retired: count(entry.provider == .fcm ? .confirmedByFCM : .confirmed)
        case .cleared: count(.cleared)
        default: break
        }
    }

    private mutating func count(_ total: TerminalTotal) {
        let trouble: Trouble? =
            switch (total.terminalStatus.state, total.terminalStatus.reason) {
            case (.expired, _): .expired
            case (.cancelled, _): .cancelled
            case (.suppressed, TerminalReason.quietHours): .tooShortForQuietHours
            case (.gaveUp, TerminalReason.poison): .poisoned
            case (.gaveUp, TerminalReason.answerLost): .notRepeated
            case (.gaveUp, _): .gaveUp
            case (.unregistered, TerminalReason.deviceDeleted): .deletedMembers
            case (.unregistered, TerminalReason.userChanged): .changedUsers
            case (.unregistered, TerminalReason.audienceChanged): .changedAudiences
            case (.rejected, TerminalReason.unknownDevice): .unknownDevices
            case (.rejected, TerminalReason.unknownUser): .unknownUsers
            case (.rejected, TerminalReason.noRegistrationOfKind): .noneOfKind
            case (.suppressed, TerminalReason.localTimePassed): .tooLate
            case (.rejected, "nothing_to_show"): .nothingToShow
            default: nil
            }
        if let trouble { count(trouble, Int(total.count)) }
    }

    /// The kinds that never came about.
    package var missing: [String] { counts.filter { $0.count == 0 }.map(\.name) }

    /// The number of worlds in which the checker had something to judge.
    package func worlds(judgedBy checker: WorldChecker) -> Int { judged[checker.rawValue] }

    package static func == (left: WorldCensus, right: WorldCensus) -> Bool {
        left.worlds == right.worlds && left.events == right.events && left.pushes == right.pushes
            && left.judged == right.judged
            && left.counts.elementsEqual(right.counts) { $0 == $1 }
    }
}

extension WorldCensus: CustomStringConvertible {
    package var description: String {
        (["\(worlds) worlds, \(events) events, \(pushes) pushes"] + counts.map { "\($0.name): \($0.count)" }
            + WorldChecker.allCases.map { "worlds judged by \($0.text): \(worlds(judgedBy: $0))" })
            .joined(separator: "\n")
    }
}
