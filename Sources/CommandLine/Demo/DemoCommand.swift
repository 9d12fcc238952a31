import ArgumentParser
import Foundation

/// `carillon demo`: a gateway at work on this machine, and its account.
package struct DemoCommand: AsyncParsableCommand {
    package static let configuration = CommandConfiguration(
        commandName: "demo", abstract: "Shows the whole thing at work on this machine.",
        discussion: HelpText.of(
            """
            Starts a gateway with a PostgreSQL of its own, and stand-ins of APNs and FCM; registers installations (APNs \
            production and sandbox, FCM; three languages, some dead); broadcasts to them in their languages, with a badge; \
            and shows the account, and what two phones received. It stays up for trying things out, until Ctrl-C.

            What it makes lies in --folder, and is used again by the next run.
            """, examples: ["carillon demo", "carillon demo --once --installations 10000 --folder /tmp/garden"]))

    @Option(
        help: ArgumentHelp("Where everything lies that it makes.", valueName: "path"), completion: .directory)
    var folder = "data/demo"
    @Option(help: ArgumentHelp("How many installations.", valueName: "count")) var installations = 1_000
    @Option(help: ArgumentHelp("The gateway's port; another one where it is taken.", valueName: "port"))
    var port: UInt16 = 8_080
    @Flag(help: "Ends after the account.") var once = false
    @Flag(help: "Prints the message's account as JSON, for scripts; the story goes to standard error.") var json = false

    package init() {}

    package func validate() throws {
        guard (100...1_000_000).contains(installations) else {
            throw ValidationError("--installations takes 100 to 1000000.")
        }
    }

    package func run() async throws {
        try await orComplain(asJSON: json) {
            try await OwnFolder(path: folder).locked { folder in
                try await ChildPrograms.running { children in try await show(folder, children) }
            }
        }
    }

    private var narrator: Narrator { Narrator(isBesideTheAnswer: json) }

    private func show(_ folder: OwnFolder, _ children: ChildPrograms) async throws {
        headline("Starting stand-ins of APNs and FCM, and the gateway with a PostgreSQL of its own")
        let standIns = try await OwnStandIns(folder, children)
        let gateway = try await OwnGateway(folder, standIns, port: port, children)
        narrator.write("gateway    \(gateway.client.base)   (API key in \(gateway.keyFile))")
        narrator.write("stand-ins  APNs \(standIns.production), sandbox \(standIns.sandbox), FCM \(standIns.fcm)")

        let scenario = DemoScenario(
            narrator: narrator, gateway: gateway, standIns: standIns, installations: installations)
        headline("An app with its credentials and installations")
        try await scenario.fill(folder)
        headline("A broadcast in everybody's language, which raises the badge")
        let account = try await scenario.broadcast()
        for line in AccountText(account, app: DemoScenario.app).lines { narrator.write(line) }
        try scenario.checkAccount(account)
        headline("What two phones received")
        try await scenario.showPhones()
        headline("What the app's backend reads about its dead tokens")
        try await scenario.showFeedback()
        if json { writeJSON(account) }
        guard !once else { return }
        headline("It stays up until Ctrl-C. Try, in another terminal:")
        for line in scenario.suggestions(program: children.executable) { narrator.write("  " + line) }
        try await children.stayUp()
    }

    private func headline(_ text: String) {
        narrator.write("")
        guard !json, Console.isColoured else { return narrator.write(text) }
        Console.write(Array("\u{1b}[1m\(text)\u{1b}[0m\n".utf8))
    }
}
