import CommandLine
import JSON
import Testing

@Suite("The lines below a change of credentials")
struct ActivationTextTests {
    private static func credential(
        _ id: String, _ submission: String, _ environment: String, _ state: String, key: String
    ) -> JSONValue {
        [
            "id": .string(id), "submission": .string(submission), "provider": "apns", "kind": "token",
            "environment": .string(environment), "topics": ["com.example.garden"], "state": .string(state),
            "key_id": .string(key),
        ]
    }

    /// Two submissions for both environments. The first is in use.
    private static func list(_ states: String...) -> [JSONValue] {
        [
            credential("3", "3", "production", states[0], key: "OLDKEY1234"),
            credential("4", "3", "sandbox", states[1], key: "OLDKEY1234"),
            credential("7", "7", "production", states[2], key: "NEWKEY1234"),
            credential("8", "7", "sandbox", states[3], key: "NEWKEY1234"),
        ]
    }

    private static let before = list("active", "active", "staged", "staged")

    @Test("name the way back, and the environment that stays with the former credential")
    func one() {
        let text = ActivationText(
            before: Self.before, after: Self.list("retired", "active", "active", "staged"), app: "garden")
        #expect(
            text.lines(activated: ["7"]) == [
                "To go back to key OLDKEY1234 (credential 3) in APNs production: "
                    + "carillon credentials activate 3 --app garden",
                "APNs sandbox still uses key OLDKEY1234 (credential 4). To activate this one there too: "
                    + "carillon credentials activate 8 --app garden",
            ])
    }

    @Test("name a way back for each environment if both changed")
    func both() {
        let text = ActivationText(
            before: Self.before, after: Self.list("retired", "retired", "active", "active"), app: "garden")
        let lines = text.lines(activated: ["7", "8"])
        #expect(lines.count == 2 && lines.allSatisfy { $0.hasPrefix("To go back to key OLDKEY1234 ") })
    }

    @Test("name the other environment's credential if the new one is for one environment")
    func single() {
        let new = Self.credential("9", "9", "production", "active", key: "NEWKEY1234")
        let after = Self.list("retired", "active", "staged", "staged").prefix(2) + [new]
        let text = ActivationText(before: Array(Self.before.prefix(2)), after: Array(after), app: "garden")
        #expect(text.lines(activated: ["9"]).last == "APNs sandbox still uses key OLDKEY1234 (credential 4).")
    }

    @Test("appear neither for a first credential nor for the same key in both environments")
    func quiet() {
        let first = [Self.credential("3", "3", "production", "active", key: "OLDKEY1234")]
        #expect(ActivationText(before: [], after: first, app: "garden").lines(activated: ["3"]).isEmpty)
        let same = first + [Self.credential("5", "5", "sandbox", "active", key: "OLDKEY1234")]
        #expect(ActivationText(before: same, after: same, app: "garden").lines(activated: ["3"]).isEmpty)
    }

    @Test("name the sibling that stays in use after a credential was retired")
    func retired() {
        let text = ActivationText(
            before: Self.before, after: Self.list("retired", "active", "staged", "staged"), app: "garden")
        #expect(
            text.lines(ended: "3") == [
                "APNs sandbox still uses key OLDKEY1234 (credential 4). To retire it there too: "
                    + "carillon credentials retire 4 --app garden"
            ])
    }
}
