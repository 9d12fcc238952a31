/// docs/errors.md: every code with its status, title, cause and remedy, written from the program.
///
/// The gateway serves it at `/errors`, where every problem's type points. A new code gets its `Explanation` in the chapter
/// where it belongs (`ErrorPage+....swift`), in the order of `ProblemCode`; then `carillon errors >docs/errors.md` writes
/// the file anew.
package enum ErrorPage {
    struct Chapter: Sendable {
        let heading: String
        let explanations: [Explanation]

        init(_ heading: String, _ explanations: [Explanation]) {
            self.heading = heading
            self.explanations = explanations
        }
    }

    /// What stands behind a refusal, and what to do. Markdown, in one paragraph each; a cause continues "Cause:".
    struct Explanation: Sendable {
        let code: ProblemCode
        let cause: String
        let remedy: String

        init(_ code: ProblemCode, cause: String, remedy: String) {
            self.code = code
            self.cause = cause
            self.remedy = remedy
        }
    }

    static let chapters = [requests, access, wishes, messages, credentials, faults]

    /// In the order of the page.
    package static var codes: [ProblemCode] { chapters.flatMap { $0.explanations.map(\.code) } }

    package static let text = ([introduction] + chapters.map(written)).joined(separator: "\n\n") + "\n"

    package static let bytes = Array(text.utf8)

    private static func written(_ chapter: Chapter) -> String {
        let entries = chapter.explanations.map { explanation in
            """
            ## \(explanation.code.rawValue)
            **\(explanation.code.status)** · \(explanation.code.title)

            Cause: \(explanation.cause)

            Remedy: \(explanation.remedy)
            """
        }
        return (["# \(chapter.heading)"] + entries).joined(separator: "\n\n")
    }

    private static let introduction = """
        # Errors

        Every refusal of the HTTP API is `application/problem+json` (RFC 9457):

        ```json
        {"type": "/errors#invalid_token", "title": "The device token is malformed", "status": 422, \
        "code": "invalid_token", "detail": "An APNs token is an even number of hexadecimal digits, ...", \
        "pointer": "/token"}
        ```

        `code` is stable: build on it, not on the sentences. `pointer` (RFC 6901) says where in the body. `type` is a \
        reference that leads here: the gateway serves this page at `/errors`. A refused line of an import carries the same \
        members. `Retry-After` stands where trying the same again is wise. No problem repeats a token, a key or a payload.
        """
}
