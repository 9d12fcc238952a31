import ArgumentParser
import Foundation

struct BroadcastDemo: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "broadcast", abstract: "Sends a broadcast to many phones, and shows its counts.",
        discussion: """
            Starts a gateway with a PostgreSQL of its own, and stand-ins of APNs and FCM. Registers installations of \
            APNs, its sandbox and FCM, in three languages; some of their tokens are dead. Sends them a broadcast in \
            their languages, with a badge. Then it shows the counts, and what two phones received. It keeps running \
            until Ctrl-C, so that you can try things.

            Its data is in --folder, and the next run uses it again. While it runs, the file "address" there holds its \
            URL.
            """, examples: ["carillon demo", "carillon demo --once --installations 10000 --folder /tmp/garden"])

    @Option(help: .value("path", "The folder for the demonstration's data."), completion: .directory)
    var folder = "data/demo"
    @Option(help: .value("count", "The number of installations.")) var installations = 1_000
    @Option(help: .value("port", "The gateway's port; if it is taken, another one is used.")) var port: UInt16 = 8_080
    @Flag(help: "Ends after the counts are shown.") var once = false
    @Flag(help: "Prints the message's counts as JSON, for scripts; the rest goes to standard error.") var json = false

    func validate() throws {
        guard (100...1_000_000).contains(installations) else {
            throw ValidationError("--installations takes 100 to 1000000.")
        }
    }

    func run() async throws {
        try await orComplain(asJSON: json) {
            try await OwnFolder(path: folder).locked { folder in
                try await ChildPrograms.running { children in try await show(folder, children) }
            }
        }
    }

    private var narrator: Narrator { Narrator(isBesideTheAnswer: json) }

    private func show(_ folder: OwnFolder, _ children: ChildPrograms) async throws {
        let address = URL(filePath: folder.file("address"))
        // A killed run may have left its own behind.
        try? FileManager.default.removeItem(at: address)
        defer { try? FileManager.default.removeItem(at: address) }
        narrator.headline("Starting stand-ins of APNs and FCM, and the gateway with a PostgreSQL of its own")
        let standIns = try await OwnStandIns(folder, children)
        let gateway = try await OwnGateway(folder, standIns, port: port, children)
        try Data("\(gateway.client.base)\n".utf8).write(to: address)
        narrator.write("gateway    \(gateway.client.base)   (API key in \(gateway.keyFile))")
        narrator.write("stand-ins  APNs \(standIns.production), sandbox \(standIns.sandbox), FCM \(standIns.fcm)")

        let scenario = DemoScenario(
            narrator: narrator, gateway: gateway, standIns: standIns, installations: installations)
        narrator.headline("An app with its credentials and installations")
        try await scenario.fill(folder)
        narrator.headline("A broadcast in each device's language, which increments the badge")
        let account = try await scenario.broadcast()
        for line in AccountText(account, app: DemoScenario.app).lines { narrator.write(line) }
        try scenario.checkAccount(account)
        narrator.headline("What two phones received")
        try await scenario.showPhones()
        narrator.headline("What the app's backend reads about its dead tokens")
        try await scenario.showFeedback()
        if json { writeJSON(account) }
        guard !once else { return }
        narrator.headline("The demonstration runs until Ctrl-C. Try in another terminal:")
        for line in scenario.suggestions(program: children.executable) { narrator.write("  " + line) }
        try await children.stayUp()
    }
}
