/// The stable code of a refusal, with its texts, declared once in its chapter (`ProblemCode+....swift`).
///
/// A code is never reused for another meaning. docs/errors.md is written from the chapters (`ErrorPage`). A test
/// compares them with the codes that docs/openapi.yaml lists.
package struct ProblemCode: RawRepresentable, Sendable {
    package let rawValue: String
    package let status: Int
    /// The title, the same for every occurrence. The detail says what differs.
    package let title: String
    /// The cause of the refusal: Markdown in one paragraph, which continues "Cause:".
    let cause: String
    /// The remedy: Markdown in one paragraph, which continues "Remedy:".
    let remedy: String

    init(_ rawValue: String, _ status: Int, _ title: String, cause: String, remedy: String) {
        (self.rawValue, self.status, self.title, self.cause, self.remedy) = (rawValue, status, title, cause, remedy)
    }

    package init?(rawValue: String) {
        guard let code = Self.byName[rawValue] else { return nil }
        self = code
    }

    static let chapters = [requests, access, values, messages, items, credentials, faults]

    private static let byName = Dictionary(uniqueKeysWithValues: allCases.map { ($0.rawValue, $0) })
}

extension ProblemCode: CaseIterable {
    /// All codes, in the order of docs/errors.md.
    package static let allCases = chapters.flatMap(\.codes)
}

extension ProblemCode: Hashable {
    package static func == (left: ProblemCode, right: ProblemCode) -> Bool { left.rawValue == right.rawValue }

    package func hash(into hasher: inout Hasher) { hasher.combine(rawValue) }
}

struct ProblemChapter: Sendable {
    let heading: String
    let codes: [ProblemCode]

    init(_ heading: String, _ codes: [ProblemCode]) { (self.heading, self.codes) = (heading, codes) }
}
