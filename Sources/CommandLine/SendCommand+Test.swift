import Content
import Foundation
import JSON

// The test: the message to named receivers alone, before it goes to the audience.
extension SendCommand {
    /// The locales of `--locale`, which previews and tests have.
    func locales() throws(CommandFault) -> [String] {
        let locales = locale.flatMap { $0.split(separator: ",", omittingEmptySubsequences: false).map(String.init) }
        if let wrong = locales.first(where: { !LocaleTable.isReported($0) }) {
            throw CommandFault(.usage, "--locale: " + MessageTexts.noLanguage(wrong))
        }
        guard locales.isEmpty || preview || !testTo.isEmpty else {
            throw CommandFault(
                .usage,
                "--locale needs --preview or --test-to: in a message to the audience, each device gets its own language"
            )
        }
        return locales
    }

    func test(
        on receivers: TestReceivers, _ message: JSONObject, _ client: GatewayClient, _ sent: inout SentMessages,
        _ interruption: Interruption
    ) async throws {
        remark("Test: to \(receivers.sentence) only, whatever the audience is.")
        let isAside = message["audience"] != nil
        let tests = try TestMessage.all(of: message, in: try locales(), to: receivers.parts[0].audience)
        for test in tests {
            if let line = test.remark { remark(line) }
            for part in receivers.parts {
                var content = test.content
                content["audience"] = part.audience
                let earlier = sent.tests.count
                try await deliver(
                    content, client, key: UUID().uuidString, waits: true, isAside: isAside, interruption
                ) { sent.tests.append($0) }
                guard let short = sent.tests[earlier...].first(where: { $0.reached < part.devicesMin }) else {
                    continue
                }
                let path = try app.path("messages", short.shown("id"), "failures")
                let failures = try? await client.list(path, of: .failure, limit: TestShortfall.failuresMax).items
                let shortfall = TestShortfall(part, account: short, failures: failures ?? [])
                let reached = sent.tests.map(\.reached).sum
                throw CommandFault(.failed, shortfall.sentence(reached: reached, hasAudience: isAside))
            }
        }
    }
}
