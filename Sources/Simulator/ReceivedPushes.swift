import Basis
import Model

/// One push as it arrived, and its answer.
package struct ReceivedPush: Equatable, Sendable {
    /// The push's `apns-id`; at Google's, the name given to the message.
    package let apnsID: String
    package let path: String
    /// All but `apns-id` and `authorization`.
    package fileprivate(set) var headers: [HeaderLine]
    package let body: [UInt8]
    package let arrivedAt: WallInstant
    package let status: Int
    /// nil: accepted.
    package let reason: String?
    package let connection: Int
    /// Only validated, as the request asked (`validate_only`).
    package var isDryRun = false
    /// A short name of the provider token, which does not reveal it. nil: none was shown, or at Google's.
    package var providerToken: String?
    /// The SHA-256 of the certificate that its connection showed, in hexadecimal; nil: none.
    package var certificate: String?

    /// Whether the push was processed. A topic call has no id, and a dry run no id of its own.
    var isProcessed: Bool { reason == nil && !isDryRun && !apnsID.isEmpty }

    package func header(_ name: String) -> String? { headers.first { $0.name == name }?.value }
}

extension DeviceToken {
    /// The key of requests that name no token, or an unreadable one.
    static let nobody = DeviceToken(bytes: [])
}

/// The pushes that each token received, within a memory limit: the oldest are forgotten first, the counts stay.
struct ReceivedPushes {
    private struct StoredPush {
        let token: Int
        let push: ReceivedPush
        let bytes: Int
    }

    private struct Entry {
        let token: DeviceToken
        /// Ordinals of the token's kept pushes, rising. Forgotten ones are removed as they are forgotten.
        var pushes: [Int] = []
    }

    private let bytesMax: Int
    private var recent: [StoredPush] = []
    /// The number of forgotten pushes at the start of `recent`.
    private var head = 0
    private var firstOrdinal = 0
    private var keptBytes = 0
    private var entries: [Entry] = []
    private var places: [DeviceToken: Int] = [:]
    /// Pushes of one batch have the same headers and share one array.
    private var lastHeaders: [HeaderLine] = []

    /// Pushes accepted a second time under one `apns-id`, among those kept.
    private(set) var repeatCount = 0
    private(set) var forgottenCount = 0

    /// Pushes to further tokens are counted, not kept.
    static let tokensMax = 4_000_000
    /// At least so many of a token's last pushes are kept, and at most twice as many.
    private static let pushesPerTokenMax = 1_000
    /// A repeat is searched among so many last pushes of the token: retries come soon.
    private static let repeatsSoughtMax = 64
    /// The approximate memory of a push beside its bytes.
    private static let overheadBytes = 200

    init(bytesMax: Int) { self.bytesMax = bytesMax }

    var tokenCount: Int { entries.count - (places[.nobody] == nil ? 0 : 1) }
    var keptCount: Int { recent.count - head }

    mutating func append(_ push: ReceivedPush, token: DeviceToken) {
        guard let place = place(of: token) else {
            forgottenCount += 1
            return
        }
        if push.isProcessed && wasAccepted(push.apnsID, place) { repeatCount += 1 }
        let isShared = push.headers == lastHeaders
        if !isShared { lastHeaders = push.headers }
        var stored = push
        stored.headers = lastHeaders
        let headerBytes = isShared ? 0 : lastHeaders.reduce(0) { $0 + $1.name.utf8.count + $1.value.utf8.count + 64 }
        let bytes = push.body.count + headerBytes + ReceivedPushes.overheadBytes
        entries[place].pushes.append(firstOrdinal + recent.count)
        if entries[place].pushes.count > 2 * ReceivedPushes.pushesPerTokenMax {
            entries[place].pushes.removeFirst(ReceivedPushes.pushesPerTokenMax)
        }
        recent.append(StoredPush(token: place, push: stored, bytes: bytes))
        keptBytes += bytes
        forgetOldest()
    }

    func pushes(to token: DeviceToken) -> [ReceivedPush] { places[token].map(of) ?? [] }

    struct Listed {
        /// From 1, in the order of arrival at the whole stand-in.
        let number: Int
        let token: DeviceToken
        let push: ReceivedPush
    }

    /// Lists the pushes to a token, or all pushes, whose number is above `after`.
    func list(to token: DeviceToken?, after: Int, limit: Int) -> [Listed] {
        if let token {
            guard let place = places[token] else { return [] }
            let ordinals = entries[place].pushes.filter { $0 >= after && $0 - firstOrdinal >= head }
            return ordinals.prefix(limit).map(listed)
        }
        let start = max(after, firstOrdinal + head)
        let end = firstOrdinal + recent.count
        return start < end ? (start..<min(end, start + limit)).map(listed) : []
    }

    private func listed(_ ordinal: Int) -> Listed {
        let one = recent[ordinal - firstOrdinal]
        return Listed(number: ordinal + 1, token: entries[one.token].token, push: one.push)
    }

    private func wasAccepted(_ apnsID: String, _ place: Int) -> Bool {
        entries[place].pushes.suffix(ReceivedPushes.repeatsSoughtMax).contains { ordinal in
            let index = ordinal - firstOrdinal
            return index >= head && recent[index].push.isProcessed && recent[index].push.apnsID == apnsID
        }
    }

    private func of(_ place: Int) -> [ReceivedPush] {
        entries[place].pushes.compactMap { ordinal in
            let index = ordinal - firstOrdinal
            return index >= head ? recent[index].push : nil
        }
    }

    private mutating func place(of token: DeviceToken) -> Int? {
        if let place = places[token] { return place }
        guard entries.count < ReceivedPushes.tokensMax else { return nil }
        places[token] = entries.count
        entries.append(Entry(token: token))
        return entries.count - 1
    }

    private mutating func forgetOldest() {
        while keptBytes > bytesMax && head < recent.count {
            keptBytes -= recent[head].bytes
            let place = recent[head].token
            let ordinal = firstOrdinal + head
            entries[place].pushes.removeAll { $0 <= ordinal }
            head += 1
            forgottenCount += 1
        }
        // Half of the array is dead: move the kept pushes to its start.
        guard head > 1_024, head > recent.count / 2 else { return }
        recent.removeFirst(head)
        firstOrdinal += head
        head = 0
    }
}
