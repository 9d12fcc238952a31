/// The provider tokens that each key has shown, over all connections of the stand-in. A key may not change its token
/// too often.
///
/// The times at which two tokens were issued count, not when or on which connection they were shown. Apple: refreshed
/// "no more than once every 20 minutes". Its text speaks of one connection; operators were counted per key.
struct ProviderTokenChanges {
    private struct Known {
        let text: String
        let issuedAt: Double
    }

    /// The shortest time between any two tokens of a key.
    private let secondsApartMin: Double
    /// Older tokens have expired, and are forgotten.
    private let secondsMax: Double
    private var known: [String: [Known]] = [:]

    /// A limit, because a client can invent keys if none is registered.
    private static let keysMax = 1_000
    /// At twenty minutes apart, at most seven tokens of a key are young enough.
    private static let tokensMax = 100

    init(apart: Duration, ageMax: Duration) {
        secondsApartMin = apart / .seconds(1)
        secondsMax = ageMax / .seconds(1)
    }

    /// Whether the key may use this token: it is known already, or was issued far enough from the known ones.
    mutating func admit(_ text: String, _ token: ProviderToken, nowSeconds: Double) -> Bool {
        let key = token.teamID + "/" + token.keyID
        let young = (known[key] ?? []).filter { nowSeconds - $0.issuedAt <= secondsMax }
        if young.contains(where: { $0.text == text }) { return true }
        guard young.allSatisfy({ abs($0.issuedAt - token.issuedAt) >= secondsApartMin }) else { return false }
        if known[key] == nil, known.count >= ProviderTokenChanges.keysMax { forget() }
        let all = young + [Known(text: text, issuedAt: token.issuedAt)]
        known[key] = Array(all.suffix(ProviderTokenChanges.tokensMax))
        return true
    }

    mutating func forget() { known.removeAll() }
}
