/// Which provider tokens each key has shown, over all connections of the stand-in: a key may not change its token too
/// often.
///
/// What counts is when two tokens were issued, not when they were shown or on which connection. Apple: refreshed "no
/// more than once every 20 minutes"; its text speaks of one connection, operators were counted per key.
struct ProviderTokenChanges {
    private struct Known {
        let text: String
        let issuedAt: Double
    }

    /// Of any two tokens of a key.
    private let secondsApartMin: Double
    /// Older ones have expired, and are forgotten.
    private let secondsMax: Double
    private var known: [String: [Known]] = [:]

    /// Anybody can make up names of keys where none is registered.
    private static let keysMax = 1_000
    /// Twenty minutes apart, no more than seven of a key are young enough.
    private static let tokensMax = 100

    init(apart: Duration, ageMax: Duration) {
        secondsApartMin = apart / .seconds(1)
        secondsMax = ageMax / .seconds(1)
    }

    /// Whether the key may use this token: it is known already, or far enough from those that are.
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
