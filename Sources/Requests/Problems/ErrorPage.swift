/// docs/errors.md, made from the declarations: every code with its status, title, cause and remedy.
///
/// The gateway serves it at `/errors`, where every problem's type points. After a change, write the file anew with
/// `carillon errors >docs/errors.md`.
package enum ErrorPage {
    package static let text = ([introduction] + ProblemCode.chapters.map(written)).joined(separator: "\n\n") + "\n"

    package static let bytes = Array(text.utf8)

    private static func written(_ chapter: ProblemChapter) -> String {
        let entries = chapter.codes.map { code in
            """
            ## \(code.rawValue)
            **\(code.status)** · \(code.title)

            Cause: \(code.cause)

            Remedy: \(code.remedy)
            """
        }
        return (["# \(chapter.heading)"] + entries).joined(separator: "\n\n")
    }

    private static let introduction = """
        # Errors

        Every error of the HTTP API is `application/problem+json` (RFC 9457):

        ```json
        {"type": "/errors#invalid_token", "title": "The device token is malformed", "status": 422, \
        "code": "invalid_token", "detail": "An APNs token is an even number of hexadecimal digits, ...", \
        "pointer": "/token"}
        ```

        `code` is stable: rely on it, not on the texts. `pointer` (RFC 6901) names the member of the body. `type` links \
        to this page, which the gateway serves at `/errors`. A refused line of an import has the same members. \
        An answer has `Retry-After` if the same request may succeed later. No problem repeats a token, a key or a payload.
        """
}
