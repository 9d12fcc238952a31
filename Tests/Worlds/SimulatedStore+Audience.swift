import Basis
import Model
import QueueRules

/// The result of one audience query.
package struct SimulatedAudienceQuery {
    /// Members by rising id.
    package var members: [SimulatedMember] = []
    /// Members that end before anything is sent, by state, reason and route.
    package var early: [EarlyGroup] = []
    package var through: Int64
    package var isLast: Bool
    package var ended: Int { early.reduce(0) { $0 + $1.members.count } }

    package struct EarlyGroup {
        package let terminalStatus: TerminalStatus
        /// nil: the members are positions among the audience's names, from 1.
        package let route: RouteID?
        package var members: [Int64]

        fileprivate var order: [String] { ["\(terminalStatus.state.rawValue)", terminalStatus.reason] }
    }

    fileprivate mutating func end(nameAt place: Int, _ terminalStatus: TerminalStatus) {
        end(Int64(place), nil, terminalStatus)
    }

    fileprivate mutating func end(_ row: RegistrationRow, _ terminalStatus: TerminalStatus) {
        end(row.id.value, row.stored.route, terminalStatus)
    }

    private mutating func end(_ member: Int64, _ route: RouteID?, _ terminalStatus: TerminalStatus) {
        if let known = early.firstIndex(where: { $0.terminalStatus == terminalStatus && $0.route == route }) {
            early[known].members.append(member)
            return
        }
        early.append(EarlyGroup(terminalStatus: terminalStatus, route: route, members: [member]))
        early.sort { one, other in
            one.terminalStatus == other.terminalStatus
                ? (one.route?.value ?? 0) < (other.route?.value ?? 0)
                : one.order.lexicographicallyPrecedes(other.order)
        }
    }
}

package struct SimulatedMember {
    package let id: RegistrationID
    package let route: RouteID
    /// nil: at once.
    package var sentAt: WallInstant?
}

extension RegistrationRow {
    fileprivate var member: SimulatedMember { SimulatedMember(id: id, route: stored.route) }
}

extension SimulatedStore {
    /// Returns the next slice of an audience, bounded by the rows examined. Ids rise, except for named installations.
    package mutating func query(at message: MessageRow, after: Int64, _ idsMax: Int) -> SimulatedAudienceQuery {
        let audience = message.audienceWanted
        switch audience.selection {
        case .all: return range(of: live(message), message, after, idsMax) { audience.includes($0) }
        case .installations(let names): return named(names, message, after, idsMax)
        case .users(let names): return ofUsers(names, message, after, idsMax)
        case .tokens(let targets): return inline(targets, message)
        case .stale(let times):
            return range(of: live(message), message, after, idsMax) { row in
                audience.includes(row)
                    && times.contains { $0.provider == row.stored.provider && row.registeredAt < $0.instant }
            }
        // StoreTests compare filters with the database; worlds send to none.
        case .filter: preconditionFailure("no simulated message has a filter")
        case .subscribers, .revoked, .itemSubscribers: preconditionFailure("a fan-out cuts messages to subscribers")
        case .tags(let expression) where expression.onlyExcludes:
            return range(of: live(message), message, after, idsMax) {
                audience.includes($0) && expression.includes($0)
            }
        case .tags(let expression):
            let scanned = scanned(expression, message, after, idsMax)
            let tagged = registrations.filter { row in
                row.app == message.app && scanned.contains { row.stored.profile.tags.contains($0) }
            }
            return range(of: tagged, message, after, idsMax) {
                $0.stored.kind == message.kind && $0.isLive && audience.includes($0) && expression.includes($0)
            }
        }
    }

    /// The reason why the audience no longer includes a member; nil: it does.
    func excluded(_ row: RegistrationRow, from parcel: ParcelRow) -> AudienceChange? {
        let message = message(parcel.message)
        return switch message?.audienceWanted.selection {
        case .users(let names): row.stored.profile[.user].map { names.contains($0) } == true ? nil : .user
        case .tags(let expression): expression.includes(row) ? nil : .condition
        case .subscribers(let watch): subscribes(row.id, to: watch, message: parcel.message) ? nil : .condition
        case .revoked(let watch): subscribes(row.id, to: watch) ? .condition : nil
        case .itemSubscribers(let template):
            message.map { lacksItemSubscription(row.id, to: $0, template) } == true ? .condition : nil
        case .all, .installations, .tokens, .stale, nil: nil
        case .filter: preconditionFailure("no simulated message has such an audience")
        }
    }

