import ArgumentParser
import JSON

struct StocksDemo: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "stocks", abstract: "Runs a ticker of stocks, and shows the pushes that three virtual phones get.",
        discussion: """
            Starts a gateway with a PostgreSQL of its own, and stand-ins of APNs and FCM. Three virtual phones subscribe to \
            stocks: one to each price, one to thresholds on both sides of a price, and one to data for its app. Then \
            a ticker updates the prices, and each phone shows what arrived. It ends by itself.

            Its data is in --folder, and the next run uses it again.
            """, examples: ["carillon demo stocks", "carillon demo stocks --json | jq '.phones[].pushes'"])

    @Option(help: .value("path", "The folder for the demonstration's data."), completion: .directory)
    var folder = "data/demo-stocks"
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
        var scenario = StocksScenario(narrator: narrator, client: gateway.client, standIns: standIns)
        narrator.headline("An app with subscriptions on, which allows triggers that compare a price")
        try await scenario.prepare()
        narrator.headline("Three phones subscribe to stocks")
        try await scenario.subscribe()
        narrator.headline("The ticker runs")
        try await scenario.trade()
        narrator.headline("The phones end their subscriptions")
        try await scenario.unsubscribe()
        if json { writeJSON(scenario.json) }
    }
}
