import ArgumentParser
import JSON

struct WakeUpDemo: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "wakeup", abstract: "Changes data, and shows how three virtual phones are woken.",
        discussion: """
            Starts a gateway with a PostgreSQL of its own, and stand-ins of APNs and FCM. Three virtual phones subscribe to \
            one node of an app's data tree, each in another mode. Then the app's backend writes a few changes, and each \
            phone shows what arrived. It ends by itself.

            Its data is in --folder, and the next run uses it again.
            """, examples: ["carillon demo wakeup", "carillon demo wakeup --json | jq '.phones[].wake_ups'"])

    @Option(help: .value("path", "The folder for the demonstration's data."), completion: .directory)
    var folder = "data/demo-wakeup"
    @Flag(help: "Prints what arrived as JSON, for scripts; the rest goes to standard error.") var json = false

    func run() async throws {
        try await orComplain(asJSON: json) {
            try await OwnFolder(path: folder).locked { folder in
                try await ChildPrograms.running { children in try await show(folder, children) }
            }
        }
    }

    private func show(_ folder: OwnFolder, _ children: ChildPrograms) async throws {
        let narrator = Narrator(isBesideTheAnswer: json)
        narrator.headline("Starting stand-ins of APNs and FCM, and the gateway with a PostgreSQL of its own")
        let standIns = try await OwnStandIns(folder, children)
        let gateway = try await OwnGateway(folder, standIns, port: 0, children)
        var scenario = WakeUpScenario(narrator: narrator, client: gateway.client, standIns: standIns)
        narrator.headline("An app with wake-up on, and read rules that let everybody read")
        try await scenario.prepare()
        narrator.headline("Three phones subscribe to \(WakeUpScenario.path), each in another mode")
        try await scenario.subscribe()
        narrator.headline("The app's backend changes the data")
        for change in WakeUpScenario.changes { try await scenario.carryOut(change) }
        narrator.headline("The phones end their subscriptions")
        try await scenario.unsubscribe()
        if json { writeJSON(scenario.json) }
    }
}
