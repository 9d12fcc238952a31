import Basis

package struct APNsKeyIdentity: Hashable, Sendable {
    package let keyID: String
    package let teamID: String

    /// Returns nil unless both have ten capital letters and digits.
    package init?(keyID: String, teamID: String) {
        guard Self.isTenLong(keyID), Self.isTenLong(teamID) else { return nil }
        (self.keyID, self.teamID) = (keyID, teamID)
    }

    private static func isTenLong(_ text: String) -> Bool {
        text.utf8.count == 10 && text.utf8.allSatisfy { $0.isCapital || $0.isDigit }
    }
}
