import ArgumentParser
import JSON

extension MessagesCommand {
    struct Watch: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Follows a message until it is finished or cancelled, and shows its counts.",
            discussion: """
                On a terminal the display is updated in place. Elsewhere each change is one line, or with --json one \
                JSON document. If the gateway goes away, the command retries for five minutes. Ctrl-C stops watching; \
                the message continues. The exit code is 1 if no device received the message.
                """,
            examples: [
                "carillon messages watch \(exampleID) --app garden",
                "carillon messages watch \(exampleID) --app garden --json | jq .progress.estimate",
            ])
        @OptionGroup var one: One

        func run() async throws {
            try await orComplain(asJSON: one.app.gateway.json) {
                let client = try one.app.gateway.client()
                let app = try one.app.slug()
                let id = try await one.wholeID(client)
                let follower = MessageFollower(client: client, path: try one.app.path("messages", id))
                let interruption = Interruption()
                interruption.willLeave([id], app: app)
                let trap = await interruption.trap()
                defer { trap.cancel() }
                var view = ProgressView(app: app, isJSON: one.app.gateway.json)
                let message = try await follower.follow({ view.show($0, isNew: $1) }, note: { view.note($0) })
                view.end(message)
                try [message].checkReach()
            }
        }
    }
}

private struct ProgressView {
    let app: String
    let isJSON: Bool
    let draws = Console.drawsAnswers
    var screen = Screen()
    var waitMessages = WaitMessages()
    private var isSummaryShown = false

    init(app: String, isJSON: Bool) { (self.app, self.isJSON) = (app, isJSON) }

    mutating func show(_ message: JSONValue, isNew: Bool) {
        if isJSON {
            if isNew { writeJSON(message) }
            return
        }
        guard !message.isOver else { return }
        let text = ProgressText(message)
        if draws {
            let waits = waitMessages.lines(message, app: app, now: .now)
            return Console.write(Array(screen.draw(text.screen(waits), rows: Console.rows).utf8))
        }
        if !isSummaryShown {
            for line in MessageSummary(message).lines { Console.write(line) }
            isSummaryShown = true
        }
        if isNew { Console.write(text.line) }
        for line in waitMessages.news(message, app: app, now: .now) { Console.write("  " + line) }
    }

    mutating func note(_ sentence: String) {
        if draws, !isJSON { Console.write(Array(screen.clear().utf8)) }
        Console.remark(sentence)
    }

    mutating func end(_ message: JSONValue) {
        guard !isJSON else { return }
        if draws { Console.write(Array(screen.clear().utf8)) }
        AccountText(message, app: app).write()
    }
}