    private func live(_ message: MessageRow) -> [RegistrationRow] {
        registrations.filter { $0.app == message.app && $0.stored.kind == message.kind && $0.isLive }
    }

    private func range(
        of rows: [RegistrationRow], _ message: MessageRow, _ after: Int64, _ idsMax: Int,
        where fits: (RegistrationRow) -> Bool
    ) -> SimulatedAudienceQuery {
        let examined = rows.filter { $0.id.value > after && $0.id <= message.horizon }.prefix(idsMax)
        return SimulatedAudienceQuery(
            members: examined.filter(fits).map(\.member), through: examined.last?.id.value ?? message.horizon.value,
            isLast: examined.count < idsMax)
    }

    private func named(_ names: [String], _ message: MessageRow, _ after: Int64, _ idsMax: Int)
        -> SimulatedAudienceQuery
    {
        let examined = names.dropFirst(Int(after)).prefix(idsMax)
        var query = SimulatedAudienceQuery(
            through: after + Int64(examined.count), isLast: Int(after) + examined.count >= names.count)
        for (number, name) in zip(examined.indices, examined) {
            guard let place = placeOfDevice(app: message.app, installation: name, kind: message.kind),
                registrations[place].id <= message.horizon
            else {
                let isKnown = registrations.contains {
                    $0.app == message.app && $0.stored.installation == name && $0.id <= message.horizon
                }
                let reason = isKnown ? TerminalReason.noRegistrationOfKind : TerminalReason.unknownDevice
                query.end(nameAt: number + 1, TerminalStatus(.rejected, reason))
                continue
            }
            let row = registrations[place]
            guard message.audienceWanted.includes(row) else { continue }
            if row.isLive {
                query.members.append(row.member)
            } else {
                query.end(row, TerminalStatus(.unregistered, TerminalReason.retired))
            }
        }
        query.members.sort { $0.id < $1.id }
        return query
    }

    /// Returns all targets at once. A live registration that holds the token becomes the member; other targets get
    /// inline rows.
    private mutating func inline(_ targets: [InlineTarget], _ message: MessageRow) -> SimulatedAudienceQuery {
        var query = SimulatedAudienceQuery(through: 0, isLast: true)
        for target in targets where message.audienceWanted.providers?.contains(target.provider) ?? true {
            let holder = registrations.first {
                $0.app == message.app && $0.isLive && $0.stored.provider == target.provider
                    && $0.stored.token == target.token
            }
            if let holder {
                query.members.append(holder.member)
                continue
            }
            let route = routeOf(
                app: message.app, provider: target.provider, environment: target.environment, topic: target.topic)
            lastRegistration += 1
            let row = InlineRow(
                id: RegistrationID(lastRegistration), message: message.id, route: route, token: target.token)
            inlineTargets.append(row)
            query.members.append(SimulatedMember(id: row.id, route: route))
        }
        query.members.sort { $0.id < $1.id }
        return query
    }

    private func ofUsers(_ names: [String], _ message: MessageRow, _ after: Int64, _ idsMax: Int)
        -> SimulatedAudienceQuery
    {
        let owned = registrations.filter { row in
            row.app == message.app && row.stored.profile[.user].map { names.contains($0) } ?? false
        }
        let (read, isRead) = scanned(owned, of: names, message, after, idsMax)
        let examined = read.prefix(idsMax)
        let members = examined.filter {
            $0.stored.kind == message.kind && $0.isLive && message.audienceWanted.includes($0)
        }
        var query = SimulatedAudienceQuery(
            members: members.map(\.member), through: examined.last?.id.value ?? message.horizon.value,
            isLast: isRead && examined.count < idsMax)
        guard after == 0 else { return query }
        for (number, name) in names.enumerated() {
            let all = owned.filter { $0.stored.profile[.user] == name && $0.id <= message.horizon }
            let own = all.filter { $0.stored.kind == message.kind }
            if own.isEmpty {
                let reason = all.isEmpty ? TerminalReason.unknownUser : TerminalReason.noRegistrationOfKind
                query.end(nameAt: number + 1, TerminalStatus(.rejected, reason))
            }
            guard !own.contains(where: \.isLive) else { continue }
            if let gone = own.first(where: message.audienceWanted.includes) {
                query.end(gone, TerminalStatus(.unregistered, TerminalReason.retired))
            }
        }
        return query
    }

