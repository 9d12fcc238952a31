import Testing

@Suite("The places that know a provider by its name")
struct ProviderPlacesTests {
    private func filesThatName() throws -> [String] {
        try Project.files().filter { file in
            !file.isTest && file.source.lines.contains { ProviderPlaces.names(in: ProviderPlaces.code(of: $0)) }
        }.map(\.source.path)
    }

    @Test("grow by no file that a new provider would have to touch, too")
    func noOthers() throws {
        let others = try filesThatName().filter { path in
            !(ProviderPlaces.touched + ProviderPlaces.known).contains { ProviderPlaces.covers($0, path) }
        }
        #expect(others.isEmpty, "they name a provider: \(others.joined(separator: ", "))")
    }

    @Test("name one still, each of them")
    func stillTrue() throws {
        let files = try filesThatName()
        let places = (ProviderPlaces.touched + ProviderPlaces.known).filter { $0.hasPrefix("Sources/") }
        let outdated = places.filter { place in !files.contains { ProviderPlaces.covers(place, $0) } }
        #expect(outdated.isEmpty, "they name no provider any more: \(outdated.joined(separator: ", "))")
        #expect(Set(places).count == places.count)
    }

    @Test("stand in docs/architecture.md if a new provider touches them")
    func documented() throws {
        let text = try Project.text("docs/architecture.md")
        let section = try #require(text.firstRange(of: "**A provider**")).upperBound
        let end = try #require(text.firstRange(of: "**A problem code**")).lowerBound
        let rows = text[section..<end].split(separator: "\n").filter { $0.hasPrefix("| `") }
        let listed = rows.compactMap { $0.split(separator: "`").dropFirst().first.map(String.init) }
        #expect(listed == ProviderPlaces.touched)
    }

    @Test("may name one in a comment, and may not begin a name with a provider's")
    func lines() {
        func names(_ line: String) -> Bool { ProviderPlaces.names(in: ProviderPlaces.code(of: line[...])) }
        #expect(names("let fcmPort = 1") && names("case .apns:") && names(#""FCM requires a name""#))
        #expect(!names("    /// FCM says so.") && !names("let count = 1 // as APNs has it"))
        #expect(!names("enum Algorithms {}") && !names("let bytes = appleTopicList"))
    }
}
