import Model
import RegistryRules

/// Decides a batch of registrations one after the other against the rows that they touch. It gathers the net effect, in
/// an order that violates no constraint.
struct RegistrationBatch: Sendable {
    private(set) var decisions: [RegistrationDecision] = []
    /// Rows that lose their token to another registration of the batch, by rising id, with their last generation.
    private(set) var released: [StoredRegistration] = []
    /// The moves of tokens between registrations of kind `alert`, to which pushes of items go.
    private(set) var moves: [TokenMove] = []
    /// Registrations that change the wide part of their row, as places in the batch, by rising row id.
    private(set) var updated: [Int] = []
    private(set) var created: [Int] = []
    /// Registrations whose stored row gets a new registration time, updated rows included: by rising row id.
    private(set) var beating: [Int] = []
    /// Rows whose suspicion ends.
    private(set) var unsuspected: [RegistrationID] = []
    /// Rows that were retired, and are live again.
    private(set) var revived: [RegistrationID] = []
    private(set) var events: [LifecycleEvent] = []

    /// A feed entry about a registration's former token.
    struct LifecycleEvent: Equatable, Sendable {
        let registration: RegistrationID
        let generation: TokenGeneration
        let provider: Provider
        let verdict: FeedbackVerdict
    }

    /// A token that another registration of the batch gets.
    struct TokenMove: Equatable, Sendable {
        let former: RegistrationID
        /// nil: the batch makes it.
        let holder: RegistrationID?
    }

    private let initial: [StoredRegistration]
    private var rows: [StoredRegistration]
    private var placeByKey: [InstallationKey: Int] = [:]
    private var placeByToken: [TokenKey: Int] = [:]
    /// The place of the registration that writes a row.
    private var speakers: [Int?]

    /// - Parameters:
    ///   - incoming: no two with the same installation and kind, nor with the same provider and token.
    ///   - stored: every row of those installations and kinds, and every live row that has one of those tokens.
    init(_ incoming: [IncomingRegistration], stored: [StoredRegistration]) {
        initial = stored
        rows = stored
        speakers = Array(repeating: nil, count: stored.count)
        decisions.reserveCapacity(incoming.count)
        rows.reserveCapacity(stored.count + incoming.count)
        speakers.reserveCapacity(stored.count + incoming.count)
        placeByToken.reserveCapacity(stored.count + incoming.count)
        for (place, row) in stored.enumerated() {
            placeByKey[InstallationKey(row.installation, row.kind)] = place
            if row.state != .retired { placeByToken[TokenKey(row.provider, row.token)] = place }
        }
        let initialHolders = placeByToken
        for (index, each) in incoming.enumerated() { decide(each, index: index) }
        gather(initialHolders: initialHolders)
    }

    private mutating func decide(_ incoming: IncomingRegistration, index: Int) {
        let input = incoming.registration
        let own = placeByKey[InstallationKey(input.installation, input.kind)]
        let claimed = TokenKey(input.provider, input.token)
        let holder = placeByToken[claimed].flatMap { $0 == own ? nil : $0 }
        let decision = TokenLifecycle.register(
            existing: own.map { rows[$0] }, holder: holder.map { rows[$0] }, incoming: incoming)
        decisions.append(decision)
        if decision.change == .stale { return }
        if let holder, let lostToken = decision.formerHolder { removeToken(holder, lostToken) }
        if let generation = decision.replacedGeneration, let own, let id = rows[own].id {
            events.append(
                LifecycleEvent(
                    registration: id, generation: generation, provider: rows[own].provider, verdict: .replaced))
        }
        placeByToken[claimed] = settle(decision.row, at: own, index: index)
    }

    private mutating func removeToken(_ place: Int, _ lostToken: StoredRegistration) {
        if let id = lostToken.id {
            events.append(
                LifecycleEvent(
                    registration: id, generation: rows[place].generation, provider: lostToken.provider, verdict: .moved)
            )
        }
        rows[place] = lostToken
    }

    private mutating func settle(_ row: StoredRegistration, at own: Int?, index: Int) -> Int {
        guard let own else {
            rows.append(row)
            speakers.append(index)
            return rows.count - 1
        }
        let left = TokenKey(rows[own].provider, rows[own].token)
        if placeByToken[left] == own { placeByToken[left] = nil }
        rows[own] = row
        speakers[own] = index
        return own
    }

    private mutating func gatherMove(from place: Int) {
        let row = rows[place]
        guard let former = row.id, let holder = placeByToken[TokenKey(row.provider, row.token)], holder != place,
            row.kind == .alert, rows[holder].kind == .alert
        else { return }
        moves.append(TokenMove(former: former, holder: rows[holder].id))
    }

    private mutating func gather(initialHolders: [TokenKey: Int]) {
        var isReleased = Array(repeating: false, count: initial.count)
        // The loop goes by index: taking a row out would copy it, string by string.
        for place in rows.indices {
            guard let index = speakers[place] else { continue }
            if let holder = initialHolders[TokenKey(rows[place].provider, rows[place].token)], holder != place {
                isReleased[holder] = true
            }
            guard rows[place].id != nil else {
                created.append(index)
                continue
            }
            beating.append(index)
            if decisions[index].isWideRowChanged || rows[place].state != initial[place].state { updated.append(index) }
        }
        for (place, row) in initial.enumerated() {
            if isReleased[place] {
                released.append(rows[place])
                gatherMove(from: place)
            }
            if row.state == .suspected, speakers[place] != nil || isReleased[place], let id = row.id {
                unsuspected.append(id)
            }
            if row.state == .retired, rows[place].state != .retired, let id = row.id { revived.append(id) }
        }
    }
}

/// Names compare by their bytes, as in the database: Swift's strings take different spellings of a letter for equal.
package struct InstallationKey: Hashable, Sendable {
    private let installation: String
    private let kind: TokenKind
    package init(_ installation: String, _ kind: TokenKind) { (self.installation, self.kind) = (installation, kind) }

    package static func == (one: InstallationKey, other: InstallationKey) -> Bool {
        one.kind == other.kind && one.installation.hasSameBytes(as: other.installation)
    }

    /// Different spellings of a name have one hash, and are seldom two.
    package func hash(into hasher: inout Hasher) {
        hasher.combine(installation)
        hasher.combine(kind)
    }
}

package struct TokenKey: Hashable, Sendable {
    private let provider: Provider
    private let token: DeviceToken
    package init(_ provider: Provider, _ token: DeviceToken) { (self.provider, self.token) = (provider, token) }

    /// Hashes eight bytes at a time. One by one, tokens would be most of what a batch hashes.
    package func hash(into hasher: inout Hasher) {
        var word: UInt64 = 0
        for (place, byte) in token.bytes.enumerated() {
            word = word << 8 | UInt64(byte)
            if place & 7 == 7 { hasher.combine(word) }
        }
        hasher.combine(word)
        hasher.combine(token.bytes.count)
    }
}