    /// The rows of users by rising ids, read as the real store's `UserScan` reads them: a few of each user, then more of
    /// those who may have more, until half a slice is together. And whether no user may have more.
    private func scanned(
        _ owned: [RegistrationRow], of names: [String], _ message: MessageRow, _ after: Int64, _ idsMax: Int
    ) -> (rows: [RegistrationRow], isRead: Bool) {
        var open: [Int64?] = names.map { _ in after }
        var rows: [RegistrationRow] = []
        var places = Array(names.indices)
        while true {
            let rowsEach = max(4, (idsMax + places.count - 1) / max(1, places.count))
            for place in places {
                let own = owned.filter {
                    $0.stored.profile[.user] == names[place] && $0.id.value > open[place] ?? .max
                        && $0.id <= message.horizon
                }.prefix(rowsEach)
                rows += own
                open[place] = own.count >= rowsEach ? own.last?.id.value : nil
            }
            rows.sort { $0.id < $1.id }
            let reach = open.compactMap(\.self).min()
            let reached = rows.filter { $0.id.value <= reach ?? .max }
            guard reach != nil, places.count > 1, reached.count * 2 < idsMax else { return (reached, reach == nil) }
            let left = open.indices.filter { open[$0] != nil }.sorted { (open[$0] ?? 0, $0) < (open[$1] ?? 0, $1) }
            let areFew = left.count * 2 <= places.count
            places = left.prefix(areFew ? left.count : max(1, places.count / 4)).sorted()
        }
    }

    /// The rarest tag of `all`, or `any` together where those are rarer. Rows are counted up to a slice's worth.
    private func scanned(
        _ expression: TagExpression, _ message: MessageRow, _ after: Int64, _ idsMax: Int
    ) -> [String] {
        func count(_ tag: String) -> Int {
            let rows = registrations.filter {
                $0.app == message.app && $0.id.value > after && $0.id <= message.horizon
                    && $0.stored.profile.tags.contains(tag)
            }
            return min(rows.count, idsMax)
        }
        guard let rarest = expression.all.min(by: { count($0) < count($1) }) else { return expression.any }
        let ofAny = expression.any.reduce(0) { $0 + count($1) }
        return !expression.any.isEmpty && ofAny < count(rarest) ? expression.any : [rarest]
    }
}

extension Audience {
    fileprivate func includes(_ row: RegistrationRow) -> Bool { providers?.contains(row.stored.provider) ?? true }

    package var targets: [InlineTarget] {
        if case .tokens(let targets) = selection { targets } else { [] }
    }

    /// The audience with names sorted by their bytes, each once, so that planning can go on from a position.
    package var sorted: Audience {
        var audience = self
        switch selection {
        case .all, .filter, .stale, .subscribers, .revoked, .itemSubscribers: break
        case .installations(let names): audience.selection = .installations(names.eachOnce)
        case .users(let names): audience.selection = .users(names.eachOnce)
        case .tokens(let targets):
            let first = targets.indices.filter { place in
                !targets[..<place].contains {
                    $0.provider == targets[place].provider && $0.token == targets[place].token
                }
            }
            audience.selection = .tokens(first.map { targets[$0] })
        case .tags(let tags):
            audience.selection = .tags(
                TagExpression(any: tags.any.eachOnce, all: tags.all.eachOnce, none: tags.none.eachOnce))
        }
        return audience
    }
}

extension TagExpression {
    fileprivate func includes(_ row: RegistrationRow) -> Bool {
        let tags = row.stored.profile.tags
        return (any.isEmpty || any.contains { tags.contains($0) }) && all.allSatisfy { tags.contains($0) }
            && !none.contains { tags.contains($0) }
    }
}

extension [String] {
    fileprivate var eachOnce: [String] {
        let rising = sorted { $0.utf8.lexicographicallyPrecedes($1.utf8) }
        return rising.enumerated().filter { $0 == 0 || rising[$0 - 1] != $1 }.map(\.element)
    }
}
